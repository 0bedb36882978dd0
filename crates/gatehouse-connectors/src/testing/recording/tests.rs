use super::Recording;
use super::disguise::Disguise;
use crate::Manifests;

#[test]
fn every_shipped_manifest_has_a_recording_that_is_written_as_it_is_read() {
    for manifest in Manifests::shipped().all() {
        let name = manifest.name().as_str();
        let recording = Recording::shipped(name).unwrap();
        assert_eq!(recording.connector(), name);
        assert_eq!(Recording::parse(name, &recording.to_text()), Ok(recording));
    }
}

#[test]
fn a_number_is_disguised_the_same_with_and_without_its_check_digit() {
    let mut disguise = Disguise::default();
    let (short, long) = ("8988228066600000001", "89882280666000000010");
    let digit = gatehouse_core::identifier::luhn_digit(short).unwrap();
    let long = if long.ends_with(digit) { long.to_owned() } else { format!("{short}{digit}") };
    let (one, other) = (disguise.text(short), disguise.text(&format!("/sims/{long}?x=1")));
    assert_ne!(one, short);
    assert_eq!(one.len(), short.len());
    let digit = gatehouse_core::identifier::luhn_digit(&one).unwrap();
    assert_eq!(other, format!("/sims/{one}{digit}?x=1"));
}

#[test]
fn names_keep_their_form_and_short_numbers_stay() {
    let mut disguise = Disguise::default();
    disguise.learn_id("HSabcdef0123456789abcdef0123456789");
    let text = disguise.text("GET /v1/Sims/HSabcdef0123456789abcdef0123456789?PageSize=50");
    assert_eq!(text, "GET /v1/Sims/HS00000000000000000000000000000001?PageSize=50");
}

#[test]
fn different_numbers_stay_different() {
    let mut disguise = Disguise::default();
    let numbers: Vec<String> = (0..500).map(|n| format!("26063{:010}", n * 37)).collect();
    let others: std::collections::HashSet<String> =
        numbers.iter().map(|it| disguise.text(it)).collect();
    assert_eq!(others.len(), numbers.len());
}

#[test]
fn any_text_can_be_disguised() {
    for text in ["Gdańsk", "ńs", "%", "%2", "%2B4", "", "é%ñ"] {
        assert_eq!(Disguise::default().text(text), text);
    }
}
