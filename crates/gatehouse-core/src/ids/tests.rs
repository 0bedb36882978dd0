use super::*;

#[test]
fn names_are_bounded_on_both_sides() {
    assert_eq!("".parse::<ContractId>(), Err(BadName::Length(0)));
    assert!("é".repeat(128).parse::<ContractId>().is_ok(), "characters are counted, not bytes");
    assert_eq!("é".repeat(129).parse::<ContractId>(), Err(BadName::Length(129)));
}

#[test]
fn names_hold_no_control_characters() {
    for bad in ["a\0b", "a\nb", "\u{7f}", "\u{85}"] {
        assert!(matches!(bad.parse::<ContractId>(), Err(BadName::Control(_))), "{bad:?}");
        assert!(matches!(bad.parse::<Username>(), Err(BadName::Control(_))), "{bad:?}");
    }
    assert!("  spaces, emoji 🛰 and ☃ are fine ".parse::<ContractId>().is_ok());
}

#[test]
fn a_device_name_may_have_any_character_that_databases_store() {
    for good in ["a\nb", "\u{7f}", "\u{85}", &"é".repeat(128)] {
        assert!(good.parse::<DeviceName>().is_ok(), "{good:?}");
    }
    assert_eq!("a\0b".parse::<DeviceName>(), Err(BadName::Control(0)));
    assert_eq!("".parse::<DeviceName>(), Err(BadName::Length(0)));
    assert_eq!("é".repeat(129).parse::<DeviceName>(), Err(BadName::Length(129)));
}

#[test]
fn a_username_may_be_a_mac_address_with_colons() {
    let address: Username = "00:1b:44:11:3a:b7".parse().unwrap();
    assert_eq!(address.as_str(), "00:1b:44:11:3a:b7");
    assert!(":".parse::<Username>().is_ok());
}

#[test]
fn tenant_names_never_collide_with_operator_paths() {
    for good in ["a", "9", "demo", "Acme-1.eu_west", &"x".repeat(63)] {
        assert!(good.parse::<TenantName>().is_ok(), "{good}");
    }
    for bad in ["", "-", "-a", ".a", "_a", "a b", "a/b", "ä", "a\0", &"x".repeat(64)] {
        assert_eq!(bad.parse::<TenantName>(), Err(BadName::Tenant), "{bad:?}");
    }
}

#[test]
fn an_idempotency_key_fits_into_a_header() {
    for good in ["k", "\"8e03978e-40d5\"", "two words", "{}/~!", &"x".repeat(255)] {
        assert!(good.parse::<RequestKey>().is_ok(), "{good}");
    }
    for bad in ["", " ", " a", "a ", "a\tb", "a\0", "ä", &"x".repeat(256)] {
        assert_eq!(bad.parse::<RequestKey>(), Err(BadName::RequestKey), "{bad:?}");
    }
}

#[test]
fn an_access_identifier_has_one_spelling() {
    let id = AccessId::new(1_790_000_000_000, &[7; 10]);
    let text = id.to_string();
    assert_eq!(text.parse(), Ok(id));
    assert_eq!(AccessId::from_bytes(*id.as_bytes()), id);
    for other in [text.to_uppercase(), text.replace('-', ""), format!("{{{text}}}"), "x".into()] {
        assert_eq!(other.parse::<AccessId>(), Err(BadId), "{other}");
    }
}

#[test]
fn later_identifiers_sort_later() {
    assert!(AccessId::new(1, &[255; 10]) < AccessId::new(2, &[0; 10]));
}

#[test]
fn identifiers_of_a_task_sort_by_ordinal_whatever_the_random_bits() {
    let time = 1_790_000_000_000;
    let mut ordinals: Vec<u32> = (0..5000).chain((13..24).map(|bit| 1 << bit)).collect();
    ordinals.push(ORDERED_ITEMS - 1);
    for pair in ordinals.windows(2) {
        let (last, first) = (
            AccessId::in_task(time, pair[0], &[255; 10]),
            AccessId::in_task(time, pair[1], &[0; 10]),
        );
        assert!(last < first, "{pair:?}: {last} {first}");
    }
    let last = AccessId::in_task(time, ORDERED_ITEMS - 1, &[0; 10]);
    assert_eq!(AccessId::in_task(time, u32::MAX, &[0; 10]), last, "the bits that are left differ");
    assert!(AccessId::in_task(time, u32::MAX, &[255; 10]) < AccessId::new(time + 1, &[0; 10]));
}

