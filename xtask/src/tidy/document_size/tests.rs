use super::*;

#[test]
fn the_first_documents_have_limits_and_others_have_none() {
    let (bytes, lines) = ("x".repeat(9216), "x\n".repeat(150));
    let just_fits = [("ARCHITECTURE.md", bytes.as_str()), ("README.md", &lines)];
    assert_eq!(find(&Tree::of(&just_fits)), []);

    let (bytes, lines) = ("x".repeat(9217), "x\n".repeat(151));
    let too_long = [
        ("ARCHITECTURE.md", bytes.as_str()),
        ("README.md", &lines),
        ("bench/README.md", &lines),
        ("docs/http.md", &bytes),
    ];
    let findings: Vec<String> = find(&Tree::of(&too_long)).iter().map(Finding::to_string).collect();
    assert_eq!(
        findings,
        [
            "ARCHITECTURE.md:1: 9217 bytes; move details into docs/, so that at most 9216 bytes are left",
            "README.md:1: 151 lines; move details into docs/, so that at most 150 lines are left",
        ]
    );
}
