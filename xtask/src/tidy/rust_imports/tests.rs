use super::*;

/// Files that `a/b.rs` imports, each with the line.
fn imports_of(text: &str) -> Vec<(usize, String)> {
    let tree = Tree::of(&[
        ("crates/x/src/a.rs", ""),
        ("crates/x/src/a/b.rs", text),
        ("crates/x/src/a/b/child.rs", ""),
        ("crates/x/src/a/b/tests.rs", "use crate::c;\n"),
        ("crates/x/src/a/sibling.rs", ""),
        ("crates/x/src/c.rs", ""),
        ("crates/x/src/c/d.rs", ""),
        ("crates/x/src/lib.rs", ""),
        ("crates/y/src/c.rs", ""),
    ]);
    let imports = find(&tree);
    let name = |path: &str| path.trim_start_matches("crates/x/src/").to_owned();
    imports.into_iter().map(|it| (it.line, name(&it.to))).collect()
}

#[test]
fn each_form_of_a_path_is_an_import() {
    for (text, file) in [
        ("use crate::c::X;", "c.rs"),
        ("pub(crate) use crate::c;", "c.rs"),
        ("use crate::c::d::X;", "c/d.rs"),
        ("use crate::c::*;", "c.rs"),
        ("use super::sibling::X as Y;", "a/sibling.rs"),
        ("use super::super::c::X;", "c.rs"),
        ("use self::child::X;", "a/b/child.rs"),
        ("use child::X;", "a/b/child.rs"),
        ("fn f() { crate::c::d::g() }", "c/d.rs"),
        ("fn f() { super::sibling::g() }", "a/sibling.rs"),
        ("fn f() { child::g() }", "a/b/child.rs"),
        ("fn f(x: &[crate::c::X]) {}", "c.rs"),
    ] {
        assert_eq!(imports_of(text), [(1, file.to_owned())], "{text}");
    }
}

#[test]
fn a_tree_has_an_import_on_each_of_its_lines() {
    let text = "use std::{fs, io};\nuse crate::{\n    Root,\n    a::sibling::{self, X as Y},\n    c::{d::{Z, W}},\n};\n\
                use child::*;\n";
    let expected = [(4, "a/sibling.rs"), (5, "c/d.rs"), (7, "a/b/child.rs")];
    assert_eq!(imports_of(text), expected.map(|(line, file)| (line, file.to_owned())));
}

#[test]
fn ancestors_other_crates_comments_strings_and_tests_are_no_imports() {
    for text in [
        "use super::X;",
        "use crate::Root;",
        "use crate::a::X;",
        "use self::X;",
        "mod child;",
        "use c::X;",
        "use other::c::X;",
        "fn f() { other::crate_::c::g() }",
        "fn f() { <T>::child::g() }",
        "// crate::c::f()",
        "/// [`crate::c::f`]",
        "fn f() { g(\"crate::c\") }",
        "#[cfg(test)]\nmod tests {\n    use crate::c::X;\n}",
        "#[cfg(test)]\nmod tests;",
        "fn f() -> impl Fn() + use<'_> {}",
    ] {
        assert_eq!(imports_of(text), [], "{text}");
    }
}
