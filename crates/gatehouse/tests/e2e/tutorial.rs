//! The tutorial of docs/writing-a-connector.md, followed step by step.

use super::process::*;
use super::simulate::Simulation;

const DOCUMENT: &str = include_str!("../../../../docs/writing-a-connector.md");

/// A fenced block: its language, and its lines.
struct Block {
    language: &'static str,
    text: &'static str,
}

fn blocks(from: &str, to: &str) -> Vec<Block> {
    let start = DOCUMENT.find(from).unwrap();
    let end = start + DOCUMENT[start..].find(to).unwrap();
    let fenced = DOCUMENT[start..end].split("```").skip(1).step_by(2);
    let block = |it: &'static str| {
        let (language, text) = it.split_once('\n').unwrap();
        Block { language, text }
    };
    fenced.map(block).collect()
}

/// A manifest by its sections, in order.
#[derive(Default)]
struct Sections(Vec<(String, String)>);

impl Sections {
    /// Replaces sections of the same name, and appends the others.
    fn put(&mut self, text: &str) {
        let mut added: Vec<(String, String)> = Vec::new();
        for line in text.lines() {
            if line.starts_with(|it: char| it.is_ascii_lowercase()) {
                let name = line.split(':').next().unwrap_or_default().to_owned();
                added.push((name, String::new()));
            }
            let (_, section) = added.last_mut().unwrap();
            section.push_str(line);
            section.push('\n');
        }
        for (name, text) in added {
            match self.0.iter_mut().find(|(it, _)| *it == name) {
                Some((_, old)) => *old = text,
                None => self.0.push((name, text)),
            }
        }
    }

    fn text(&self) -> String {
        self.0.iter().map(|(_, text)| text.as_str()).collect()
    }
}

#[test]
fn the_tutorial_leads_to_a_working_connector() {
    let setup = Setup::sqlite();
    let begin = &blocks("## In half an hour", "### 1. ")[0];
    let arguments =
        begin.text.split('#').next().unwrap().trim().strip_prefix("gatehouse simulate ");
    let arguments: Vec<&str> = arguments.unwrap().split_whitespace().collect();
    let simulation = Simulation::start(&setup, &arguments);
    let [name, url, ..] = simulation.platforms()[0];
    assert_eq!(name, "ALPHA");
    let run = |line: &str| {
        let line = line.replace("http://127.0.0.1:9700", url);
        let words: Vec<&str> = line.split_whitespace().skip(1).collect();
        let output = setup.run(&words);
        let shown = printed(&output);
        assert!(output.status.success(), "{line}: {shown}");
        assert!(!shown.contains("alpha-token"), "{shown}");
        shown
    };
    let (mut sections, mut shown) = (Sections::default(), Vec::new());
    for Block { language, text } in blocks("### 2. ", "### 6. ") {
        if language == "yaml" {
            sections.put(text);
            std::fs::write(setup.path("alpha.yaml"), sections.text()).unwrap();
        } else {
            shown.extend(text.lines().map(run));
        }
    }
    let [check, page, imsi] = &shown[..] else { panic!("{shown:?}") };
    assert_eq!(check, "ok  alpha.yaml: alpha, Alpha\n");
    assert!(page.contains("1 call, 3 products, no failure"), "{page}");
    assert!(imsi.contains("1 call, 1 product, no failure"), "{imsi}");
    // The product that the API page shows, in full.
    for part in [
        "3221e64f70",
        "ACTIVE",
        "in-use",
        "8948692742341277051",
        "487016466663624",
        "861831058982261",
        "harbour",
    ] {
        assert!(imsi.contains(part), "{part} in {imsi}");
    }

    let account = format!("alpha.yaml --set baseUrl={url} --credential token=alpha-token");
    assert!(
        run(&format!("gatehouse connector check {account}"))
            .contains("ok  the account was queried")
    );
    let found = run(&format!("gatehouse connector try {account} --id 3221e64f70"));
    assert!(found.contains("1 call, 1 product, no failure"), "{found}");
    let all = run(&format!("gatehouse connector try {account} --page-size 250"));
    assert!(all.contains("3 calls, 250 products, no failure"), "{all}");
}

/// A claim about security is worth as much as the test behind it.
#[test]
fn the_security_page_names_existing_tests() {
    let root = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let page = std::fs::read_to_string(root.join("docs/security.md")).unwrap();
    let mut sources = String::new();
    let mut directories = vec![root.join("crates"), root.join("xtask/src")];
    while let Some(directory) = directories.pop() {
        for entry in std::fs::read_dir(directory).unwrap().map(|it| it.unwrap().path()) {
            if entry.is_dir() {
                directories.push(entry);
            } else if entry.extension().is_some_and(|it| it == "rs") {
                sources += &std::fs::read_to_string(entry).unwrap();
            }
        }
    }
    let is_test = |word: &&str| {
        let is_name =
            word.bytes().all(|it| it.is_ascii_lowercase() || it.is_ascii_digit() || it == b'_');
        is_name && word.matches('_').count() > 3
    };
    let named: Vec<&str> = page.split('`').skip(1).step_by(2).filter(is_test).collect();
    assert!(named.len() > 30, "{named:?}");
    for name in named {
        assert!(sources.contains(&format!("fn {name}(")), "there is no test {name}");
    }
}
