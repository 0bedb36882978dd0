//! Environment variables, in place of flags that are not given.
//!
//! Not clap's `env`, which treats a variable as a typed flag and shows it in every usage line.

use clap::ValueEnum;

use crate::failure::Failure;
use crate::terminal::output::OutputFormat;

/// The flag, or else its variable. An empty variable counts as unset.
pub(crate) fn flag_or_variable(
    flag: Option<&str>,
    variable: &str,
) -> Result<Option<String>, Failure> {
    if let Some(flag) = flag {
        return Ok(Some(flag.to_owned()));
    }
    match std::env::var(variable) {
        Ok(value) => Ok(Some(value).filter(|it| !it.is_empty())),
        Err(std::env::VarError::NotPresent) => Ok(None),
        Err(_) => Err(Failure::input(format!("{variable} must be UTF-8"))),
    }
}

/// The output format, from the flag or the variable.
pub(crate) fn output_format(flag: Option<OutputFormat>) -> Result<Option<OutputFormat>, Failure> {
    match (flag, flag_or_variable(None, "GATEHOUSE_OUTPUT")?) {
        (Some(format), _) => Ok(Some(format)),
        (None, None) => Ok(None),
        (None, Some(word)) => OutputFormat::from_str(&word, true).map(Some).map_err(|_| {
            let message = format!("GATEHOUSE_OUTPUT must be table, json or csv, not `{word}`");
            Failure::input(message)
        }),
    }
}
