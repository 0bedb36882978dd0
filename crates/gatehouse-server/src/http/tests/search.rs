//! Search for accesses.

use serde_json::json;

use super::*;

fn names(response: &TestResponse) -> String {
    assert_eq!(response.status, 200, "{}", response.body);
    let json = response.json();
    let names = json.as_array().unwrap().iter().map(|it| it["username"].as_str().unwrap());
    names.collect::<Vec<_>>().join(" ")
}

#[tokio::test]
async fn accesses_are_found_by_the_beginning_of_a_text() {
    for gate in Gatehouse::on_each("accesses_are_found").await {
        let mut ids = Vec::new();
        for body in [
            json!({"contractId": "payg", "username": "pump-12"}),
            json!({"contractId": "payg", "username": "Pump-1"}),
            json!({"contractId": "payg", "username": "a1", "deviceName": "PUMP-1"}),
            json!({"contractId": "payg", "username": "a2", "deviceName": "Köln 7"}),
            json!({"contractId": "payg", "username": "zzz"}),
        ] {
            ids.push(gate.create(&body.to_string()).await.1["id"].as_str().unwrap().to_owned());
        }
        gate.post("/rival/access", r#"{"contractId": "payg", "username": "pump-1"}"#).await;
        let path = format!("/acme/access/{}", ids[4]);
        gate.patch(&path, r#"{"status": "TERMINATED"}"#).await;
        for (q, expected) in [
            ("pump-1", "Pump-1 a1 pump-12"),
            ("PUMP", "Pump-1 pump-12 a1"),
            ("a", "a1 a2"),
            ("k%C3%96LN", "a2"),
            ("k%C3%B6ln+7", "a2"),
            ("köln 8", ""),
            ("ZZ", "zzz"),
            ("ump", ""),
            ("%00", ""),
        ] {
            let q = q.replace(' ', "%20").replace('ö', "%C3%B6");
            let found = gate.get(&format!("/acme/search?q={q}")).await;
            assert_eq!(names(&found), expected, "{}: {q}", gate.kind);
            assert_eq!((found.header("x-total-count"), found.header("link")), (None, None));
        }
        let by_id = gate.get(&format!("/acme/search?q={}", ids[2].to_uppercase())).await;
        assert_eq!(names(&by_id), "a1");
        let by_beginning = names(&gate.get(&format!("/acme/search?q={}", &ids[2][..9])).await);
        assert!(by_beginning.contains("a1"), "{by_beginning}");
        let shown = gate.get("/acme/search?q=zzz").await.json();
        assert_eq!((&shown[0]["status"], shown[0].get("password")), (&json!("TERMINATED"), None));
    }
}

#[tokio::test]
async fn a_search_finds_at_most_50_accesses_and_exact_ones_among_them() {
    for gate in Gatehouse::on_each("a_search_of_many").await {
        let accesses: Vec<Value> =
            (0..80).map(|n| json!({"username": format!("AB{n:03}"), "deviceName": "ab"})).collect();
        gate.accept("/acme/access/batch", json!({"contractId": "payg", "accesses": accesses}))
            .await;
        gate.create(r#"{"contractId": "payg", "username": "aB"}"#).await;
        gate.work().await;
        let found = names(&gate.get("/acme/search?q=ab").await);
        assert!(found.starts_with("aB AB000 AB001"), "{}: {found}", gate.kind);
        assert_eq!(found.split(' ').count(), 50);
        let found = names(&gate.get("/acme/search?q=ab07").await);
        assert_eq!(found, (70..80).map(|n| format!("AB{n:03}")).collect::<Vec<_>>().join(" "));
    }
}

#[tokio::test]
async fn a_search_needs_a_text_of_1_to_128_characters() {
    let gate = Gatehouse::new().await;
    let long = "x".repeat(129);
    for (query, reason) in [
        ("", "is missing, and must have 1 to 128 characters"),
        ("q", "must have 1 to 128 characters"),
        ("q=", "must have 1 to 128 characters"),
        (&format!("q={long}"), "must have 1 to 128 characters"),
        ("q=a&q=b", "may be given only once"),
        ("q=%FFa", "must be UTF-8 once it is percent-decoded"),
    ] {
        let response = gate.get(&format!("/acme/search?{query}")).await;
        assert_eq!(response.status, 400, "{query}");
        let fault = response.json()["invalidParams"][0].clone();
        assert_eq!((&fault["name"], &fault["reason"]), (&json!("q"), &json!(reason)), "{query}");
    }
    let ignored = gate.get("/acme/search?q=a&limit=7").await;
    assert_eq!((ignored.status, ignored.header("x-ignored-params")), (200, Some("limit")));
    assert_eq!(gate.get("/unknown/search?q=a").await.status, 404);
}
