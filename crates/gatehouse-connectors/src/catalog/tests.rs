use serde_json::json;

use super::*;

fn faults(settings: Value) -> Vec<String> {
    let Value::Object(settings) = settings else { panic!("settings are an object") };
    let mut credentials = Credentials::default();
    credentials.insert("token".into(), "letmein".into());
    let faults = Catalog::new(false).faults(&"simulator".parse().unwrap(), &settings, &credentials);
    faults.into_iter().map(|fault| format!("{} {}", fault.name, fault.reason)).collect()
}

#[test]
fn every_fault_of_an_account_is_told_at_once() {
    assert!(faults(json!({"baseUrl": "http://127.0.0.1:9700"})).is_empty());
    let budgets = json!({
        "baseUrl": "https://api.example.com/v1", "callsAtOnce": 8, "callsPerSecond": 2.5,
        "paging": "cursor"
    });
    assert!(faults(budgets).is_empty());
    let all = json!({
        "baseUrl": "http://169.254.169.254/", "callsAtOnce": 0, "callsPerSecond": "many",
        "paging": "sideways", "colour": 1
    });
    let told = faults(all);
    let begins = |n: usize, with: &str| assert!(told[n].starts_with(with), "{}", told[n]);
    begins(0, "settings.baseUrl must be");
    begins(1, "settings.callsAtOnce must be a whole number from 1 to 1000, not 0");
    begins(2, "settings.callsPerSecond must be a number from 0.01 to 100000, not a string");
    begins(3, "settings.paging must be one of page, offset, cursor");
    begins(4, "settings.colour is not a setting of this connector");
    assert_eq!(told.len(), 5);
    assert_eq!(faults(json!({})), ["settings.baseUrl is missing"]);
    for no_text in [json!(5), json!(null)] {
        let told = faults(json!({"baseUrl": no_text}));
        assert!(told[0].starts_with("settings.baseUrl must be a string, not "), "{told:?}");
    }
}

#[test]
fn a_connector_that_is_not_known_is_named() {
    let catalog = Catalog::new(false);
    let unknown = "other".parse().unwrap();
    let faults = catalog.faults(&unknown, &Settings::new(), &Credentials::default());
    assert_eq!(faults.len(), 1);
    assert_eq!(faults[0].reason, "must be a connector that is known (simulator), not `other`");
}
