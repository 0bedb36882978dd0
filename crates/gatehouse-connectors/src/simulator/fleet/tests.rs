use std::collections::HashSet;

use gatehouse_core::Identifier;
use gatehouse_core::identifier::luhn_digit;
use proptest::prelude::*;

use super::super::platform::CONNECTIONS_MAX;
use super::*;

fn platform(seed: u64, n_connections: u32, connectivity: Connectivity) -> Platform {
    Platform { seed, n_connections, connectivity, ..Platform::default() }
}

fn identifiers_of(connection: &ConnectionJson) -> Vec<(IdentifierKind, &str)> {
    let numbers = [
        (IdentifierKind::Iccid, &connection.iccid),
        (IdentifierKind::Imsi, &connection.imsi),
        (IdentifierKind::Msisdn, &connection.msisdn),
        (IdentifierKind::SerialNumber, &connection.serial),
    ];
    numbers.into_iter().filter_map(|(kind, value)| Some((kind, value.as_deref()?))).collect()
}

fn connectivities() -> impl Strategy<Value = Connectivity> {
    prop_oneof![Just(Connectivity::Cellular), Just(Connectivity::Satellite)]
}

proptest! {
    #[test]
    fn identifiers_are_well_formed_and_found(
        seed: u64,
        token in "[a-z0-9-]{1,20}",
        connectivity in connectivities(),
        shows_check_digit: bool,
        (n, index) in (1..=CONNECTIONS_MAX).prop_flat_map(|n| (Just(n), 0..u64::from(n))),
    ) {
        let platform = Platform { shows_check_digit, ..platform(seed, n, connectivity) };
        let fleet = Fleet::of(&platform, &token);
        let connection = fleet.at(index);
        prop_assert_eq!(fleet.index_of_id(&connection.id), Some(index));
        prop_assert_eq!(fleet.index_of_cursor(&fleet.cursor(index)), Some(index));
        let identifiers = identifiers_of(&connection);
        prop_assert_eq!(identifiers.is_empty(), false);
        for (kind, value) in identifiers {
            prop_assert!(Identifier::parse(kind, value).is_ok(), "{:?} {}", kind, value);
            prop_assert_eq!(fleet.index_of(kind, value), Some(index), "{:?} {}", kind, value);
        }
        if let Some(imei) = &connection.imei {
            prop_assert_eq!(imei.len(), 15);
            prop_assert_eq!(luhn_digit(&imei[..14]), imei.chars().last());
        }
        if let Some(imsi) = &connection.imsi {
            prop_assert_eq!(imsi.len(), 15);
        }
        // A fleet that ends before this index doesn't have the connection.
        let fewer = Platform { n_connections: index as u32, ..platform.clone() };
        prop_assert_eq!(Fleet::of(&fewer, &token).index_of_id(&connection.id), None);
    }

    #[test]
    fn an_iccid_is_found_with_and_without_its_check_digit(seed: u64, shows_check_digit: bool) {
        let platform =
            Platform { shows_check_digit, ..platform(seed, 10, Connectivity::Cellular) };
        let fleet = Fleet::of(&platform, "t");
        let iccid = fleet.at(3).iccid.unwrap();
        prop_assert_eq!(iccid.len(), if shows_check_digit { 20 } else { 19 });
        let short = &iccid[..19];
        let check = luhn_digit(short).unwrap();
        prop_assert_eq!(fleet.index_of(IdentifierKind::Iccid, short), Some(3));
        let long = format!("{short}{check}");
        prop_assert_eq!(fleet.index_of(IdentifierKind::Iccid, &long), Some(3));
        let other = if check == '0' { '1' } else { '0' };
        let wrong = format!("{short}{other}");
        prop_assert_eq!(fleet.index_of(IdentifierKind::Iccid, &wrong), None);
    }

    #[test]
    fn no_look_up_panics(text in "\\PC{0,30}", digits in "[0-9-]{0,25}") {
        for connectivity in Connectivity::ALL {
            let platform = platform(1, 1000, connectivity);
            let fleet = Fleet::of(&platform, "t");
            for kind in IdentifierKind::ALL {
                fleet.index_of(kind, &text);
                fleet.index_of(kind, &digits);
                fleet.index_of(kind, &format!("SL-DF-{digits}"));
            }
            fleet.index_of_id(&text);
            fleet.index_of_cursor(&text);
        }
    }
}

#[test]
fn accounts_and_platforms_share_no_identifier() {
    let mut seen = HashSet::new();
    for connectivity in Connectivity::ALL {
        for (name, seed) in [("ALPHA", 1), ("BETA", 1), ("ALPHA", 2)] {
            let name = if connectivity == Connectivity::Cellular {
                name.to_owned()
            } else {
                format!("S{name}")
            };
            let platform =
                Platform { name: name.parse().unwrap(), ..platform(seed, 1000, connectivity) };
            for token in ["a", "b", "c"] {
                let fleet = Fleet::of(&platform, token);
                for index in 0..1000 {
                    let connection = fleet.at(index);
                    for (kind, value) in identifiers_of(&connection) {
                        assert!(seen.insert((kind.as_str(), value.to_owned())), "{value} twice");
                    }
                    assert!(seen.insert(("id", connection.id)));
                    assert!(seen.insert(("cursor", fleet.cursor(index))));
                }
            }
        }
    }
}

