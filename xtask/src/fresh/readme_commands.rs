//! The two commands at the beginning of the README, word for word.

use std::fs;

use crate::cargo;
use crate::failure::Failure;

/// The README's commands.
#[derive(Debug)]
pub(super) struct ReadmeCommands {
    commands: Vec<String>,
}

impl ReadmeCommands {
    pub(super) fn read() -> Result<Self, Failure> {
        let path = cargo::workspace_root().join("README.md");
        let text = fs::read_to_string(&path)
            .map_err(|cause| Failure::Trouble(format!("{}: {cause}", path.display())))?;
        Self::parse(&text).ok_or_else(|| {
            Failure::Trouble(
                "README.md doesn't begin with two blocks of one command each".to_owned(),
            )
        })
    }

    fn parse(text: &str) -> Option<Self> {
        let blocks = text.split("```").skip(1).step_by(2);
        let commands: Vec<String> = blocks
            .filter_map(|it| it.strip_prefix("sh\n"))
            .take(2)
            .map(|it| it.trim().to_owned())
            .collect();
        let is_one_each = commands.len() == 2 && commands.iter().all(|it| it.lines().count() == 1);
        is_one_each.then_some(Self { commands })
    }

    /// The command that builds and runs gatehouse with a demo estate.
    pub(super) fn run_command(&self) -> &str {
        &self.commands[0]
    }

    /// The command that installs the tools of the tests, and runs the tests.
    pub(super) fn test_command(&self) -> &str {
        &self.commands[1]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_two_blocks_are_the_commands() {
        let text = "# It\n```sh\nrun it\n```\nand\n```sh\ntest it\n```\n```json\n{}\n```\n```sh\nmore\n```\n";
        let readme = ReadmeCommands::parse(text).unwrap();
        assert_eq!((readme.run_command(), readme.test_command()), ("run it", "test it"));
        assert!(ReadmeCommands::parse("```sh\none\ntwo\n```\n```sh\nthree\n```").is_none());
        assert!(ReadmeCommands::parse("```sh\nrun it\n```").is_none());
    }
}
