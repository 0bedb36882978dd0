//! `gatehouse completions` and `gatehouse man`: what shells and manuals know of the command line, made of the same
//! description that reads it.

use std::io::{self, Write};
use std::path::PathBuf;

use clap::{Args, Command};
use clap_complete::Shell;

use crate::failure::Failure;

/// Print what a shell needs to complete commands, flags and values
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
        let Some(dir) = self.to else {
            let mut page = Vec::new();
            clap_mangen::Man::new(command_line).render(&mut page)?;
            return Ok(io::stdout().write_all(&page)?);
        };
        let shown = dir.display();
        let bad =
            |cause: io::Error| Failure::input(format!("{shown} can't be written to: {cause}"));
        std::fs::create_dir_all(&dir).map_err(bad)?;
        clap_mangen::generate_to(command_line, &dir).map_err(bad)?;
        let n = std::fs::read_dir(&dir).map_err(bad)?.flatten().filter(is_page).count();
        println!("{n} pages in {shown}");
        Ok(())
    }
}

fn is_page(entry: &std::fs::DirEntry) -> bool {
    let name = entry.file_name();
    let name = name.to_string_lossy();
    name.starts_with("gatehouse") && name.ends_with(".1")
}
