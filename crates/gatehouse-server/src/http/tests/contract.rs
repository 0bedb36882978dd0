use super::*;
use insta::assert_snapshot;

const ADMIN: &str = "/-/admin/tenants/acme/contracts";

#[tokio::test]
async fn a_put_creates_a_contract_and_then_replaces_it() {
    let gate = Gatehouse::new().await;
    let full = r#"{"id": "a/b", "productOfferingId": "po", "billingModel": "PREPAID",
        "status": "SUSPENDED", "startDateTime": "2027-01-01", "endDateTime": "2030-01-01T01:00:00+01:00",
        "validityPeriod": "P1Y", "maxAccesses": 10}"#;
    assert_snapshot!(gate.put(&format!("{ADMIN}/a%2Fb"), full).await.snapshot(), @r#"
    201
    content-type: application/json
    location: http://gate.example/-/admin/tenants/acme/contracts/a%2Fb
    x-correlation-id: <correlation>
    content-length: 207

    {
      "id": "a/b",
      "productOfferingId": "po",
      "billingModel": "PREPAID",
      "status": "SUSPENDED",
      "startDateTime": "2027-01-01T00:00:00.000Z",
      "endDateTime": "2030-01-01T00:00:00.000Z",
      "validityPeriod": "P1Y",
      "maxAccesses": 10
    }
    "#);
    let shown = gate.get(&format!("{ADMIN}/a%2Fb")).await;
    let again = gate.put(&format!("{ADMIN}/a%2Fb"), &shown.body).await;
    assert_eq!((again.status, again.body), (200, shown.body), "unchanged");

    let bare = r#"{"productOfferingId": "po", "billingModel": "PREPAID"}"#;
    let response = gate.put(&format!("{ADMIN}/a%2Fb"), bare).await;
    assert_eq!(response.status, 200);
    assert_snapshot!(response.body, @r#"{"id":"a/b","productOfferingId":"po","billingModel":"PREPAID","status":"ACTIVE"}"#);
}

#[tokio::test]
async fn a_tenant_sees_its_contracts_with_the_number_of_their_accesses() {
    for gate in Gatehouse::on_each("contracts_counted").await {
        for _ in 0..3 {
            gate.create(r#"{"contractId": "payg"}"#).await;
        }
        let (path, _) = gate.create(r#"{"contractId": "payg"}"#).await;
        gate.patch(&path, r#"{"status": "TERMINATED"}"#).await;
        let one = gate.get("/acme/contract/payg").await;
        assert_eq!(one.json()["accessCount"], 3, "{}", gate.kind);
        assert_eq!(one.json()["href"], "http://gate.example/acme/contract/payg");
        let all = gate.get("/acme/contract").await;
        assert_eq!(all.header("x-total-count"), Some("3"));
        assert_eq!(all.json()[1], one.json());
    }
}

#[tokio::test]
async fn lists_are_paged() {
    let gate = Gatehouse::new().await;
    assert_snapshot!(gate.get("/acme/contract?pageSize=2&x=%20y").await.snapshot(), @r#"
    200
    content-type: application/json
    x-total-count: 3
    link: <http://gate.example/acme/contract?x=%20y&pageNumber=1&pageSize=2>; rel="first", <http://gate.example/acme/contract?x=%20y&pageNumber=2&pageSize=2>; rel="last", <http://gate.example/acme/contract?x=%20y&pageNumber=2&pageSize=2>; rel="next"
    x-correlation-id: <correlation>
    x-ignored-params: x
    content-length: 313

    [
      {
        "id": "other",
        "href": "http://gate.example/acme/contract/other",
        "productOfferingId": "po-other",
        "billingModel": "PAY_PER_USE",
        "status": "ACTIVE",
        "accessCount": 0
      },
      {
        "id": "payg",
        "href": "http://gate.example/acme/contract/payg",
        "productOfferingId": "po-use",
        "billingModel": "PAY_PER_USE",
        "status": "ACTIVE",
        "accessCount": 0
      }
    ]
    "#);
    let last = gate.get("/acme/contract?pageNumber=2&pageSize=2").await;
    assert_eq!(last.json().as_array().unwrap().len(), 1);
    assert!(!last.header("link").unwrap().contains("next"));
    let past = gate.get("/acme/contract?pageNumber=10000000&pageSize=1000").await;
    assert_eq!((past.status, past.body.as_str()), (200, "[]"));
    assert!(past.header("link").unwrap().contains("pageNumber=1&pageSize=1000>; rel=\"last\""));
    assert!(!past.header("link").unwrap().contains("next"));
}

#[tokio::test]
async fn page_number_and_size_are_limited() {
    let gate = Gatehouse::new().await;
    for query in [
        "pageSize=0",
        "pageSize=1001",
        "pageSize=-1",
        "pageSize=1.5",
        "pageSize=",
        "pageSize=+1",
        "pageSize=ten",
        "pageNumber=0",
        "pageNumber=10000001",
        "pageSize=1&pageSize=1",
        "pageNumber=99999999999999999999999",
    ] {
        let response = gate.get(&format!("/acme/contract?{query}")).await;
        assert_eq!(response.status, 400, "{query}: {}", response.body);
    }
    let both = gate.get("/acme/contract?pageSize=0&pageNumber=0").await;
    assert_eq!(both.invalid(), ["pageNumber", "pageSize"]);

    let mut config = Config::default();
    config.limits.page_size_max = 2;
    let gate = Gatehouse::with(config).await;
    assert_eq!(gate.get("/acme/contract").await.json().as_array().unwrap().len(), 2);
    assert_eq!(gate.get("/acme/contract?pageSize=3").await.status, 400);
}

#[tokio::test]
async fn a_contract_with_accesses_cannot_be_deleted_or_change_its_kind() {
    for gate in Gatehouse::on_each("stays_what_it_is").await {
        let (path, _) = gate.create(r#"{"contractId": "payg"}"#).await;
        gate.patch(&path, r#"{"status": "TERMINATED"}"#).await;
        let put = async |body: &str| gate.put(&format!("{ADMIN}/payg"), body).await;
        let response =
            put(r#"{"productOfferingId": "other", "billingModel": "PAY_PER_USE"}"#).await;
        assert_eq!(response.problem(), (409, "In use".into()));
        let response = put(r#"{"productOfferingId": "po-use", "billingModel": "PREPAID"}"#).await;
        assert_eq!(response.status, 409, "{}", gate.kind);
        assert_eq!(gate.delete(&format!("{ADMIN}/payg")).await.status, 409, "{}", gate.kind);
        assert_eq!(gate.delete("/-/admin/tenants/acme").await.status, 409, "{}", gate.kind);
        assert_eq!(gate.delete(&format!("{ADMIN}/other")).await.status, 204, "{}", gate.kind);
        assert_eq!(gate.delete(&format!("{ADMIN}/other")).await.status, 404, "{}", gate.kind);
        assert_eq!(gate.delete("/-/admin/tenants/rival").await.status, 204, "{}", gate.kind);
        assert_eq!(gate.get("/rival/contract").await.status, 404, "{}", gate.kind);
    }
}

#[tokio::test]
async fn an_invalid_contract_is_refused() {
    let gate = Gatehouse::new().await;
    let body = r#"{"id": "y", "productOfferingId": "", "billingModel": "PAY_PER_USE", "status": "active",
        "startDateTime": "2027-01-02", "endDateTime": "2027-01-01", "validityPeriod": "P1D",
        "maxAccesses": -1, "quota": 1}"#;
    assert_snapshot!(gate.put(&format!("{ADMIN}/x"), body).await.snapshot(), @r#"
    400
    content-type: application/problem+json
    x-correlation-id: <correlation>
    content-length: 1383

    {
      "type": "Bad Request",
      "status": 400,
      "title": "Invalid request",
      "detail": "id must be the identifier in the path, or left out; productOfferingId must have 1 to 128 characters, not 0; status must be one of ACTIVE, SUSPENDED, TERMINATED, not `active`; maxAccesses must be a whole number from 0 to 1000000000000, not -1; endDateTime must be later than startDateTime; validityPeriod is for PREPAID contracts, and this one is PAY_PER_USE; quota is not a field of this object; it may have id, productOfferingId, billingModel, status, startDateTime, endDateTime, validityPeriod, maxAccesses, policy",
      "invalidParams": [
        {
          "name": "id",
          "reason": "must be the identifier in the path, or left out"
        },
        {
          "name": "productOfferingId",
          "reason": "must have 1 to 128 characters, not 0"
        },
        {
          "name": "status",
          "reason": "must be one of ACTIVE, SUSPENDED, TERMINATED, not `active`"
        },
        {
          "name": "maxAccesses",
          "reason": "must be a whole number from 0 to 1000000000000, not -1"
        },
        {
          "name": "endDateTime",
          "reason": "must be later than startDateTime"
        },
        {
          "name": "validityPeriod",
          "reason": "is for PREPAID contracts, and this one is PAY_PER_USE"
        },
        {
          "name": "quota",
          "reason": "is not a field of this object; it may have id, productOfferingId, billingModel, status, startDateTime, endDateTime, validityPeriod, maxAccesses, policy"
        }
      ],
      "externalErrors": [],
      "relatedParty": [],
      "correlationId": "<correlation>",
      "@type": "problem"
    }
    "#);
    assert_eq!(gate.get(&format!("{ADMIN}/x")).await.status, 404, "nothing was written");
    let long = "x".repeat(129);
    let good = r#"{"productOfferingId": "po", "billingModel": "PAY_PER_USE"}"#;
    assert_eq!(gate.put(&format!("{ADMIN}/{long}"), good).await.invalid(), ["contractId"]);
    assert_eq!(gate.put(&format!("{ADMIN}/%00"), good).await.invalid(), ["contractId"]);
}

#[tokio::test]
async fn the_first_and_last_dates_are_stored_and_returned() {
    for gate in Gatehouse::on_each("ends_of_the_calendar").await {
        for (given, shown) in [
            ("0000-01-01", "0000-01-01T00:00:00.000Z"),
            ("9999-12-30T22:00:00.999Z", "9999-12-30T22:00:00.999Z"),
            ("9999-12-31T23:59:59Z", "9999-12-31T23:59:59.000Z"),
        ] {
            let body = format!(
                r#"{{"productOfferingId": "po", "billingModel": "PREPAID", "startDateTime": "{given}",
                    "validityPeriod": "P1000Y"}}"#
            );
            let put = gate.put(&format!("{ADMIN}/x"), &body).await;
            assert!(put.status < 300, "{given}: {}", put.body);
            let read = gate.get(&format!("{ADMIN}/x")).await;
            assert_eq!((read.status, &read.json()["startDateTime"]), (200, &shown.into()));
        }
    }
}
