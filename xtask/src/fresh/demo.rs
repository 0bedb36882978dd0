//! Runs the README's first command, a demo, and the commands that the demo prints for users to try.

use std::time::Instant;

use super::chroot::{FinishedCommand, Network, User};
use super::root_directory::RootDirectory;
use crate::failure::Failure;

/// Figures of a demo that has run.
#[derive(Debug)]
pub(super) struct Demo {
    /// Time from the start of the command, which builds first, until the server listens.
    pub(super) seconds_until_listening: u64,
    /// Number of the demo's commands that were run.
    pub(super) n_commands: usize,
}

/// Exit codes of the commands that demonstrate a failure.
const EXPECTED_FAILURES: [&str; 2] =
    ["ended 5: gatehouse product find", "ended 3: gatehouse product list"];

/// Parts of the output of commands that succeed.
const EXPECTED_OUTPUT: [&str; 6] = [
    "password  ",
    "succeeded  1000",
    "status    SUSPENDED",
    "\"accessId\":",
    "NOT FOUND (1)",
    "! 502 Platform error",
];

/// Runs the demo, and the commands that it prints in a second shell.
pub(super) fn run(root: &RootDirectory, user: User, command: &str) -> Result<Demo, Failure> {
    let start = Instant::now();
    let mut server = root.start(user, Network::None, command)?;
    let mut seconds_until_listening = 0;
    let mut invitation = Vec::new();
    while !invitation.last().is_some_and(|line: &String| line.ends_with("/-/ready")) {
        let ended = || Failure::Trouble(format!("`{command}` has ended; its reasons are above"));
        let line = server.next_line().ok_or_else(ended)?;
        if line.starts_with("listening on ") {
            seconds_until_listening = start.elapsed().as_secs();
        }
        // The lines before are cargo's.
        if line.starts_with("listening on ") || !invitation.is_empty() {
            invitation.push(line);
        }
    }

    // Some of the printed commands use curl, which a bare Debian lacks.
    let get_curl = "apt-get update && apt-get install --yes --no-install-recommends curl";
    root.run(User::Root, Network::Registries, get_curl)?.check(get_curl)?;

    let commands = DemoCommands::read(&invitation);
    let before = root.run(user, Network::None, &commands.script(&commands.before))?;
    let after = commands.after_with(&before).ok_or_else(|| {
        Failure::Trouble("the demo's commands have printed no username and password".to_owned())
    })?;
    let after = root.run(user, Network::None, &commands.script(&after))?;
    let fetch_all = fetch_urls(&invitation)
        .ok_or_else(|| Failure::Trouble("the demo names no address to look at".to_owned()))?;
    root.run(user, Network::None, &fetch_all)?.check("the addresses to look at")?;

    let output: Vec<&String> = before.output.iter().chain(&after.output).collect();
    let unexpected = |line: &&&String| {
        line.starts_with("ended ") && !EXPECTED_FAILURES.iter().any(|it| line.starts_with(it))
    };
    if let Some(line) = output.iter().find(unexpected) {
        return Err(Failure::Trouble(format!("a command of the demo failed: {line}")));
    }
    if let Some(part) =
        EXPECTED_OUTPUT.iter().find(|part| !output.iter().any(|line| line.contains(**part)))
    {
        return Err(Failure::Trouble(format!("the demo's commands have not printed `{part}`")));
    }
    let is_command =
        |line: &&String| line.starts_with("  gatehouse ") || line.starts_with("  curl ");
    Ok(Demo { seconds_until_listening, n_commands: invitation.iter().filter(is_command).count() })
}

/// The indented lines of the demo's output.
#[derive(Debug)]
struct DemoCommands {
    exports: String,
    /// Commands before the first that needs a username and a password of an earlier one.
    before: String,
    after: String,
}

impl DemoCommands {
    fn read(invitation: &[String]) -> Self {
        let indented = invitation.iter().filter(|line| line.starts_with("  "));
        let (exports, rest): (Vec<&String>, Vec<&String>) =
            indented.partition(|line| line.starts_with("  export "));
        let filled_in =
            rest.iter().position(|line| line.contains("username and password from above"));
        let (before, after) = rest.split_at(filled_in.unwrap_or(rest.len()));
        let text = |lines: &[&String]| lines.iter().map(|line| format!("{line}\n")).collect();
        Self { exports: text(&exports), before: text(before), after: text(after) }
    }

    /// The later commands, with the username and the password that the earlier ones have printed.
    fn after_with(&self, before: &FinishedCommand) -> Option<String> {
        let answer = before.output.iter().find(|line| line.contains("\"password\":\""))?;
        let field = |name: &str| answer.split(&format!("\"{name}\":\"")).nth(1)?.split('"').next();
        let (username, password) = (field("username")?, field("password")?);
        let filled = self.after.replacen("…", username, 1);
        Some(filled.replacen("…", password, 1))
    }

    /// A command that runs `lines` in one shell, and prints each that fails.
    fn script(&self, lines: &str) -> String {
        // The first echo ends a line of output without a line break.
        let trap = r#"trap 'code=$?; echo; echo "ended $code: $BASH_COMMAND"' ERR"#;
        let exports = &self.exports;
        format!(
            "cat >~/demo.sh <<'END'\n{exports}{trap}\n{lines}echo\nEND\nbash ~/demo.sh </dev/null"
        )
    }
}

/// A command that fetches each URL in the demo's last lines; `None` if there is no URL.
fn fetch_urls(invitation: &[String]) -> Option<String> {
    let last = invitation.iter().skip_while(|line| !line.starts_with("To look at: "));
    let words = last.flat_map(|line| line.split([' ', ',', '(']));
    let addresses: Vec<&str> = words.filter(|word| word.starts_with("http://")).collect();
    let fetch = |it: &&str| format!("curl --fail --silent --show-error --output /dev/null {it}");
    let commands: Vec<String> = addresses.iter().map(fetch).collect();
    (!commands.is_empty()).then(|| commands.join(" && "))
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::process::ExitStatusExt;
    use std::process::ExitStatus;

    fn lines(text: &str) -> Vec<String> {
        text.lines().map(String::from).collect()
    }

    #[test]
    fn printed_commands_become_two_scripts() {
        let printed = lines(
            "In another terminal:\n  export A=1\n\n  # a thing\n  gatehouse access list\n\n  \
             # put in the username and password from above\n  curl -d '{\"username\": \"…\", \"password\": \"…\"}'",
        );
        let commands = DemoCommands::read(&printed);
        assert_eq!(commands.exports, "  export A=1\n");
        assert_eq!(commands.before, "  # a thing\n  gatehouse access list\n");
        let output = lines("{\"id\":\"1\",\"username\":\"u-7\",\"password\":\"secret\"}");
        let before = FinishedCommand { status: ExitStatus::from_raw(0), output };
        let after = commands.after_with(&before).unwrap();
        assert!(
            after.ends_with("curl -d '{\"username\": \"u-7\", \"password\": \"secret\"}'\n"),
            "{after}"
        );
    }

    #[test]
    fn every_address_to_look_at_is_fetched() {
        let printed = lines("To look at: http://h/a (all of it), http://h/b\nand http://h/-/ready");
        let command = fetch_urls(&printed).unwrap();
        assert_eq!(command.matches("http://h/").count(), 3, "{command}");
        assert_eq!(fetch_urls(&lines("See http://h/a")), None);
    }
}
