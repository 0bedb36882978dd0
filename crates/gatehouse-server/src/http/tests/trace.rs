//! Traces without an exporter. The end-to-end tests cover exported ones.

use super::*;

const TRACE: &str = "0af7651916cd43dd8448eb211c80319c";
const PARENT: &str = "b7ad6b7169203331";

#[tokio::test]
async fn a_clients_trace_is_continued_without_an_exporter() {
    let gate = Gatehouse::new().await;
    for (path, flags) in [("/-/live", "01"), ("/acme/access", "00"), ("/nowhere", "01")] {
        let given = format!("00-{TRACE}-{PARENT}-{flags}");
        let response = gate.send("GET", path, &[("traceparent", &given)], b"").await;
        let returned = response.header("traceparent").unwrap();
        let fields: Vec<&str> = returned.split('-').collect();
        assert_eq!((fields[0], fields[1], fields[3]), ("00", TRACE, flags), "{path}");
        assert_ne!(fields[2], PARENT, "{path}: a new span");
        assert_eq!(fields[2].len(), 16, "{path}");
    }
}

#[tokio::test]
async fn an_invalid_traceparent_is_ignored() {
    let gate = Gatehouse::new().await;
    assert_eq!(gate.send("GET", "/-/live", &[], b"").await.header("traceparent"), None);
    let good = format!("00-{TRACE}-{PARENT}-01");
    for given in [vec![good.to_uppercase()], vec!["x".into()], vec![good.clone(), good]] {
        let headers: Vec<_> = given.iter().map(|it| ("traceparent", it.as_str())).collect();
        let response = gate.send("GET", "/-/live", &headers, b"").await;
        assert_eq!(response.status_and("traceparent"), (200, None), "{given:?}");
    }
}
