use super::*;

#[test]
fn each_kind_has_its_form() {
    use IdentifierKind::*;
    #[rustfmt::skip]
    let cases = [
        (Iccid,        "89",                       false),
        (Iccid,        "8900000000000000",         true),
        (Iccid,        "890000000000000",          false),
        (Iccid,        "89000000000000000000",     true),
        (Iccid,        "890000000000000000000",    false),
        (Iccid,        "8800000000000000",         false),
        (Iccid,        "89000000000000a0",         false),
        (Iccid,        "٨٩00000000000000",         false),
        (Imsi,         "12345",                    false),
        (Imsi,         "123456",                   true),
        (Imsi,         "123456789012345",          true),
        (Imsi,         "1234567890123456",         false),
        (Msisdn,       "123456",                   true),
        (Msisdn,       "+4912345678",              false),
        (Msisdn,       "1234567890123456",         false),
        (SerialNumber, "1234",                     false),
        (SerialNumber, "12345",                    true),
        (SerialNumber, "1234567890123456789012",   true),
        (SerialNumber, "12345678901234567890123",  false),
        (SerialNumber, "SL-DF-",                   false),
        (SerialNumber, "SL-DF-1234-5678-90",       true),
        (SerialNumber, "sl-df-1234",               false),
        (SerialNumber, "SL-DF-12 34",              false),
        (SerialNumber, "KIT12345",                 false),
        (SerialNumber, "",                         false),
    ];
    for (kind, text, is_one) in cases {
        assert_eq!(Identifier::parse(kind, text).is_ok(), is_one, "{kind:?} {text}");
    }
    let long = format!("SL-DF-{}", "1".repeat(64));
    assert!(Identifier::parse(SerialNumber, &long).is_ok());
    assert!(Identifier::parse(SerialNumber, &(long + "1")).is_err());
}

#[test]
fn an_error_repeats_a_part_of_the_value() {
    let bad = Identifier::parse(IdentifierKind::Imsi, &"x".repeat(1000)).unwrap_err();
    assert_eq!(bad.to_string(), format!("must be 6 to 15 digits, not `{}`", "x".repeat(64)));
}

#[test]
fn a_card_is_the_same_with_and_without_its_check_digit() {
    let card = "8988303000000614226";
    let checked = format!("{card}{}", luhn_digit(card).unwrap());
    let key = |text: &str| Identifier::parse(IdentifierKind::Iccid, text).unwrap().key().to_owned();
    assert_eq!(key(&checked), key(card));
    // With another last digit, which is no check digit, it is another card.
    let other =
        char::from_digit((checked.chars().last().unwrap().to_digit(10).unwrap() + 1) % 10, 10);
    assert_ne!(key(&format!("{card}{}", other.unwrap())), key(card));
    // Nineteen digits are never shortened, even where the last is the check digit of the eighteen before it.
    let eighteen = "898830300000061422";
    let nineteen = format!("{eighteen}{}", luhn_digit(eighteen).unwrap());
    assert_eq!(key(&nineteen), nineteen);
}

#[test]
fn only_cards_have_check_digits() {
    let digits = "123456789012345678";
    let serial = format!("{digits}9{}", luhn_digit("1234567890123456789").unwrap());
    assert_eq!(serial.len(), 20);
    assert_eq!(key(IdentifierKind::SerialNumber, &serial), serial);
    assert_eq!(luhn_digit("7992739871"), Some('3'));
    assert_eq!(luhn_digit("79x"), None);
}

#[test]
fn an_msisdn_may_have_a_plus_in_front() {
    let given = |text| Identifier::given(IdentifierKind::Msisdn, text);
    assert_eq!(given("+4915112345678").unwrap().value(), "4915112345678");
    assert_eq!(given("4915112345678"), given("+4915112345678"));
    for bad in ["++4915112345678", "+", "+12345", "49+15112345678", " 4915112345678"] {
        assert_eq!(given(bad).unwrap_err().value, bad);
    }
    assert!(Identifier::given(IdentifierKind::Imsi, "+262011234567890").is_err());
}
