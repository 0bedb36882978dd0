use std::collections::HashSet;

use gatehouse_core::Identifier;
use gatehouse_core::identifier::luhn_digit;
use proptest::prelude::*;

use super::super::platform::CONNECTIONS_MAX;
use super::*;

fn platform(seed: u64, n_connections: u32, connectivity: Connectivity) -> Platform {
    Platform { seed, n_connections, connectivity, ..Platform::default() }
}

fn carried(shown: &Shown) -> Vec<(IdentifierKind, &str)> {
    let numbers = [
        (IdentifierKind::Iccid, &shown.iccid),
        (IdentifierKind::Imsi, &shown.imsi),
        (IdentifierKind::Msisdn, &shown.msisdn),
        (IdentifierKind::SerialNumber, &shown.serial),
    ];
    numbers.into_iter().filter_map(|(kind, value)| Some((kind, value.as_deref()?))).collect()
}

fn connectivities() -> impl Strategy<Value = Connectivity> {
    prop_oneof![Just(Connectivity::Cellular), Just(Connectivity::Satellite)]
}

proptest! {
    #[test]
    fn identifiers_are_well_formed_and_lead_back(
        seed: u64,
        token in "[a-z0-9-]{1,20}",
        connectivity in connectivities(),
        shows_check_digit: bool,
        (n, place) in (1..=CONNECTIONS_MAX).prop_flat_map(|n| (Just(n), 0..u64::from(n))),
    ) {
        let platform = Platform { shows_check_digit, ..platform(seed, n, connectivity) };
        let fleet = Fleet::of(&platform, &token);
        let shown = fleet.at(place);
        prop_assert_eq!(fleet.place_of_id(&shown.id), Some(place));
        prop_assert_eq!(fleet.place_of_mark(&fleet.mark(place)), Some(place));
        let carried = carried(&shown);
        prop_assert_eq!(carried.is_empty(), false);
        for (kind, value) in carried {
            prop_assert!(Identifier::parse(kind, value).is_ok(), "{:?} {}", kind, value);
            prop_assert_eq!(fleet.place_of(kind, value), Some(place), "{:?} {}", kind, value);
        }
        if let Some(imei) = &shown.imei {
            prop_assert_eq!(imei.len(), 15);
            prop_assert_eq!(luhn_digit(&imei[..14]), imei.chars().last());
        }
        if let Some(imsi) = &shown.imsi {
            prop_assert_eq!(imsi.len(), 15);
        }
        // With one connection less, the last one is gone.
        let fewer = Platform { n_connections: place as u32, ..platform.clone() };
        prop_assert_eq!(Fleet::of(&fewer, &token).place_of_id(&shown.id), None);
    }

    #[test]
    fn a_card_is_found_in_both_ways_to_write_it(seed: u64, shows_check_digit: bool) {
        let platform =
            Platform { shows_check_digit, ..platform(seed, 10, Connectivity::Cellular) };
        let fleet = Fleet::of(&platform, "t");
        let shown = fleet.at(3).iccid.unwrap();
        prop_assert_eq!(shown.len(), if shows_check_digit { 20 } else { 19 });
        let short = &shown[..19];
        let check = luhn_digit(short).unwrap();
        prop_assert_eq!(fleet.place_of(IdentifierKind::Iccid, short), Some(3));
        let long = format!("{short}{check}");
        prop_assert_eq!(fleet.place_of(IdentifierKind::Iccid, &long), Some(3));
        let other = if check == '0' { '1' } else { '0' };
        let wrong = format!("{short}{other}");
        prop_assert_eq!(fleet.place_of(IdentifierKind::Iccid, &wrong), None);
    }

    #[test]
    fn whatever_is_looked_up_nothing_breaks(text in "\\PC{0,30}", digits in "[0-9-]{0,25}") {
        for connectivity in Connectivity::ALL {
            let platform = platform(1, 1000, connectivity);
            let fleet = Fleet::of(&platform, "t");
            for kind in IdentifierKind::ALL {
                fleet.place_of(kind, &text);
                fleet.place_of(kind, &digits);
                fleet.place_of(kind, &format!("SL-DF-{digits}"));
            }
            fleet.place_of_id(&text);
            fleet.place_of_mark(&text);
        }
    }
}

