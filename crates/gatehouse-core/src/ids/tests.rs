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
        assert!(matches!(bad.parse::<DeviceName>(), Err(BadName::Control(_))), "{bad:?}");
    }
    assert!("  spaces, emoji 🛰 and ☃ are fine ".parse::<DeviceName>().is_ok());
}

#[test]
fn a_username_has_no_colon() {
    assert_eq!("ann:lee".parse::<Username>(), Err(BadName::Colon));
    assert!("ann:lee".parse::<DeviceName>().is_ok());
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
fn an_access_has_one_spelling() {
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
fn a_task_shows_its_prefix() {
    let text = "job-019f0000-0000-7000-8000-000000000001";
    assert_eq!(text.parse::<TaskId>().unwrap().to_string(), text);
    assert!(text[4..].parse::<TaskId>().is_err());
}
