use super::*;

#[test]
fn an_identifier_is_split_at_its_first_hyphen() {
    let id: ProductId = "STARLINK-SL-DF-1-2".parse().unwrap();
    assert_eq!((id.platform.as_str(), id.local_id.as_str()), ("STARLINK", "SL-DF-1-2"));
    assert_eq!(id.to_string(), "STARLINK-SL-DF-1-2");
}

#[test]
fn a_malformed_product_identifier_is_refused() {
    let long = format!("A-{}", "x".repeat(LOCAL_ID_CHARS_MAX));
    assert!(long.parse::<ProductId>().is_ok());
    for text in ["", "A", "A-", "-1", "alpha-1", "A B-1", "A-\u{7}", &(long + "x")] {
        assert!(text.parse::<ProductId>().is_err(), "{text}");
    }
}

#[test]
fn a_card_is_found_with_and_without_its_check_digit() {
    let card = "8988303000000614226";
    let checked = format!("{card}{}", crate::identifier::luhn_digit(card).unwrap());
    let connection = |iccid: &str| Connection {
        local_id: "1".into(),
        status: "ACTIVE".into(),
        platform_status: None,
        connectivity: Connectivity::Cellular,
        identifiers: vec![
            (IdentifierKind::Imsi, card[..15].into()),
            (IdentifierKind::Iccid, iccid.into()),
        ],
        imeis: Vec::new(),
        properties: Vec::new(),
    };
    for carried in [card, &checked] {
        for wanted in [card, &checked] {
            let wanted = Identifier::parse(IdentifierKind::Iccid, wanted).unwrap();
            assert!(connection(carried).carries(&wanted), "{carried} {wanted}");
        }
    }
    let wanted = Identifier::parse(IdentifierKind::Msisdn, &card[..15]).unwrap();
    assert!(!connection(card).carries(&wanted));
}
