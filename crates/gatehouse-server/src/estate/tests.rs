use super::*;

#[test]
fn a_field_that_is_left_out_takes_its_default() {
    let estate = Estate::parse(
        "estate.yaml",
        r#"
tenants:
  - name: demo
    timeZone: Europe/Berlin
    contracts:
      - { id: C-PAYG, productOfferingId: PO-IOT-PAYG, billingModel: PAY_PER_USE }
      - id: "42"
        productOfferingId: PO-IOT-YEAR
        billingModel: PREPAID
        status: SUSPENDED
        startDateTime: 2026-11-01
        endDateTime: 2030-01-01T00:00:00+01:00
        validityPeriod: P365D
        maxAccesses: 500000
  - name: bare
"#,
    )
    .unwrap();
    let [demo, bare] = &estate.tenants[..] else { panic!("two tenants") };
    assert_eq!(bare.tenant.time_zone.as_str(), "UTC");
    assert_eq!((&bare.contracts, &bare.accounts), (&Vec::new(), &Vec::new()));
    let [by_use, prepaid] = &demo.contracts[..] else { panic!("two contracts") };
    assert_eq!(by_use.status, ContractStatus::Active);
    assert_eq!((by_use.start, by_use.end, by_use.n_accesses_max), (None, None, None));
    assert_eq!(prepaid.id.as_str(), "42");
    assert_eq!(prepaid.end.unwrap().to_string(), "2029-12-31T23:00:00.000Z");
    assert_eq!(prepaid.validity.as_ref().unwrap().as_str(), "P365D");
}

