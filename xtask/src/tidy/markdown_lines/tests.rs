use super::*;

fn find_in(path: &str, text: &str) -> Vec<String> {
    find(&Tree::of(&[(path, text)])).iter().map(Finding::to_string).collect()
}

/// A line of words with this many characters.
fn words(n_characters: usize) -> String {
    "word ".repeat(40)[..n_characters].to_owned()
}

#[test]
fn a_line_has_fewer_than_160_characters() {
    let (longest, too_long) = (words(159), words(160));
    let finding =
        "docs/a.md:3: a line of 160 characters; break it so that it has fewer than 160".to_owned();
    assert_eq!(find_in("docs/a.md", &format!("{longest}\n\n{too_long}\n")), [finding]);
    let dashes = "— ".repeat(79);
    assert_eq!(find_in("docs/a.md", &dashes), [""; 0]);
}

#[test]
fn rows_of_tables_code_and_lone_links_may_be_longer() {
    let long = "long-".repeat(40);
    let (row, sentence) = (format!("| {long} | {long} |"), words(180));
    let link = format!("- [a name of it](https://example.com/{long})");
    let definition = format!("[name]: https://example.com/{long} \"a title\"");
    let text = format!(
        "{row}\n```sh\n{sentence}\n~~~\n{sentence}\n```\n{link}\n{definition}\nhttps://example.com/{long}\n"
    );
    assert_eq!(find_in("docs/a.md", &text), [""; 0]);
    let within = format!("[one]({long}) and [another]({long})");
    assert_eq!(find_in("docs/a.md", &within).len(), 1);
    let after_code = format!("```\n{sentence}\n```\n{sentence}\n");
    assert_eq!(find_in("docs/a.md", &after_code).len(), 1);
}

#[test]
fn a_line_of_the_architecture_has_fewer_than_120_characters() {
    let (longest, too_long) = (words(119), words(120));
    assert_eq!(find_in("ARCHITECTURE.md", &longest), [""; 0]);
    assert_eq!(find_in("ARCHITECTURE.md", &format!("```\n{too_long}\n```\n")).len(), 1);
}
