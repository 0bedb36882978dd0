//! Asking whoever sits at the terminal, and never a script.
//!
//! The terminal itself is asked: what comes in on standard input may be a list that is piped on.

use std::fs::File;
use std::io::{self, BufRead, BufReader, IsTerminal, Write};

use crate::failure::{Failure, Kind};
use crate::terminal::screen::harmless_lines;

/// The terminal of whoever sits there.
const TERMINAL: &str = "/dev/tty";

/// Whether somebody sits there who sees a question and can answer it.
pub(crate) fn can_be_asked() -> bool {
    io::stderr().is_terminal() && File::open(TERMINAL).is_ok()
}

/// Asks a question: what is typed, or nothing when nobody is there any more.
pub(crate) fn ask(question: &str) -> io::Result<Option<String>> {
    eprint!("{}", harmless_lines(question));
    io::stderr().flush()?;
    let mut typed = String::new();
    let n_bytes = BufReader::new(File::open(TERMINAL)?).read_line(&mut typed)?;
    Ok((n_bytes > 0).then(|| typed.trim().to_lowercase()))
}

/// Asks before something that can't be undone. Where nobody sits, the command itself is the answer.
pub(crate) fn confirm(consequence: &str, is_sure: bool) -> Result<(), Failure> {
    if is_sure || !can_be_asked() {
        return Ok(());
    }
    match ask(&format!("{consequence}\nGo on? [y/N] "))?.as_deref() {
        Some("y" | "yes") => Ok(()),
        _ => Err(Failure::new(Kind::Other, "nothing was changed")
            .advise("answer y, or give --yes, to go on")),
    }
}