#[test]
fn identifiers_of_a_task_are_of_version_7_and_keep_50_random_bits() {
    for ordinal in [0, 1, 0x00AB_CDEF, ORDERED_ITEMS - 1, u32::MAX] {
        let of = |random| AccessId::in_task(1_790_000_000_000, ordinal, &[random; 10]);
        let (zeros, ones) = (of(0), of(255));
        for id in [zeros, ones] {
            assert_eq!(id.0.get_version_num(), 7);
            assert_eq!(id.0.get_variant(), uuid::Variant::RFC4122);
            assert_eq!(id.as_bytes()[..6], 1_790_000_000_000_u64.to_be_bytes()[2..]);
        }
        assert_eq!(zeros.0.as_u128() ^ ones.0.as_u128(), (1 << 50) - 1, "{zeros} {ones}");
    }
    let text = AccessId::in_task(0x0190_0000_0000, 0x00AB_CDEF, &[0; 10]).to_string();
    assert_eq!(text, "01900000-0000-7abc-b7bc-000000000000", "abc, then 0xdef in 12 bits");
}

#[test]
fn a_task_identifier_has_its_prefix() {
    let text = "job-019f0000-0000-7000-8000-000000000001";
    assert_eq!(text.parse::<TaskId>().unwrap().to_string(), text);
    assert!(text[4..].parse::<TaskId>().is_err());
}

#[test]
fn later_tasks_sort_later() {
    let task = TaskId::new(2, &[0; 10]);
    assert!(TaskId::new(1, &[255; 10]) < task);
    assert_eq!(task.to_string(), "job-00000000-0002-7000-8000-000000000000");
    assert_eq!(TaskId::from_bytes(*task.as_bytes()), task);
}

#[test]
fn the_shown_identifier_equals_the_printed_one() {
    let id = AccessId::new(1_790_000_000_000, &[7; 10]);
    assert_eq!(id.shown().as_str(), id.to_string());
}

proptest::proptest! {
    #[test]
    fn the_fast_check_of_names_agrees_with_the_full_check(text in "[ -~é\u{7f}\u{1f}]{0,130}") {
        let full_check = |text: &str| {
            let n_chars = text.chars().count();
            (1..=NAME_CHARS_MAX).contains(&n_chars) && !text.contains(char::is_control)
        };
        proptest::prop_assert_eq!(check_name(&text).is_ok(), full_check(&text));
    }
}

#[test]
fn identifiers_are_found_by_their_beginning() {
    let id = "01a1dd4d-f036-7005-9379-54b08ec1966e";
    for n in 1..=id.len() {
        for beginning in [id[..n].to_owned(), id[..n].to_uppercase()] {
            let (first, last) = AccessId::range_of_prefix(&beginning).unwrap();
            assert!(
                first.to_string().starts_with(&id[..n]) && last.to_string().starts_with(&id[..n])
            );
            let id: AccessId = id.parse().unwrap();
            assert!((first..=last).contains(&id), "{beginning}");
        }
    }
    let (first, last) = AccessId::range_of_prefix("01a1dd4d-f").unwrap();
    assert_eq!(first.to_string(), "01a1dd4d-f000-0000-0000-000000000000");
    assert_eq!(last.to_string(), "01a1dd4d-ffff-ffff-ffff-ffffffffffff");
    for no in ["pump", "01a1dd4df", "01a1dd4d-f036-7005-9379-54b08ec1966e0", "0-", "é1a1dd4d"] {
        assert_eq!(AccessId::range_of_prefix(no), None, "{no}");
    }
}
