//! Text from a file or standard input: tables, lists, and secrets, because a command line is visible to every process.

use std::io::{IsTerminal, Read};
use std::path::Path;

use crate::failure::Failure;

const SECRET_BYTES_MAX: u64 = 64 * 1024;

/// Reads a secret, without the end of its line.
pub(crate) fn read_secret(path: &Path) -> Result<String, Failure> {
    if path == Path::new("-") && std::io::stdin().is_terminal() {
        return ask_for_secret("Secret: ");
    }
    let (source, text) = read(path, SECRET_BYTES_MAX)?;
    let secret = without_line_end(&text);
    if secret.is_empty() {
        return Err(Failure::input(format!("{source} is empty, where a secret is expected")));
    }
    Ok(secret.to_owned())
}

/// A flag's secret: the text itself, or `@FILE` for a file's content (`@-` for standard input), which doesn't show in
/// the process list.
pub(crate) fn secret_or_file(text: &str) -> Result<String, Failure> {
    match text.strip_prefix('@') {
        Some(path) => read_secret(Path::new(path)),
        None => Ok(text.to_owned()),
    }
}

/// Asks the user for a secret, without echo.
pub(crate) fn ask_for_secret(prompt: &str) -> Result<String, Failure> {
    let typed = rpassword::prompt_password(prompt);
    let typed =
        typed.map_err(|cause| Failure::input(format!("the terminal can't be read: {cause}")))?;
    if typed.is_empty() {
        return Err(Failure::input("the input is empty, where a secret is expected"));
    }
    Ok(typed)
}

fn without_line_end(text: &str) -> &str {
    let line = text.strip_suffix('\n').unwrap_or(text);
    line.strip_suffix('\r').unwrap_or(line)
}

/// Reads a whole file, or standard input for `-`, as text. Also returns its name for messages.
pub(crate) fn read(path: &Path, bytes_max: u64) -> Result<(String, String), Failure> {
    let is_stdin = path == Path::new("-");
    let source = if is_stdin { "standard input".to_owned() } else { path.display().to_string() };
    let mut bytes = Vec::new();
    let read = if is_stdin {
        std::io::stdin().lock().take(bytes_max + 1).read_to_end(&mut bytes)
    } else {
        std::fs::File::open(path).and_then(|file| file.take(bytes_max + 1).read_to_end(&mut bytes))
    };
    read.map_err(|cause| Failure::input(format!("{source} can't be read: {cause}")))?;
    if bytes.len() as u64 > bytes_max {
        return Err(Failure::input(format!("{source} is larger than {} KiB", bytes_max >> 10)));
    }
    let text = String::from_utf8(bytes).map_err(|bad| {
        let valid = &bad.as_bytes()[..bad.utf8_error().valid_up_to()];
        let line = 1 + valid.iter().filter(|byte| **byte == b'\n').count();
        Failure::input(format!("{source}, line {line}: this is not UTF-8"))
            .advise("it must be text in UTF-8")
    })?;
    // Spreadsheets begin UTF-8 files with a byte order mark.
    let text = text.strip_prefix('\u{feff}').map(str::to_owned).unwrap_or(text);
    Ok((source, text))
}
