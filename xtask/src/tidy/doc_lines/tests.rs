use super::*;

fn find_in(path: &str, text: &str, beginning: &str) -> Vec<usize> {
    let expected = format!(
        "the doc comment begins with \"{beginning}\"; name its subject, so that the line stands alone"
    );
    let lines = text.lines().count();
    let findings = find(&Tree::of(&[(path, text)]));
    let is_at = |line: &usize| findings.contains(&Finding::in_file(path, *line, expected.clone()));
    let found: Vec<usize> = (1..=lines).filter(is_at).collect();
    assert_eq!(found.len(), findings.len(), "{findings:?}");
    found
}

#[test]
fn a_doc_comment_of_rust_does_not_begin_with_the_same() {
    let text =
        "//! The same.\n\n/// Reads.\nfn a() {}\n\n    /// The same, later.\n    fn b() {}\n";
    assert_eq!(find_in("crates/a/src/lib.rs", text, "The same"), [1, 6]);
}

#[test]
fn a_doc_comment_of_rust_begins_with_a_subject() {
    for beginning in BEGINNINGS {
        let text = format!("/// {beginning} reads.\n");
        assert_eq!(find_in("crates/a/src/lib.rs", &text, beginning), [1]);
    }
}

#[test]
fn later_lines_comments_and_longer_words_are_free() {
    let text =
        "/// Reads.\n/// The same as before.\nfn a() {}\n// The same.\n/// Items.\nfn b() {}\n";
    assert_eq!(find_in("crates/a/src/lib.rs", text, "The same"), [0; 0]);
}

#[test]
fn a_doc_comment_of_javascript_does_not_begin_with_the_same() {
    let text = "/** The same view. @param {string} a */\n/**\n * The same for pictures.\n */\n\
                /**\n * Reads.\n * The same again.\n */\n// The same.\n";
    assert_eq!(find_in("console/a.js", text, "The same"), [1, 3]);
}
