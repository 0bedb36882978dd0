use super::*;

#[test]
fn a_source_file_has_at_most_700_lines() {
    let (short, long) = ("x\n".repeat(700), "x\n".repeat(701));
    let tree = Tree::of(&[
        ("crates/a/src/long.rs", &long),
        ("crates/a/src/short.rs", &short),
        ("crates/a/src/tests.rs", &long),
    ]);
    let findings: Vec<String> = find(&tree).iter().map(Finding::to_string).collect();
    let finding = "crates/a/src/long.rs:1: 701 lines; divide the file by its nouns into files of at most 700 lines";
    assert_eq!(findings, [finding]);
}
