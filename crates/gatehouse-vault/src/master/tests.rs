use super::*;

fn hex(n: u8) -> String {
    format!("{n:02x}").repeat(32)
}

#[test]
fn a_master_key_is_64_hexadecimal_characters() {
    let hex = "0123456789abcdefABCDEF0123456789".repeat(2);
    assert!(MasterKeys::parse(&format!("  {hex}\n")).is_ok());
    for bad in ["", " \n", &hex[1..], &format!("{hex}0"), &hex.replace('a', "g"), &"é".repeat(32)]
    {
        let error = MasterKeys::parse(bad).unwrap_err();
        assert_eq!(error, BadMasterKeys::Malformed(1, 1), "{bad}");
        assert!(error.to_string().starts_with("a master key is 64"), "{error}");
    }
    assert!(!format!("{:?}", MasterKey::generate()).contains("0"));
}

#[test]
fn several_keys_are_separated_by_white_space() {
    let one = |n| MasterKeys::parse(&hex(n)).unwrap().fingerprints().remove(0);
    let all = MasterKeys::parse(&format!("\n{}\t{}\r\n\n {} ", hex(1), hex(2), hex(3))).unwrap();
    assert_eq!(all.fingerprints(), [one(1), one(2), one(3)]);
    let reversed = MasterKeys::parse(&format!("{} {}", hex(3), hex(1))).unwrap();
    assert_eq!(reversed.fingerprints(), [one(3), one(1)]);
    assert_eq!(format!("{reversed:?}"), "MasterKeys([MasterKey(…), MasterKey(…)])");
}

#[test]
fn an_error_names_a_bad_key_by_its_position_alone() {
    let bad = format!("{} {} {}", hex(1), &hex(2)[1..], hex(3));
    let error = MasterKeys::parse(&bad).unwrap_err();
    assert_eq!(error, BadMasterKeys::Malformed(2, 3));
    assert!(error.to_string().starts_with("key 2 of 3: a master key is 64"), "{error}");
    let upper = hex(0xab).to_uppercase();
    let error = MasterKeys::parse(&format!("{} {} {upper}", hex(0xab), hex(2))).unwrap_err();
    assert_eq!(error, BadMasterKeys::Twice(1, 3));
    assert!(!error.to_string().contains("ab"), "{error}");
}

#[test]
fn there_are_at_most_eight() {
    let several = |n: u8| (0..n).map(hex).collect::<Vec<_>>().join("\n");
    assert_eq!(MasterKeys::parse(&several(8)).unwrap().fingerprints().len(), 8);
    let error = MasterKeys::parse(&several(9)).unwrap_err();
    assert_eq!(error, BadMasterKeys::TooMany(9));
    assert!(error.to_string().contains("at most 8"), "{error}");
}