#[test]
fn every_fault_has_the_path_of_its_field() {
    let error = Estate::parse(
        "estate.yaml",
        r#"
tenants:
  - name: -demo
    contracts:
      - { id: 7, productOfferingId: "", billingModel: FREE }
      - { id: a, productOfferingId: o, billingModel: PAY_PER_USE, validityPeriod: P1D }
      - { id: a, productOfferingId: o, billingModel: PREPAID, validityPeriod: 1 year }
      - { id: b, productOfferingId: o, billingModel: PREPAID, quota: 1,
          startDateTime: 2027-01-02, endDateTime: 2027-01-01 }
  - name: twice
  - name: twice
  - 7
colour: blue
"#,
    )
    .unwrap_err();
    insta::assert_snapshot!(error.to_string(), @"
    estate.yaml is not an estate:
      colour is not a field of this object; it may have tenants
      tenants[0].name must begin with a letter or digit and hold only letters, digits, `.`, `_` and `-` of ASCII, at most 63 in all
      tenants[0].contracts[0].id must be a string, not a number
      tenants[0].contracts[0].productOfferingId must have 1 to 128 characters, not 0
      tenants[0].contracts[0].billingModel must be one of PREPAID, PAY_PER_USE, not `FREE`
      tenants[0].contracts[1].validityPeriod is for PREPAID contracts, and this one is PAY_PER_USE
      tenants[0].contracts[2].validityPeriod must be an ISO 8601 duration such as `P365D`, `P1Y` or `PT12H`, of a second at least and 1000 years at most, not `1 year`
      tenants[0].contracts[2].id names `a` a second time in its tenant
      tenants[0].contracts[3].endDateTime must be later than startDateTime
      tenants[0].contracts[3].quota is not a field of this object; it may have id, productOfferingId, billingModel, status, startDateTime, endDateTime, validityPeriod, maxAccesses, policy
      tenants[2].name names `twice` a second time
      tenants[3] must be an object, not a number
    ");
}

#[test]
fn a_syntax_error_names_its_line() {
    let error = Estate::parse("estate.yaml", "tenants:\n  - name: [").unwrap_err().to_string();
    assert!(error.starts_with("estate.yaml can't be read as YAML: "), "{error}");
    assert!(error.contains("line"), "{error}");
}

#[test]
fn the_error_of_an_empty_file_asks_for_tenants() {
    for empty in ["", "# nothing\n", "---\n"] {
        let error = Estate::parse("estate.yaml", empty).unwrap_err().to_string();
        assert!(error.contains("should have a list of `tenants`"), "{error}");
    }
}

#[test]
fn the_error_of_a_duplicate_key_names_its_line() {
    let error = Estate::parse("estate.yaml", "tenants:\n  - name: a\n    name: b\n").unwrap_err();
    let error = error.to_string();
    assert!(error.contains("name") && error.contains("line 3"), "{error}");
    assert!(!error.contains("Options"), "{error}");
}

const WITH_ACCOUNTS: &str = r#"
tenants:
  - name: demo
    pageNumberMax: 50
    accounts:
      - name: acme-eu
        platform: ALPHA
        connector: simulator
        platformAccount: "${env:NEVER_HERE}"
        settings: { baseUrl: "http://${env:HOST}:9700", deep: [{ path: "$${env:HOST}" }], n: 7 }
        credentials: { token: "${env:TOKEN}", key: "${file:key}" }
      - { name: bare, platform: BETA, connector: simulator, platformAccount: "1", settings: {} }
"#;

fn parse(text: &str) -> Result<Estate, BadEstate> {
    let dir = tempfile::tempdir().unwrap();
    std::fs::write(dir.path().join("key"), "of a file\n").unwrap();
    let variable = |name: &str| match name {
        "TOKEN" => Some("s3cret".into()),
        "HOST" => Some("alpha.example".into()),
        _ => None,
    };
    let context = ExpansionContext { directory: dir.path().to_owned(), variable: &variable };
    Estate::parse_in(&context, "estate.yaml", text)
}

#[test]
fn references_in_credentials_and_settings_are_expanded() {
    let estate = parse(WITH_ACCOUNTS).unwrap();
    let tenant = &estate.tenants[0];
    assert_eq!(tenant.tenant.page_number_max, Some(50));
    let [full, bare] = &tenant.accounts[..] else { panic!("two accounts") };
    let settings = serde_json::to_string(&full.settings).unwrap();
    let expected =
        r#"{"baseUrl":"http://alpha.example:9700","deep":[{"path":"${env:HOST}"}],"n":7}"#;
    assert_eq!(settings, expected);
    assert_eq!(full.account.platform_account.as_str(), "${env:NEVER_HERE}", "only those two");
    let credentials = full.credentials.as_ref().unwrap();
    assert_eq!(credentials.names().collect::<Vec<_>>(), ["key", "token"]);
    assert_eq!(credentials.reveal("token"), Some("s3cret"));
    assert_eq!(credentials.reveal("key"), Some("of a file"));
    assert_eq!(bare.credentials, None, "left out");
    let shown = format!("{estate:?}");
    assert!(shown.contains("acme-eu") && !shown.contains("s3cret") && !shown.contains("9700"));
}

#[test]
fn faults_of_an_account_reveal_no_secret() {
    let error = parse(
        r#"
tenants:
  - name: demo
    accounts:
      - { name: a, platform: ALPHA, connector: c, platformAccount: "1", settings: {},
          credentials: { token: "hunter2${env:NONE}", pin: 4711 } }
      - { name: a, platform: ALPHA, connector: c, platformAccount: "1",
          settings: { deep: [{ path: "${file:none}" }] } }
      - { platform: alpha, connector: c, platformAccount: "1", settings: 7, credentials: hunter2 }
"#,
    );
    insta::assert_snapshot!(error.unwrap_err().to_string(), @"
    estate.yaml is not an estate:
      tenants[0].accounts[0].credentials.token needs the variable NONE, which is not set
      tenants[0].accounts[0].credentials.pin must be a string, not a number
      tenants[0].accounts[1].settings.deep[0].path needs the file `none`, which can't be read: No such file or directory (os error 2)
      tenants[0].accounts[1].name names `a` a second time in its tenant
      tenants[0].accounts[2].name is missing
      tenants[0].accounts[2].platform must begin with an upper-case letter or digit and hold only upper-case letters, digits and `_` of ASCII, at most 32 in all
      tenants[0].accounts[2].settings must be an object, not a number
      tenants[0].accounts[2].credentials must be an object, not a string
    ");
}

#[test]
fn file_references_are_relative_to_the_estate_file() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("estate.yaml");
    let text = WITH_ACCOUNTS.replace("${env:TOKEN}", "t").replace("http://${env:HOST}", "h");
    std::fs::write(&path, text).unwrap();
    assert!(Estate::load(&path).unwrap_err().to_string().contains("credentials.key"));
    std::fs::write(dir.path().join("key"), "k").unwrap();
    assert_eq!(Estate::load(&path).unwrap().tenants[0].accounts.len(), 2);
}
