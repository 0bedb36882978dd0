use super::*;

#[test]
fn a_name_that_fits_every_file_is_refused() {
    let tree = Tree::of(&[
        ("console/utils.js", ""),
        ("crates/a/src/data_directory.rs", ""),
        ("crates/a/src/tests/common.rs", ""),
        ("docs/data.md", ""),
    ]);
    let findings: Vec<String> = find(&tree).iter().map(Finding::to_string).collect();
    assert_eq!(
        findings,
        [
            "console/utils.js:1: `utils` says nothing; name the file after what it holds",
            "crates/a/src/tests/common.rs:1: `common` says nothing; name the file after what it holds",
        ]
    );
}
