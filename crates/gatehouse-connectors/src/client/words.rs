//! Transport errors in plain words, without the platform's address.

use std::error::Error;
use std::io;

use rustix::io::Errno;

use super::resolver::NowhereToGo;

/// OS errors that mean that this machine is short of files, memory or ports.
const OF_THIS_MACHINE: [Errno; 4] = [Errno::MFILE, Errno::NFILE, Errno::NOMEM, Errno::ADDRNOTAVAIL];

/// Start of the number at the end of an OS error's text.
const NUMBERED: &str = " (os error ";

/// Meaning of an HTTP client's error.
pub(in crate::client) struct Trouble {
    /// A sentence without its full stop.
    pub(in crate::client) words: String,
    /// Whether a retry may succeed.
    pub(in crate::client) is_passing: bool,
    /// Whether connecting took too long.
    pub(in crate::client) is_timeout: bool,
    /// The OS error if this machine can't open connections. For the log, not for tenants.
    pub(in crate::client) lack: Option<String>,
}

/// Classifies an HTTP client's error.
pub(in crate::client) fn trouble(error: reqwest::Error) -> Trouble {
    // The URL's query may hold secrets.
    let error = error.without_url();
    let passing =
        |words: String| Trouble { words, is_passing: true, is_timeout: false, lack: None };
    let lasting = |words: String| Trouble { is_passing: false, ..passing(words) };
    if let Some(nowhere) = causes(&error).find_map(|it| it.downcast_ref::<NowhereToGo>()) {
        return lasting(format!("the platform can't be reached: {nowhere}"));
    }
    let told: Vec<String> = causes(&error).map(ToString::to_string).collect();
    if let Some(why) = told.iter().find_map(|it| it.strip_prefix(BAD_CERTIFICATE)) {
        return lasting(certificate(why));
    }
    if error.is_connect() && error.is_timeout() {
        let words = "the platform can't be reached: connecting took too long".into();
        return Trouble { is_timeout: true, ..passing(words) };
    }
    // Resolving a name needs a file descriptor too.
    if let Some(lack) = of_system(&error).find(|it| is_of_this_machine(it)) {
        let words = "the server could not open a connection just now".into();
        return Trouble { lack: Some(lack.to_string()), ..passing(words) };
    }
    if error.is_dns() {
        return passing("the platform can't be reached: its name can't be resolved".into());
    }
    let how = match of_system(&error).next().map(io::Error::kind) {
        Some(io::ErrorKind::ConnectionRefused) => "the connection was refused".into(),
        Some(io::ErrorKind::ConnectionReset) => "the connection was reset".into(),
        Some(io::ErrorKind::HostUnreachable | io::ErrorKind::NetworkUnreachable) => {
            "there is no way to its network".into()
        }
        Some(io::ErrorKind::UnexpectedEof) => "the connection ended".into(),
        // The innermost cause says most.
        _ => told.last().map(|it| unnumbered(it).to_owned()).unwrap_or_default(),
    };
    passing(if error.is_connect() {
        format!("the platform can't be reached: {how}")
    } else {
        format!("the platform's answer is broken: {how}")
    })
}

/// Prefix of rustls's messages about a certificate.
const BAD_CERTIFICATE: &str = "invalid peer certificate: ";

fn certificate(why: &str) -> String {
    let why = if why.starts_with("certificate expired") {
        "the certificate has expired".into()
    } else if why.starts_with("certificate not valid yet") {
        "the certificate is not valid yet".into()
    } else if why.starts_with("certificate not valid for name") {
        "the certificate is another host's".into()
    } else if why.starts_with("UnknownIssuer") {
        "the certificate is not trusted: its issuer is unknown".into()
    } else {
        format!("the certificate is not trusted: {why}")
    };
    format!("the platform can't be reached: {why}")
}

/// I/O errors among an error's causes.
fn of_system<'a>(error: &'a (dyn Error + 'static)) -> impl Iterator<Item = &'a io::Error> {
    causes(error).filter_map(|it| it.downcast_ref::<io::Error>())
}

fn is_of_this_machine(error: &io::Error) -> bool {
    error.raw_os_error().is_some_and(|it| OF_THIS_MACHINE.contains(&Errno::from_raw_os_error(it)))
}

/// An OS error's text without its number.
fn unnumbered(words: &str) -> &str {
    words.split_once(NUMBERED).map_or(words, |(words, _)| words)
}

/// An error and its causes.
fn causes<'a>(error: &'a (dyn Error + 'static)) -> impl Iterator<Item = &'a (dyn Error + 'static)> {
    std::iter::successors(Some(error), |&it| it.source())
}

#[cfg(test)]
mod tests;
