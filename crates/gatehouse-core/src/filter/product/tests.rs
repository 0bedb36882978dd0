use proptest::prelude::*;

use super::*;
use crate::filter::Filter;
use crate::product::{Connectivity, Property};

fn read(query: &str) -> Result<ProductFilter, Vec<FilterFault>> {
    ProductFilter::read(&Expression::parse(query, &FILTER_FIELDS))
}

fn account(platform: &str, name: &str) -> Account {
    Account {
        platform: platform.parse().unwrap(),
        name: name.parse().unwrap(),
        connector: "simulator".parse().unwrap(),
        platform_account: "1".parse().unwrap(),
    }
}

/// A connection with these properties and these ICCIDs.
fn connection(properties: &[(&str, &str)], iccids: &[&str]) -> Connection {
    Connection {
        local_id: "1".into(),
        status: "ACTIVE".into(),
        platform_status: None,
        connectivity: Connectivity::Cellular,
        identifiers: iccids.iter().map(|it| (IdentifierKind::Iccid, (*it).into())).collect(),
        imeis: Vec::new(),
        properties: properties
            .iter()
            .map(|(name, value)| Property { name: (*name).into(), value: (*value).into() })
            .collect(),
    }
}

#[test]
fn accounts_are_chosen_by_platform_and_name() {
    let accounts = [account("ALPHA", "a"), account("ALPHA", "b"), account("BETA", "c")];
    #[rustfmt::skip]
    let cases = [
        ("",                                                "abc"),
        ("platform=ALPHA",                                  "ab"),
        ("platform=alpha",                                  ""),
        ("PLATFORM=ALPHA",                                  "abc"),
        ("platform=",                                       ""),
        ("platform=ALPHA&platform=BETA",                    ""),
        ("platform=ALPHA&platform=ALPHA",                   "ab"),
        ("platform=ALPHA;platform=BETA",                    "abc"),
        ("relatedParty.name=b",                             "b"),
        ("relatedParty.name=B",                             ""),
        ("platform=BETA&relatedParty.name=b",               ""),
        ("platform=ALPHA&relatedParty.name=b;platform=BETA", "bc"),
        ("status=ACTIVE",                                   "abc"),
        ("status=ACTIVE;platform=BETA",                     "c"),
        ("platform=ALPHA&customProperty.name=x;platform=BETA", "abc"),
        ("pageSize=1&platform=BETA",                        "c"),
        ("filter=platform%3DBETA",                          "c"),
    ];
    for (query, expected) in cases {
        let filter = read(query).unwrap();
        let matching = accounts.iter().filter(|it| filter.scope(it) != Scope::Nothing);
        let names: String = matching.map(|it| it.name.as_str()).collect();
        assert_eq!(names, expected, "{query}");
    }
}

#[test]
fn the_scope_of_an_account_follows_its_alternatives() {
    const CARD: &str = "8900000000000000";
    let (alpha, beta) = (account("ALPHA", "a"), account("BETA", "b"));
    let shown = |scope: Scope<'_>| match scope {
        Scope::Nothing => "nothing".to_owned(),
        Scope::Everything => "everything".to_owned(),
        Scope::Whatever => "whatever".to_owned(),
        Scope::Carriers(all) => {
            all.iter().map(|it| it.kind().as_str()).collect::<Vec<_>>().join(" ")
        }
    };
    #[rustfmt::skip]
    let cases = [
        ("",                                                        "everything", "everything"),
        (&format!("ICCID={CARD}") as &str,                          "ICCID",      "ICCID"),
        (&format!("iccid={CARD}&imsi=123456"),                      "ICCID IMSI", "ICCID IMSI"),
        (&format!("Iccid={CARD}&platform=ALPHA;platform=BETA"),     "ICCID",      "everything"),
        ("msisdn=123456;SERIALNUMBER=12345",              "MSISDN SERIAL_NUMBER", "MSISDN SERIAL_NUMBER"),
        ("customProperty.name=x",                                   "whatever",   "whatever"),
        (&format!("customProperty.name=x;ICCID={CARD}"),            "whatever",   "whatever"),
        (&format!("customProperty.name=x&ICCID={CARD}"),            "ICCID",      "ICCID"),
        ("platform=ALPHA&customProperty.name=x;platform=BETA",      "whatever",   "everything"),
        (&format!("ICCID={CARD},{CARD}&iccid={CARD};ICCID={CARD}"), "ICCID",      "ICCID"),
    ];
    for (query, of_alpha, of_beta) in cases {
        let filter = read(query).unwrap();
        assert_eq!(shown(filter.scope(&alpha)), of_alpha, "ALPHA: {query}");
        assert_eq!(shown(filter.scope(&beta)), of_beta, "BETA: {query}");
    }
}

