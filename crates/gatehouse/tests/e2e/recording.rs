//! A recorded conversation, and the tests made from it.

use super::connector::{MANIFEST, run};
use super::process::*;
use gatehouse_connectors::simulator;

#[tokio::test(flavor = "multi_thread")]
async fn a_recording_has_no_secrets_and_becomes_a_test() {
    let setup = Setup::sqlite();
    std::fs::write(setup.path("mine.yaml"), MANIFEST).unwrap();
    let platform = simulator::Platform::default_set()[0].clone();
    let server = simulator::Server::start(platform, ([127, 0, 0, 1], 0).into()).unwrap();
    let base = format!("baseUrl={}", server.url());
    let account = ["--set", &base, "--credential", "token=s3cret-token"];
    let recorded = [&["record", "mine.yaml", "--out", "mine.json"], &account[..]].concat();
    let (is_well, shown) = run(&setup, &recorded);
    assert!(is_well && shown.contains("exchanges recorded"), "{shown}");
    let kept = std::fs::read_to_string(setup.path("mine.json")).unwrap();
    assert!(kept.contains("\"state\""), "what the manifest names is kept");
    // Nothing else is: no secret, no address, and of a card only replaced numbers.
    for foreign in ["s3cret", "127.0.0.1", "msisdn", "imei", "connectivity\": \"cellular"] {
        assert!(!kept.contains(foreign), "{foreign} in {kept}");
    }
    let one = simulated_iccid(&server).await;
    assert!(!kept.contains(&one), "{one} in {kept}");

    let (is_well, shown) = run(&setup, &["test", "mine.yaml", "--recording", "mine.json"]);
    assert!(is_well && shown.contains(" passed, 0 failed, "), "{shown}");
    let (is_well, shown) = run(&setup, &["try", "mine.yaml", "--recording", "mine.json"]);
    assert!(is_well && shown.contains("1 call, 10 products, no failure"), "{shown}");
    let against = [&["test", "mine.yaml"], &account[..]].concat();
    let (is_well, shown) = run(&setup, &against);
    assert!(is_well && shown.contains(" passed, 0 failed, "), "{shown}");

    let wrong = MANIFEST.replace("paused: SUSPENDED", "paused: ACTIVE");
    std::fs::write(setup.path("mine.yaml"), wrong).unwrap();
    let (is_well, shown) = run(&setup, &["test", "mine.yaml", "--recording", "mine.json"]);
    assert!(!is_well && shown.contains("FAIL  the recorded answers"), "{shown}");
}

/// The number of a card that the platform has.
async fn simulated_iccid(server: &simulator::Server) -> String {
    let url = format!("{}/v1/connections?page=1&size=1", server.url());
    let asked = reqwest::Client::builder().build().unwrap().get(url).bearer_auth("s3cret-token");
    let page: serde_json::Value = asked.send().await.unwrap().json().await.unwrap();
    page["connections"][0]["iccid"].as_str().unwrap().to_owned()
}

#[test]
fn a_shipped_connector_is_tested_with_its_own_recording() {
    let setup = Setup::sqlite();
    let (is_well, shown) = run(&setup, &["test", "starlink"]);
    assert!(is_well && shown.contains("ok    pages of 1000 hold everything once"), "{shown}");
    for (arguments, expected) in [
        (&["test", "nowhere"][..], "there is no connector `nowhere`"),
        (&["test", "1nce", "--recording", "nowhere.json"], "nowhere.json: No such file"),
        (&["test", "1nce", "--recording", "estate.yaml"], "estate.yaml"),
        (&["try", "1nce", "--recording", "a.json", "--set", "a=b"], "not both"),
        (&["record", "1nce", "--out", "a.json"], "credentials.username is missing"),
    ] {
        let (is_well, shown) = run(&setup, arguments);
        assert!(!is_well && shown.contains(expected), "{arguments:?}: {shown}");
    }
    assert!(!setup.path("a.json").exists());
}
