use super::*;

/// The documentation's page of platforms.
const PAGE: &str = include_str!("../../../../../docs/platforms.md");

#[test]
fn the_page_of_platforms_matches_the_manifests() {
    let (begin, end) = ("<!-- table -->\n", "<!-- end of table -->");
    let table = PAGE.split_once(begin).and_then(|(_, rest)| rest.split_once(end));
    let (table, _) = table.expect("docs/platforms.md has a table between its marks");
    assert!(
        table.trim() == Manifests::shipped().markdown().trim(),
        "docs/platforms.md is not what the manifests say: put what `cargo run -q -- connector list --output \
         markdown` prints between its marks"
    );
}

#[test]
fn a_row_shows_the_capabilities_of_a_platform() {
    let manifests = Manifests::shipped();
    let row = |name: &str| manifests.get(name).unwrap().summary().cells().join(" | ");
    assert_eq!(
        row("1nce"),
        "1nce | 1NCE | CELLULAR | number, from 1 | up to 100 | known | one | one | scan | scan | never | none | \
         as long as it says"
    );
    assert_eq!(
        row("starlink"),
        "starlink | Starlink Enterprise | SATELLITE | number, from 0 | always 100 | known | one | never | never | \
         never | one | one for 100: properties | as long as it says"
    );
    assert_eq!(
        row("soracom"),
        "soracom | Soracom | CELLULAR | cursor in a header | up to 100 | not known | batch of 100 | batch of 100 | \
         batch of 100 | batch of 100 | batch of 100 | none | 1d"
    );
    assert_eq!(
        row("cisco"),
        "cisco | Cisco IoT Control Center | CELLULAR | number, from 1 | up to 50 | not known | one | one | scan | \
         scan | never | one each: IMSI, MSISDN, IMEI, properties | none"
    );
}

#[test]
fn a_bar_in_a_title_ends_no_cell() {
    let mut manifests = Manifests::shipped();
    let text = manifests.text("1nce").unwrap().replace("title: 1NCE", "title: A|B");
    manifests.add("1nce.yaml", &text).unwrap_or_else(|faults| panic!("{faults}"));
    assert!(manifests.markdown().contains("| A\\|B |"));
}

#[test]
fn durations_are_shown_in_the_largest_unit() {
    for (seconds, said) in [(1, "1s"), (90, "90s"), (900, "15m"), (3600, "1h"), (86400, "1d")] {
        assert_eq!(span_words(Duration::from_secs(seconds)), said);
    }
}