#[test]
fn products_pass_by_their_properties_and_numbers() {
    const CARD: &str = "8900000000000000";
    let alpha = account("ALPHA", "a");
    let product = connection(&[("site", "north"), ("site", "south"), ("fleet", "7")], &[CARD]);
    #[rustfmt::skip]
    let cases = [
        ("",                                                                 true),
        ("customProperty.name=site",                                         true),
        ("customProperty.name=Site",                                         false),
        ("customProperty.name=site&customProperty.name=fleet",               true),
        ("customProperty.name=site&customProperty.name=owner",               false),
        ("customProperty.value=7",                                           true),
        ("customProperty.name=site&customProperty.value=south",              true),
        ("customProperty.name=site&customProperty.value=7",                  false),
        ("customProperty.name=fleet&customProperty.value=7;platform=BETA",   true),
        ("ICCID=8900000000000000",                                           true),
        ("ICCID=8900000000000001",                                           false),
        ("ICCID=8900000000000001,8900000000000000",                          true),
        ("ICCID=8900000000000001&IMSI=123456",                               false),
        ("IMSI=123456&ICCID=8900000000000000",                               true),
        ("ICCID=8900000000000000&customProperty.name=owner",                 false),
        ("platform=BETA",                                                    false),
        ("platform=BETA;customProperty.value=north",                         true),
    ];
    for (query, passes) in cases {
        assert_eq!(read(query).unwrap().passes(&alpha, &product), passes, "{query}");
    }
}

#[test]
fn every_malformed_identifier_is_reported() {
    let faults = read("ICCID=12,8900000000000000,&imsi=x;serialNumber=SL-DF-").unwrap_err();
    let faults_shown: Vec<String> =
        faults.iter().map(|it| format!("{} {}", it.name, it.reason)).collect();
    assert_eq!(
        faults_shown,
        [
            "ICCID must be `89` followed by 14 to 18 digits, not `12`",
            "ICCID must be `89` followed by 14 to 18 digits, not ``",
            "IMSI must be 6 to 15 digits, not `x`",
            "serialNumber must be 5 to 22 digits, or `SL-DF-` followed by 1 to 64 letters, digits or \
             hyphens, not `SL-DF-`",
        ]
    );
}

#[test]
fn a_filter_asks_for_a_thousand_identifiers_at_most() {
    let some = |n: usize| (0..n).map(|it| (100_000 + it).to_string()).collect::<Vec<_>>().join(",");
    assert!(read(&format!("IMSI={}", some(IDENTIFIERS_MAX))).is_ok());
    // A repeated number counts once; as another kind of identifier it counts again.
    assert!(read(&format!("IMSI={};IMSI={}", some(1000), some(1000))).is_ok());
    assert!(read(&format!("IMSI={}&MSISDN=123456", some(1000))).is_err());
    let faults = read(&format!("IMSI={}", some(IDENTIFIERS_MAX + 1))).unwrap_err();
    assert_eq!(faults[0].reason, "may ask for at most 1000 identifiers, not 1001");
}

proptest! {
    /// The scope of an account includes every product that passes.
    #[test]
    fn scopes_include_every_product_that_passes(
        picks in proptest::collection::vec(
            proptest::collection::vec(0usize..10, 1..4), 0..4),
        owned in proptest::collection::vec(0usize..2, 0..3),
        on_alpha in any::<bool>(),
    ) {
        const CONDITIONS: [&str; 10] = [
            "platform=ALPHA", "platform=BETA", "relatedParty.name=a", "relatedParty.name=b",
            "customProperty.name=x", "customProperty.value=1", "ICCID=8900000000000000",
            "iccid=8900000000000001,8900000000000000", "IMSI=123456", "unknown=1",
        ];
        let alternative = |picks: &Vec<usize>| {
            picks.iter().map(|it| CONDITIONS[*it]).collect::<Vec<_>>().join("&")
        };
        let query = picks.iter().map(alternative).collect::<Vec<_>>().join(";");
        let filter = read(&query).unwrap();
        let account = if on_alpha { account("ALPHA", "a") } else { account("BETA", "b") };
        let cards: Vec<&str> =
            owned.iter().map(|it| ["8900000000000000", "8900000000000001"][*it]).collect();
        let connection = connection(&[("x", "1")], &cards);
        let passes = filter.passes(&account, &connection);
        match filter.scope(&account) {
            Scope::Nothing => prop_assert!(!passes),
            Scope::Everything => prop_assert!(passes),
            Scope::Carriers(wanted) => {
                prop_assert!(!passes || wanted.iter().any(|it| connection.carries(it)));
            }
            Scope::Whatever => {}
        }
        // The filter means the same after printing and parsing.
        let parsed: Filter = Expression::parse(&query, &FILTER_FIELDS).filter;
        let again = Expression::parse(&parsed.to_string(), &FILTER_FIELDS);
        prop_assert_eq!(ProductFilter::read(&again).unwrap(), filter);
    }
}
