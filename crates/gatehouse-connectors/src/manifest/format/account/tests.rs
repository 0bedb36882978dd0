use serde_json::json;

use super::*;
use crate::manifest::tests::read;

const FORM: &str = r#"
settings:
  region: { description: The region, matches: "eu|us" }
  authUrl: { description: Where tokens come from, is_url: true, default: "https://auth.example" }
  org: { description: A part of it, optional: true }
credentials:
  apiKey: { description: The key }
  pin: { description: Another, optional: true, matches: "[0-9]*" }
"#;

const SIZED: &str = r#"
settings:
  pages: { description: The largest page, narrows: page_size, default: "100" }
  paging:
    description: How it pages
    default: page
    variants:
      offset:
        paging: { by: offset, size: { max: 9 } }
        list: { call: { get: /a, query: { o: "{page.offset}", n: "{page.size}" } }, items: $ }
"#;

#[test]
fn a_setting_that_chooses_or_narrows_has_values_of_its_own() {
    #[rustfmt::skip]
    let cases = [
        (json!({}),                               ""),
        (json!({"pages": 1, "paging": "offset"}), ""),
        (json!({"pages": 500, "paging": "page"}), ""),
        (json!({"pages": 0}),                     "settings.pages must be a whole number, 1 to 500, not 0"),
        (json!({"pages": 501}),                   "settings.pages must be a whole number, 1 to 500, not 501"),
        (json!({"pages": 1.5}),                   "settings.pages must be a whole number, 1 to 500, not 1.5"),
        (json!({"pages": "9"}),                   "settings.pages must be a whole number, 1 to 500, not a string"),
        (json!({"paging": "sideways"}),           "settings.paging must be one of page, offset, not `sideways`"),
        (json!({"paging": null}),                 "settings.paging must be a text, a number or a truth value, not null"),
    ];
    for (settings, expected) in cases {
        let told = account(SIZED, settings.clone(), &[]).err().unwrap_or_default();
        assert_eq!(told.join("; "), expected, "{settings}");
    }
    let long = account(SIZED, json!({"paging": "x".repeat(65)}), &[]).err().unwrap();
    assert!(long[0].ends_with(&format!("`{}`", "x".repeat(64))), "{long:?}");
}

fn account(
    form: &str,
    settings: Value,
    credentials: &[(&str, &str)],
) -> Result<AccountValues, Vec<String>> {
    let mut given = Credentials::default();
    for (name, secret) in credentials {
        given.insert((*name).to_owned(), (*secret).into());
    }
    let shown = read::<AccountForm>(form).read(
        settings.as_object().unwrap(),
        &given,
        &AddressRules::default(),
        &|_| (1, 500),
    );
    shown.map_err(|faults| {
        faults.into_iter().map(|it| format!("{} {}", it.name, it.reason)).collect()
    })
}

#[test]
fn settings_and_credentials_are_found_by_name() {
    let settings = json!({"region": "eu", "org": 7});
    let values = account(FORM, settings, &[("apiKey", "k")]).unwrap_or_else(|it| panic!("{it:?}"));
    let shown = |what| values.value_of(&what).map(|it| it.to_string());
    assert_eq!(shown(Variable::Setting("region".into())).as_deref(), Some("eu"));
    assert_eq!(shown(Variable::Setting("org".into())).as_deref(), Some("7"));
    assert_eq!(shown(Variable::Setting("authUrl".into())).as_deref(), Some("https://auth.example"));
    assert_eq!(shown(Variable::Credential("apiKey".into())).as_deref(), Some("k"));
    assert_eq!(shown(Variable::Credential("pin".into())), None);
    assert_eq!(shown(Variable::Session("apiKey".into())), None);
    assert_eq!(values.addresses.len(), 1);
    assert!(account("{}", json!({}), &[]).is_ok());
}

#[test]
fn every_fault_is_reported_at_once() {
    const CHARS: &str = "must have 1 to 8192 characters, none of them a control character";
    let (long, fine) = ("x".repeat(8193), ("apiKey", "k"));
    let with = |more: Value| {
        let mut settings = json!({"region": "eu"});
        settings.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
        settings
    };
    #[rustfmt::skip]
    let cases = [
        (json!({}),                        vec![fine],             "settings.region is missing".to_owned()),
        (with(json!({"region": "asia"})),  vec![fine],             "settings.region must be like `eu|us`".to_owned()),
        (with(json!({"region": null})),    vec![fine],             "settings.region must be a text, a number or a truth value, not null".to_owned()),
        (with(json!({"org": []})),         vec![fine],             "settings.org must be a text, a number or a truth value, not a list".to_owned()),
        (with(json!({"org": ""})),         vec![fine],             format!("settings.org {CHARS}")),
        (with(json!({"org": "a\tb"})),     vec![fine],             format!("settings.org {CHARS}")),
        (with(json!({"org": long})),       vec![fine],             format!("settings.org {CHARS}")),
        (with(json!({"zone": 1})),         vec![fine],             "settings.zone is not a setting of this connector; it may have baseUrl, callsAtOnce, callsPerSecond, region, authUrl, org".to_owned()),
        (with(json!({})),                  vec![],                 "credentials.apiKey is missing".to_owned()),
        (with(json!({})),                  vec![("apiKey", "")],   format!("credentials.apiKey {CHARS}")),
        (with(json!({})),                  vec![("apiKey", "a\n")], format!("credentials.apiKey {CHARS}")),
        (with(json!({})),                  vec![("apiKey", &*long)], format!("credentials.apiKey {CHARS}")),
        (with(json!({})),                  vec![fine, ("pin", "")], format!("credentials.pin {CHARS}")),
        (with(json!({})),                  vec![fine, ("pin", "4x7")], "credentials.pin must be like `[0-9]*`".to_owned()),
        (with(json!({})),                  vec![fine, ("key", "k")], "credentials.key is not a credential of this connector; it has apiKey, pin".to_owned()),
    ];
    for (settings, credentials, expected) in cases {
        let shown = account(FORM, settings, &credentials).err();
        assert_eq!(shown, Some(vec![expected]));
    }
    for url in
        ["http://auth.example", "ftp://auth.example", "auth.example", "https://a@auth.example"]
    {
        let shown = account(FORM, with(json!({"authUrl": url})), &[fine]).err().unwrap_or_default();
        assert!(shown.len() == 1 && shown[0].starts_with("settings.authUrl "), "{url}: {shown:?}");
    }
    let shown = account("{}", json!({}), &[("key", "k")]).err();
    assert_eq!(
        shown,
        Some(vec!["credentials.key is not a credential of this connector; it has none".to_owned()])
    );
    let all = account(FORM, json!({"org": {}, "zone": 1}), &[("key", "hunter22")]).err().unwrap();
    assert_eq!(all.len(), 5, "{all:?}");
    assert!(!all.concat().contains("hunter22"));
}
