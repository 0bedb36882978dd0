//! Asking whoever sits at the terminal, and never a script.

use std::io::{self, BufRead, Write};

use crate::failure::{Failure, Kind};
use crate::screen::has_somebody_to_ask;

/// Asks before something that can't be undone. Where nobody sits, the command itself is the answer.
pub(crate) fn confirm(consequence: &str, is_sure: bool) -> Result<(), Failure> {
    if is_sure || !has_somebody_to_ask() {
        return Ok(());
    }
    eprint!("{consequence}\nGo on? [y/N] ");
    io::stderr().flush()?;
    let mut answer = String::new();
    io::stdin().lock().read_line(&mut answer)?;
    match answer.trim().to_lowercase().as_str() {
        "y" | "yes" => Ok(()),
        _ => Err(Failure::new(Kind::Other, "nothing was changed")
            .advise("answer y, or give --yes, to go on")),
    }
}
