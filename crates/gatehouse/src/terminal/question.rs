//! Questions to the user at the terminal; scripts are never asked.
//!
//! Reads from the terminal itself, because standard input may be a piped list.

use std::fs::File;
use std::io::{self, BufRead, BufReader, IsTerminal, Write};

use crate::failure::{Failure, FailureKind};
use crate::terminal::screen::harmless_lines;

const TERMINAL: &str = "/dev/tty";

/// Whether a user at a terminal can see and answer a question.
pub(crate) fn is_interactive() -> bool {
    io::stderr().is_terminal() && File::open(TERMINAL).is_ok()
}

/// Asks a question: the typed line, or `None` at the end of input.
pub(crate) fn ask(question: &str) -> io::Result<Option<String>> {
    eprint!("{}", harmless_lines(question));
    io::stderr().flush()?;
    let mut typed = String::new();
    let n_bytes = BufReader::new(File::open(TERMINAL)?).read_line(&mut typed)?;
    Ok((n_bytes > 0).then(|| typed.trim().to_lowercase()))
}

/// Asks before an action that can't be undone. A script's command counts as confirmed.
pub(crate) fn confirm(consequence: &str, is_sure: bool) -> Result<(), Failure> {
    if is_sure || !is_interactive() {
        return Ok(());
    }
    match ask(&format!("{consequence}\nGo on? [y/N] "))?.as_deref() {
        Some("y" | "yes") => Ok(()),
        _ => Err(Failure::new(FailureKind::Other, "nothing was changed")
            .advise("answer y, or give --yes, to go on")),
    }
}
