//! `gatehouse completions` and `gatehouse man`: generated from the definition that parses the command line.

use std::io::{self, Write};
use std::path::PathBuf;

use clap::{Args, Command};
use clap_complete::Shell;

use crate::failure::Failure;

/// Print a script that lets a shell complete commands, flags and values
///
/// bash: gatehouse completions bash > ~/.local/share/bash-completion/completions/gatehouse
///
/// zsh: gatehouse completions zsh > a directory of $fpath, as _gatehouse
///
/// fish: gatehouse completions fish > ~/.config/fish/completions/gatehouse.fish
#[derive(Args)]
pub(crate) struct Completions {
    /// The shell
    #[arg(value_name = "SHELL")]
    shell: Shell,
}

/// Print the manual page, or write those of all commands to a directory
#[derive(Args)]
pub(crate) struct Man {
    /// The directory, such as ~/.local/share/man/man1 [default: the first page on standard output]
    #[arg(long, value_name = "DIR")]
    to: Option<PathBuf>,
}

impl Completions {
    pub(crate) fn run(self, mut command_line: Command) -> Result<(), Failure> {
        let mut script = Vec::new();
        clap_complete::generate(self.shell, &mut command_line, "gatehouse", &mut script);
        Ok(io::stdout().write_all(&script)?)
    }
}

impl Man {
    pub(crate) fn run(self, command_line: Command) -> Result<(), Failure> {
        let mut pages = Vec::new();
        collect(&mut command_line.disable_help_subcommand(true), "gatehouse", &mut pages)?;
        let Some(dir) = self.to else {
            return Ok(pages.first().map_or(Ok(()), |(_, page)| io::stdout().write_all(page))?);
        };
        let shown = dir.display();
        let bad =
            |cause: io::Error| Failure::input(format!("{shown} can't be written to: {cause}"));
        std::fs::create_dir_all(&dir).map_err(bad)?;
        for (name, page) in &pages {
            std::fs::write(dir.join(format!("{name}.1")), page).map_err(bad)?;
        }
        println!("{} pages in {shown}", pages.len());
        Ok(())
    }
}

/// The manual pages of a command and its subcommands, by name.
fn collect(
    command: &mut Command,
    name: &str,
    pages: &mut Vec<(String, Vec<u8>)>,
) -> Result<(), Failure> {
    command.build();
    let page = clap_mangen::Man::new(command.clone())
        .title(name)
        .source(concat!("gatehouse ", env!("CARGO_PKG_VERSION")))
        .manual("gatehouse");
    let mut text = Vec::new();
    page.render(&mut text)?;
    pages.push((name.to_owned(), with_examples(&String::from_utf8_lossy(&text)).into_bytes()));
    for below in command.get_subcommands_mut().filter(|it| !it.is_hide_set()) {
        let name = format!("{name}-{}", below.get_name());
        collect(below, &name, pages)?;
    }
    Ok(())
}

/// Keeps examples line by line, so that they can be copied.
fn with_examples(page: &str) -> String {
    match page.split_once(".SH EXTRA\n") {
        Some((before, examples)) => {
            let (examples, after) = match examples.find("\n.SH ") {
                Some(at) => examples.split_at(at),
                None => (examples.trim_end(), ""),
            };
            let examples = examples.replace("Examples:\n", "");
            format!("{before}.SH EXAMPLES\n.nf\n{examples}\n.fi{after}\n")
        }
        None => page.to_owned(),
    }
}
