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
    assert_eq!(bare.contracts, []);
    let [by_use, prepaid] = &demo.contracts[..] else { panic!("two contracts") };
    assert_eq!(by_use.status, ContractStatus::Active);
    assert_eq!((by_use.start, by_use.end, by_use.n_accesses_max), (None, None, None));
    assert_eq!(prepaid.id.as_str(), "42");
    assert_eq!(prepaid.end.unwrap().to_string(), "2029-12-31T23:00:00.000Z");
    assert_eq!(prepaid.validity.as_ref().unwrap().as_str(), "P365D");
}

#[test]
fn every_fault_is_named_with_the_way_to_it() {
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
      tenants[0].contracts[3].quota is not a field of this object; it may have id, productOfferingId, billingModel, status, startDateTime, endDateTime, validityPeriod, maxAccesses
      tenants[2].name names `twice` a second time
      tenants[3] must be an object, not a number
    ");
}

#[test]
fn what_is_no_yaml_says_where() {
    let error = Estate::parse("estate.yaml", "tenants:\n  - name: [").unwrap_err().to_string();
    assert!(error.starts_with("estate.yaml can't be read as YAML: "), "{error}");
    assert!(error.contains("line"), "{error}");
}

#[test]
fn an_empty_file_says_what_it_should_have() {
    for empty in ["", "# nothing\n", "---\n"] {
        let error = Estate::parse("estate.yaml", empty).unwrap_err().to_string();
        assert!(error.contains("should have a list of `tenants`"), "{error}");
    }
}

#[test]
fn a_key_that_is_there_twice_is_refused_in_our_words() {
    let error = Estate::parse("estate.yaml", "tenants:\n  - name: a\n    name: b\n").unwrap_err();
    let error = error.to_string();
    assert!(error.contains("name") && error.contains("line 3"), "{error}");
    assert!(!error.contains("Options"), "{error}");
}
