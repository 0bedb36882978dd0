use super::*;

/// Every command, and every subcommand of the API's clients.
const COMMANDS: &[&[&str]] = &[
    &[],
    &["access"],
    &["access", "create"],
    &["access", "import"],
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
    &["event"],
    &["event", "list"],
    &["event", "tail"],
    &["hub"],
    &["hub", "create"],
    &["hub", "list"],
    &["hub", "show"],
    &["hub", "pause"],
    &["hub", "resume"],
    &["hub", "rotate"],
    &["hub", "delete"],
    &["hub", "deliveries"],
    &["hub", "dead-letters"],
    &["hub", "replay"],
    &["hook"],
    &["hook", "create"],
    &["hook", "list"],
    &["hook", "delete"],
    &["login"],
    &["logout"],
    &["profile"],
    &["profile", "list"],
    &["profile", "use"],
    &["completions"],
    &["man"],
];

/// Help in a terminal of 80 columns. The common part about the server is shown once.
#[test]
fn help_is_as_it_was_agreed() {
    let setup = Setup::sqlite();
    let mut shown = String::new();
    let mut is_first = true;
    for words in COMMANDS {
        let mut command = setup.command(words);
        command.arg("--help").env("TERM", "xterm-256color").env("NO_COLOR", "1");
        let (text, code) = Terminal::start(command, 80).finish();
        assert_eq!(code, 0, "{words:?}");
        let kept = if is_first { text.clone() } else { without_common(&text) };
        is_first &= !text.contains(COMMON);
        shown += &format!("$ gatehouse {} --help\n{kept}\n\n", words.join(" "));
    }
    insta::assert_snapshot!(shown);
}

/// The heading of the common part.
const COMMON: &str = "Server and credentials:";

/// Help without the common part: up to the next line that isn't indented.
fn without_common(text: &str) -> String {
    let Some(at) = text.find(COMMON) else { return text.to_owned() };
    let rest = text[at + COMMON.len()..].split_inclusive('\n');
    let rest: String = rest.skip(1).skip_while(|line| line.starts_with([' ', '\n'])).collect();
    format!("{}{rest}", &text[..at]).trim_end().to_owned()
}

#[test]
fn shells_and_manuals_know_every_command() {
    let setup = Setup::sqlite();
    for shell in ["bash", "zsh", "fish", "elvish", "powershell"] {
        let output = setup.run(&["completions", shell]);
        assert!(output.status.success(), "{shell}");
        let script = printed(&output);
        for word in ["access", "rotate", "idempotency-key", "export"] {
            assert!(script.contains(word), "{shell} knows {word}");
        }
    }
    // The shell itself accepts the script.
    std::fs::write(setup.path("bash"), setup.run(&["completions", "bash"]).stdout).unwrap();
    let ask = "source ./bash; COMP_WORDS=(gatehouse batch cre); COMP_CWORD=2; _gatehouse gatehouse cre batch; echo ${COMPREPLY[@]}";
    let bash =
        Command::new("bash").args(["-c", ask]).current_dir(setup.dir.path()).output().unwrap();
    assert_eq!(printed(&bash), "create\n");

    let page = printed(&setup.run(&["man"]));
    assert!(page.contains(".TH gatehouse 1"), "{page}");
    let output = setup.run(&["man", "--to", "man1"]);
    let n_pages = std::fs::read_dir(setup.path("man1")).unwrap().count();
    assert_eq!(printed(&output), format!("{n_pages} pages in man1\n"));
    let page = std::fs::read_to_string(setup.path("man1/gatehouse-batch-create.1")).unwrap();
    assert!(page.contains("only you can read"), "{page}");
    assert_eq!(setup.run(&["man", "--to", "/dev/null/x"]).status.code(), Some(2));
}
