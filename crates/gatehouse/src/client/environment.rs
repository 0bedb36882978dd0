//! What the environment says where the command line says nothing.
//!
//! Not clap's own way: that takes what a variable says for a flag that was typed, and shows it in every usage line.

use clap::ValueEnum;

use crate::failure::Failure;
use crate::terminal::output::Form;

/// What a flag says, or else its variable. An empty one says nothing.
pub(crate) fn told(flag: Option<&str>, variable: &str) -> Result<Option<String>, Failure> {
    if let Some(flag) = flag {
        return Ok(Some(flag.to_owned()));
    }
    match std::env::var(variable) {
        Ok(value) => Ok(Some(value).filter(|it| !it.is_empty())),
        Err(std::env::VarError::NotPresent) => Ok(None),
        Err(_) => Err(Failure::input(format!("{variable} must be UTF-8"))),
    }
}

/// In what form something is to be shown, as the flag or the variable says.
pub(crate) fn form(flag: Option<Form>) -> Result<Option<Form>, Failure> {
    match (flag, told(None, "GATEHOUSE_OUTPUT")?) {
        (Some(form), _) => Ok(Some(form)),
        (None, None) => Ok(None),
        (None, Some(word)) => Form::from_str(&word, true).map(Some).map_err(|_| {
            let said = format!("GATEHOUSE_OUTPUT must be table, json or csv, not `{word}`");
            Failure::input(said)
        }),
    }
}
