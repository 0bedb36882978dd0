//! The command line as people use it: against a server with the demo's estate, piped and in a terminal.

mod access;
mod batch;
mod errors;
mod event;
mod help;
mod hook;
mod hub;
mod import;
mod product;
mod terminal;
mod tour;

use std::process::{Command, Stdio};

use super::process::*;
use terminal::Terminal;

/// A user's shell, with a server that has the demo's tenant.
struct Shell {
    setup: Setup,
    server: Server,
}

/// The output and exit code of a command.
struct CommandResult {
    stdout: String,
    stderr: String,
    code: i32,
}

impl Shell {
    fn open() -> Self {
        Self::on(Setup::sqlite(), &[])
    }

    /// A shell in this setup, whose server has more arguments.
    fn on(setup: Setup, more: &[&str]) -> Self {
        let server = setup.serve_with(&[&["--demo"], more].concat());
        Self { setup, server }
    }

    /// A command in an environment that names server, token and tenant.
    fn command(&self, words: &[&str]) -> Command {
        let mut command = self.setup.command(words);
        command
            .env("GATEHOUSE_URL", &self.server.url)
            .env("GATEHOUSE_TOKEN", &self.server.token)
            .env("GATEHOUSE_TENANT", "demo")
            .env("XDG_CONFIG_HOME", self.setup.path("config"))
            .env("TERM", "xterm-256color")
            .env_remove("NO_COLOR")
            .stdin(Stdio::null());
        command
    }

    fn run(&self, words: &[&str]) -> CommandResult {
        CommandResult::of(self.command(words))
    }

    /// The standard output of a command that must succeed.
    fn ok(&self, words: &[&str]) -> String {
        let ran = self.run(words);
        assert_eq!(ran.code, 0, "{words:?}: {}", ran.stderr);
        ran.stdout
    }

    fn json(&self, words: &[&str]) -> serde_json::Value {
        serde_json::from_str(&self.ok(words)).unwrap()
    }

    /// Runs a command with this standard input.
    fn run_with(&self, words: &[&str], input: &str) -> CommandResult {
        use std::io::Write;
        let mut command = self.command(words);
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
        let mut child = command.spawn().unwrap();
        // A command that refuses its command line doesn't read it.
        let _ = child.stdin.take().unwrap().write_all(input.as_bytes());
        CommandResult::new(child.wait_with_output().unwrap())
    }

    /// A command in a terminal with this many columns.
    fn terminal(&self, words: &[&str], columns: u16) -> Terminal {
        Terminal::start(self.command(words), columns)
    }

    fn write(&self, name: &str, text: &str) {
        std::fs::write(self.setup.path(name), text).unwrap();
    }

    fn read(&self, name: &str) -> String {
        std::fs::read_to_string(self.setup.path(name)).unwrap()
    }
}

impl CommandResult {
    fn of(mut command: Command) -> Self {
        Self::new(command.output().unwrap())
    }

    fn new(output: std::process::Output) -> Self {
        Self {
            stdout: String::from_utf8(output.stdout).unwrap(),
            stderr: String::from_utf8(output.stderr).unwrap(),
            code: output.status.code().unwrap(),
        }
    }
}

/// Replaces what differs in every run, with the same length.
fn steady(text: &str) -> String {
    let patterns = [
        (
            r"[0-9a-f]{8}-[0-9a-f]{4}-7[0-9a-f]{3}-[0-9a-f]{4}-[0-9a-f]{12}",
            "01234567-89ab-7cde-f012-3456789abcde",
        ),
        (r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z", "2026-11-16T12:30:00.000Z"),
        (r"\d{4}-\d\d-\d\d \d\d:\d\d", "2026-11-16 12:30"),
        (r"http://127\.0\.0\.1:\d{5}", "http://127.0.0.1:54321"),
    ];
    let mut text = text.to_owned();
    for (pattern, steady) in patterns {
        text = regex::Regex::new(pattern).unwrap().replace_all(&text, steady).into_owned();
    }
    text
}