#[test]
fn accounts_and_platforms_have_nothing_in_common() {
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
                for place in 0..1000 {
                    let shown = fleet.at(place);
                    for (kind, value) in carried(&shown) {
                        assert!(seen.insert((kind.as_str(), value.to_owned())), "{value} twice");
                    }
                    assert!(seen.insert(("id", shown.id)));
                    assert!(seen.insert(("mark", fleet.mark(place))));
                }
            }
        }
    }
}

#[test]
fn what_belongs_to_one_account_is_not_found_in_another() {
    let platform = platform(1, CONNECTIONS_MAX, Connectivity::Cellular);
    let (one, other) = (Fleet::of(&platform, "one"), Fleet::of(&platform, "other"));
    for place in 0..100 {
        let shown = one.at(place);
        for (kind, value) in carried(&shown) {
            assert_eq!(other.place_of(kind, value), None, "{value}");
        }
        assert_eq!(other.place_of_id(&shown.id), None);
        assert_eq!(other.place_of_mark(&one.mark(place)), None);
    }
}

#[test]
fn a_connection_is_the_same_in_every_release() {
    let shown = |platform: &Platform| {
        serde_json::to_string(&Fleet::of(platform, "alpha-token").at(0)).unwrap()
    };
    let [alpha, _, gamma] = Platform::usual();
    assert_eq!(
        shown(&alpha),
        r#"{"id":"3221e64f70","state":"in-use","connectivity":"cellular","iccid":"8948692742341277051","imsi":"260668864362168","msisdn":"487016466663624","imei":"861831058982261","properties":[{"name":"fleet","value":"harbour"}]}"#
    );
    assert_eq!(
        shown(&gamma),
        r#"{"id":"382fd4c472","state":"in-use","connectivity":"satellite","serial":"SL-DF-7541681-61412-09","properties":[{"name":"site","value":"Leeds"},{"name":"label","value":"unit 6282"}]}"#
    );
}

#[test]
fn a_fleet_is_as_mixed_as_a_real_one() {
    let platform = platform(1, 10_000, Connectivity::Cellular);
    let fleet = Fleet::of(&platform, "t");
    let all: Vec<Shown> = (0..10_000).map(|place| fleet.at(place)).collect();
    for (state, n_expected) in
        [("in-use", 8000), ("paused", 800), ("stock", 600), ("retired", 500), ("test-ready", 100)]
    {
        let n = all.iter().filter(|it| it.state == state).count();
        assert!((n_expected / 2..n_expected * 2).contains(&n), "{n} are {state}");
    }
    let n = all.iter().filter(|it| it.msisdn.is_none()).count();
    assert!((300..1200).contains(&n), "{n} carry data only");
    assert!(all.iter().all(|it| (it.state == "stock") == it.imei.is_none()));
    let named = |it: &Shown, name| it.properties.iter().filter(|it| it.name == name).count();
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
fn what_no_connection_shows_leads_nowhere() {
    let cellular = platform(1, 1000, Connectivity::Cellular);
    let fleet = Fleet::of(&cellular, "t");
    let silent = (0..1000).find(|place| fleet.at(*place).msisdn.is_none()).unwrap();
    let never_given = fleet.msisdn(fleet.number(silent));
    assert_eq!(fleet.place_of(IdentifierKind::Msisdn, &never_given), None);
    let serial = serial(fleet.number(5));
    assert_eq!(fleet.place_of(IdentifierKind::SerialNumber, &serial), None, "no satellites here");

    let satellite = platform(1, 1000, Connectivity::Satellite);
    let fleet = Fleet::of(&satellite, "t");
    let serial = fleet.at(5).serial.unwrap();
    assert_eq!(fleet.place_of(IdentifierKind::SerialNumber, &serial), Some(5));
    let (rest, check) = serial.split_at(serial.len() - 2);
    let wrong = format!("{rest}{:02}", (check.parse::<u64>().unwrap() + 1) % SERIAL_CHECK);
    assert_eq!(fleet.place_of(IdentifierKind::SerialNumber, &wrong), None);
    let iccid = fleet.iccid(fleet.number(5));
    assert_eq!(fleet.place_of(IdentifierKind::Iccid, &iccid), None, "no cards here");
}
