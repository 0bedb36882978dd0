use super::*;

#[test]
fn a_module_begins_with_its_header() {
    let tree = Tree::of(&[
        ("console/api.js", "import './a.js';\n"),
        ("crates/a/src/bare.rs", "// A comment.\nuse std::fs;\n"),
        ("crates/a/src/lib.rs", "//! A crate.\n"),
        ("crates/a/src/tests.rs", "use super::*;\n"),
    ]);
    let findings: Vec<String> = find(&tree).iter().map(Finding::to_string).collect();
    let finding = "crates/a/src/bare.rs:1: the file has no header; begin it with a line `//! What the file holds.`";
    assert_eq!(findings, [finding]);
}
