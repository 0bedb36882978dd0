use super::*;

fn find_in(files: &[(&str, &str)]) -> Vec<String> {
    find(&Tree::of(files)).iter().map(Finding::to_string).collect()
}

#[test]
fn a_circle_of_three_files_is_found_with_its_imports() {
    let findings = find_in(&[
        ("crates/x/src/a.rs", "use crate::b::B;\n"),
        ("crates/x/src/b.rs", "\nuse crate::c::C;\n"),
        ("crates/x/src/c.rs", "fn c() { crate::a::f() }\n"),
        ("crates/x/src/d.rs", "use crate::a::A;\n"),
        ("crates/x/src/lib.rs", "mod a;\nmod b;\nmod c;\nmod d;\n"),
    ]);
    let finding = "crates/x/src/a.rs:1: 3 files import each other in a circle; cut one of these imports, or move what \
                   both sides need into a file of its own:\n    \
                   crates/x/src/a.rs:1 imports crates/x/src/b.rs\n    \
                   crates/x/src/b.rs:2 imports crates/x/src/c.rs\n    \
                   crates/x/src/c.rs:1 imports crates/x/src/a.rs";
    assert_eq!(findings, [finding]);
}

#[test]
fn two_files_may_import_each_other() {
    let pair = [("console/a.js", "import './b.js';\n"), ("console/b.js", "import './a.js';\n")];
    assert_eq!(find_in(&pair), [""; 0]);
}

#[test]
fn circles_that_share_a_file_are_one() {
    let findings = find_in(&[
        ("console/a.js", "import './b.js';\n"),
        ("console/b.js", "import './a.js';\nimport './c.js';\n"),
        ("console/c.js", "const b = await import('./b.js');\n"),
    ]);
    assert_eq!(findings.len(), 1);
    assert!(findings[0].starts_with("console/a.js:1: 3 files import each other"), "{findings:?}");
}

#[test]
fn a_module_may_name_its_parents() {
    let files = [
        ("crates/x/src/a.rs", "mod b;\nuse b::B;\nuse self::b::c::C;\n"),
        ("crates/x/src/a/b.rs", "mod c;\nuse super::A;\nfn f() { c::g() }\n"),
        ("crates/x/src/a/b/c.rs", "use crate::X;\nuse crate::a::A;\nuse super::super::A;\n"),
        ("crates/x/src/lib.rs", "mod a;\nuse a::A;\n"),
    ];
    assert_eq!(find_in(&files), [""; 0]);
}
