use gatehouse_core::account::AddressSource;
use serde_json::json;

use super::*;
use crate::client::tests::{captured_log, here};

fn faults(settings: Value) -> Vec<String> {
    let Value::Object(settings) = settings else { panic!("settings are an object") };
    let mut credentials = Credentials::default();
    credentials.insert("token".into(), "letmein".into());
    let faults = Catalog::new(here(), Manifests::shipped()).faults(
        &"simulator".parse().unwrap(),
        &settings,
        &credentials,
    );
    faults.into_iter().map(|fault| format!("{} {}", fault.name, fault.reason)).collect()
}

#[test]
fn every_fault_of_an_account_is_reported_at_once() {
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
    let shown = faults(all);
    let begins = |n: usize, with: &str| assert!(shown[n].starts_with(with), "{}", shown[n]);
    begins(0, "settings.baseUrl must be");
    begins(1, "settings.callsAtOnce must be a whole number from 1 to 1000, not 0");
    begins(2, "settings.callsPerSecond must be a number from 0.01 to 100000, not a string");
    begins(3, "settings.colour is not a setting of this connector");
    begins(4, "settings.paging must be one of page, offset, cursor, not `sideways`");
    assert_eq!(shown.len(), 5);
    assert_eq!(faults(json!({})), ["settings.baseUrl is missing"]);
    for no_text in [json!(5), json!(null)] {
        let shown = faults(json!({"baseUrl": no_text}));
        assert!(shown[0].starts_with("settings.baseUrl must be a string, not "), "{shown:?}");
    }
}

#[test]
fn an_unknown_connector_is_named_in_the_fault() {
    let catalog = Catalog::new(here(), Manifests::shipped());
    let unknown = "other".parse().unwrap();
    let faults = catalog.faults(&unknown, &Settings::new(), &Credentials::default());
    assert_eq!(faults.len(), 1);
    let reason = &faults[0].reason;
    assert!(reason.starts_with("must be a connector that is known (1nce, cisco, "), "{reason}");
    assert!(reason.contains(", simulator, soracom, "), "{reason}");
    assert!(reason.ends_with(", twilio), not `other`"), "{reason}");
}

#[test]
fn faults_of_an_account_are_logged_and_hidden_from_its_tenant() {
    let account = Account {
        platform: "ALPHA".parse().unwrap(),
        name: "acme-eu".parse().unwrap(),
        connector: "simulator".parse().unwrap(),
        platform_account: "1".parse().unwrap(),
    };
    let tenant = "demo".parse().unwrap();
    let Value::Object(settings) = json!({"baseUrl": "http://10.0.0.7", "callsAtOnce": 0}) else {
        unreachable!()
    };
    let mut credentials = Credentials::default();
    credentials.insert("token".into(), "hunter22\n".into());
    let pool = Arc::new(ClientPool::new(here(), 1).unwrap());
    let meter = crate::meter::PlatformMeter::new().account(&tenant, &account);
    let (captured_log, log) = captured_log();
    let (settings, credentials) = (&settings, &credentials);
    let setup = AccountSetup { settings, credentials, address_source: AddressSource::Operator };
    let opened = tracing::subscriber::with_default(log, || {
        Catalog::new(here(), Manifests::shipped()).open(&tenant, &account, setup, &pool, meter)
    });
    assert_eq!(opened.err(), Some(Failure::new(FailureKind::Error, BAD_SETUP)));
    let log = captured_log.lines();
    assert_eq!(log.len(), 1, "{log:?}");
    let log = &log[0];
    for shown in ["WARN", "tenant=demo account=acme-eu", "`http://10.0.0.7`", "callsAtOnce"] {
        assert!(log.contains(shown), "{shown}: {log}");
    }
    assert!(!log.contains("hunter22"), "{log}");
}
