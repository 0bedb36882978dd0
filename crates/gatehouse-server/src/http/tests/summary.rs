use super::*;

#[tokio::test]
async fn a_summary_has_every_status_contract_and_day() {
    for gate in Gatehouse::on_each("a_summary_has_every_status").await {
        gate.create(r#"{"contractId": "payg"}"#).await;
        gate.clock.set(at("2027-03-02T01:00:00Z"));
        let (path, _) = gate.create(r#"{"contractId": "payg"}"#).await;
        gate.create(r#"{"contractId": "pre"}"#).await;
        gate.patch(&path, r#"{"status": "TERMINATED"}"#).await;

        let summary = gate.get("/acme/summary").await.json();
        let counts = |pending: u64, active: u64, terminated: u64| {
            serde_json::json!({"PENDING_ACTIVE": pending, "ACTIVE": active, "SUSPENDED": 0,
                               "PENDING_TERMINATE": 0, "TERMINATED": terminated})
        };
        assert_eq!(summary["total"], 3, "{}", gate.kind);
        assert_eq!(summary["byStatus"], counts(1, 1, 1));
        assert_eq!(
            summary["byContract"],
            serde_json::json!([
                {"contractId": "other", "productOfferingId": "po-other", "byStatus": counts(0, 0, 0)},
                {"contractId": "payg", "productOfferingId": "po-use", "byStatus": counts(0, 1, 1)},
                {"contractId": "pre", "productOfferingId": "po-month", "byStatus": counts(1, 0, 0)},
            ])
        );
        let days = summary["perDay"].as_array().unwrap();
        assert_eq!(days.len(), 90);
        assert_eq!(days[0], serde_json::json!({"date": "2026-12-03", "created": 0, "ended": 0}));
        assert_eq!(days[88], serde_json::json!({"date": "2027-03-01", "created": 1, "ended": 0}));
        assert_eq!(days[89], serde_json::json!({"date": "2027-03-02", "created": 2, "ended": 1}));
    }
}

#[tokio::test]
async fn a_tenant_without_objects_has_a_summary_too() {
    let gate = Gatehouse::new().await;
    gate.put("/-/admin/tenants/empty", "{}").await;
    let summary = gate.get("/empty/summary").await.json();
    assert_eq!((&summary["total"], &summary["byContract"]), (&0.into(), &serde_json::json!([])));
    assert_eq!(gate.get("/nobody/summary").await.status, 404);
}