#[test]
fn a_connection_of_one_account_is_not_found_in_another() {
    let platform = platform(1, CONNECTIONS_MAX, Connectivity::Cellular);
    let (one, other) = (Fleet::of(&platform, "one"), Fleet::of(&platform, "other"));
    for index in 0..100 {
        let connection = one.at(index);
        for (kind, value) in identifiers_of(&connection) {
            assert_eq!(other.index_of(kind, value), None, "{value}");
        }
        assert_eq!(other.index_of_id(&connection.id), None);
        assert_eq!(other.index_of_cursor(&one.cursor(index)), None);
    }
}

#[test]
fn a_connection_is_the_same_in_every_release() {
    let first_json = |platform: &Platform| {
        serde_json::to_string(&Fleet::of(platform, "alpha-token").at(0)).unwrap()
    };
    let [alpha, _, gamma] = Platform::default_set();
    assert_eq!(
        first_json(&alpha),
        r#"{"id":"3221e64f70","state":"in-use","connectivity":"cellular","iccid":"8948692742341277051","imsi":"260668864362168","msisdn":"487016466663624","imei":"861831058982261","properties":[{"name":"fleet","value":"harbour"}]}"#
    );
    assert_eq!(
        first_json(&gamma),
        r#"{"id":"382fd4c472","state":"in-use","connectivity":"satellite","serial":"SL-DF-7541681-61412-09","properties":[{"name":"site","value":"Leeds"},{"name":"label","value":"unit 6282"}]}"#
    );
}

#[test]
fn states_and_optional_fields_are_distributed_as_in_real_fleets() {
    let platform = platform(1, 10_000, Connectivity::Cellular);
    let fleet = Fleet::of(&platform, "t");
    let all: Vec<ConnectionJson> = (0..10_000).map(|index| fleet.at(index)).collect();
    for (state, n_expected) in
        [("in-use", 8000), ("paused", 800), ("stock", 600), ("retired", 500), ("test-ready", 100)]
    {
        let n = all.iter().filter(|it| it.state == state).count();
        assert!((n_expected / 2..n_expected * 2).contains(&n), "{n} are {state}");
    }
    let n = all.iter().filter(|it| it.msisdn.is_none()).count();
    assert!((300..1200).contains(&n), "{n} carry data only");
    assert!(all.iter().all(|it| (it.state == "stock") == it.imei.is_none()));
    let named =
        |it: &ConnectionJson, name| it.properties.iter().filter(|it| it.name == name).count();
    for (name, n_expected) in [("fleet", 8500), ("site", 6000), ("label", 3000), ("tag", 1000)] {
        let n = all.iter().filter(|it| named(it, name) > 0).count();
        assert!((n_expected - 300..n_expected + 300).contains(&n), "{n} have a {name}");
    }
    assert!(all.iter().any(|it| named(it, "tag") == 2));
    let n = all.windows(2).filter(|pair| pair[0].iccid < pair[1].iccid).count();
    assert!((4000..6000).contains(&n), "{n} ascend");
    let imeis: HashSet<_> = all.iter().filter_map(|it| it.imei.as_ref()).collect();
    assert_eq!(imeis.len(), all.iter().filter(|it| it.imei.is_some()).count());
}

#[test]
fn an_identifier_of_no_connection_is_not_found() {
    let cellular = platform(1, 1000, Connectivity::Cellular);
    let fleet = Fleet::of(&cellular, "t");
    let data_only = (0..1000).find(|index| fleet.at(*index).msisdn.is_none()).unwrap();
    let unused = fleet.msisdn(fleet.number(data_only));
    assert_eq!(fleet.index_of(IdentifierKind::Msisdn, &unused), None);
    let serial = serial(fleet.number(5));
    assert_eq!(fleet.index_of(IdentifierKind::SerialNumber, &serial), None, "a cellular platform");

    let satellite = platform(1, 1000, Connectivity::Satellite);
    let fleet = Fleet::of(&satellite, "t");
    let serial = fleet.at(5).serial.unwrap();
    assert_eq!(fleet.index_of(IdentifierKind::SerialNumber, &serial), Some(5));
    let (rest, check) = serial.split_at(serial.len() - 2);
    let wrong = format!("{rest}{:02}", (check.parse::<u64>().unwrap() + 1) % SERIAL_CHECK);
    assert_eq!(fleet.index_of(IdentifierKind::SerialNumber, &wrong), None);
    let iccid = fleet.iccid(fleet.number(5));
    assert_eq!(fleet.index_of(IdentifierKind::Iccid, &iccid), None, "a satellite platform");
}
