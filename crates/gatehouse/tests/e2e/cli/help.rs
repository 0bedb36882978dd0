use super::*;

/// Every command, and every verb of those that are clients of the API.
const COMMANDS: &[&[&str]] = &[
    &[],
    &["access"],
    &["access", "create"],
    &["access", "list"],
    &["access", "show"],
    &["access", "rotate"],
    &["access", "suspend"],
    &["access", "activate"],
    &["access", "terminate"],
    &["batch"],
    &["batch", "create"],
    &["batch", "update"],
    &["batch", "terminate"],
    &["batch", "list"],
    &["batch", "show"],
    &["batch", "wait"],
    &["batch", "stop"],
    &["batch", "export"],
    &["product"],
    &["product", "list"],
    &["product", "find"],
    &["product", "show"],
    &["contract"],
    &["contract", "list"],
    &["contract", "show"],
    &["login"],
    &["logout"],
    &["profile"],
    &["profile", "list"],
    &["profile", "use"],
    &["completions"],
    &["man"],
];

/// Help in a terminal of 80 columns. What every command repeats about the server is shown once.
#[test]
fn help_is_as_it_was_agreed() {
    let place = Place::sqlite();
    let mut shown = String::new();
    let mut is_first = true;
    for words in COMMANDS {
        let mut command = place.command(words);
        command.arg("--help").env("TERM", "xterm-256color").env("NO_COLOR", "1");
        let (text, code) = Terminal::start(command, 80).finish();
        assert_eq!(code, 0, "{words:?}");
        let kept = if is_first { text.clone() } else { without_common(&text) };
        is_first &= !text.contains(COMMON);
        shown += &format!("$ gatehouse {} --help\n{kept}\n\n", words.join(" "));
    }
    insta::assert_snapshot!(shown);
}

/// What every client's help says.
const COMMON: &str = "Server and credentials:";

/// Help without what every client's says: up to the next line that isn't indented.
fn without_common(text: &str) -> String {
    let Some(at) = text.find(COMMON) else { return text.to_owned() };
    let rest = text[at + COMMON.len()..].split_inclusive('\n');
    let rest: String = rest.skip(1).skip_while(|line| line.starts_with([' ', '\n'])).collect();
    format!("{}{rest}", &text[..at]).trim_end().to_owned()
}

#[test]
fn shells_and_manuals_are_told_every_command() {
    let place = Place::sqlite();
    for shell in ["bash", "zsh", "fish", "elvish", "powershell"] {
        let output = place.run(&["completions", shell]);
        assert!(output.status.success(), "{shell}");
        let script = said(&output);
        for word in ["access", "rotate", "idempotency-key", "export"] {
            assert!(script.contains(word), "{shell} knows {word}");
        }
    }
    // The script is one that the shell itself takes.
    std::fs::write(place.path("bash"), place.run(&["completions", "bash"]).stdout).unwrap();
    let ask = "source ./bash; COMP_WORDS=(gatehouse batch cre); COMP_CWORD=2; _gatehouse gatehouse cre batch; echo ${COMPREPLY[@]}";
    let bash =
        Command::new("bash").args(["-c", ask]).current_dir(place.dir.path()).output().unwrap();
    assert_eq!(said(&bash), "create\n");

    let page = said(&place.run(&["man"]));
    assert!(page.contains(".TH gatehouse 1"), "{page}");
    let output = place.run(&["man", "--to", "man1"]);
    let n_pages = std::fs::read_dir(place.path("man1")).unwrap().count();
    assert_eq!(said(&output), format!("{n_pages} pages in man1\n"));
    let page = std::fs::read_to_string(place.path("man1/gatehouse-batch-create.1")).unwrap();
    assert!(page.contains("only you can read"), "{page}");
    assert_eq!(place.run(&["man", "--to", "/dev/null/x"]).status.code(), Some(2));
}
