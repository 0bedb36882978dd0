//! Transport errors in plain words, without the platform's address.

use std::error::Error;
use std::io;

use rustix::io::Errno;

use super::resolver::NoAllowedAddress;

/// OS errors that mean that this machine is short of files, memory or ports.
const LOCAL_SHORTAGES: [Errno; 4] = [Errno::MFILE, Errno::NFILE, Errno::NOMEM, Errno::ADDRNOTAVAIL];

/// Start of the number at the end of an OS error's text.
const OS_CODE: &str = " (os error ";

/// Meaning of an HTTP client's error.
pub(in crate::client) struct TransportError {
    /// A sentence without its full stop.
    pub(in crate::client) message: String,
    /// Whether a retry may succeed.
    pub(in crate::client) is_transient: bool,
    /// Whether connecting took too long.
    pub(in crate::client) is_timeout: bool,
    /// The OS error if this machine can't open connections. For the log, not for tenants.
    pub(in crate::client) shortage: Option<String>,
}

pub(in crate::client) fn classify(error: reqwest::Error) -> TransportError {
    // The URL's query may hold secrets.
    let error = error.without_url();
    let transient = |message: String| TransportError {
        message,
        is_transient: true,
        is_timeout: false,
        shortage: None,
    };
    let permanent = |message: String| TransportError { is_transient: false, ..transient(message) };
    if let Some(refused) = causes(&error).find_map(|it| it.downcast_ref::<NoAllowedAddress>()) {
        return permanent(format!("the platform can't be reached: {refused}"));
    }
    let messages: Vec<String> = causes(&error).map(ToString::to_string).collect();
    if let Some(why) = messages.iter().find_map(|it| it.strip_prefix(BAD_CERTIFICATE)) {
        return permanent(certificate(why));
    }
    if error.is_connect() && error.is_timeout() {
        let message = "the platform can't be reached: connecting took too long".into();
        return TransportError { is_timeout: true, ..transient(message) };
    }
    // Resolving a name needs a file descriptor too.
    if let Some(shortage) = io_errors(&error).find(|it| is_local_shortage(it)) {
        let message = "the server could not open a connection just now".into();
        return TransportError { shortage: Some(shortage.to_string()), ..transient(message) };
    }
    if error.is_dns() {
        return transient("the platform can't be reached: its name can't be resolved".into());
    }
    let cause = match io_errors(&error).next().map(io::Error::kind) {
        Some(io::ErrorKind::ConnectionRefused) => "the connection was refused".into(),
        Some(io::ErrorKind::ConnectionReset) => "the connection was reset".into(),
        Some(io::ErrorKind::HostUnreachable | io::ErrorKind::NetworkUnreachable) => {
            "there is no way to its network".into()
        }
        Some(io::ErrorKind::UnexpectedEof) => "the connection ended".into(),
        // The innermost cause says most.
        _ => messages.last().map(|it| without_os_code(it).to_owned()).unwrap_or_default(),
    };
    transient(if error.is_connect() {
        format!("the platform can't be reached: {cause}")
    } else {
        format!("the platform's answer is broken: {cause}")
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

fn io_errors<'a>(error: &'a (dyn Error + 'static)) -> impl Iterator<Item = &'a io::Error> {
    causes(error).filter_map(|it| it.downcast_ref::<io::Error>())
}

fn is_local_shortage(error: &io::Error) -> bool {
    error.raw_os_error().is_some_and(|it| LOCAL_SHORTAGES.contains(&Errno::from_raw_os_error(it)))
}

/// An OS error's text without its number.
fn without_os_code(message: &str) -> &str {
    message.split_once(OS_CODE).map_or(message, |(message, _)| message)
}

fn causes<'a>(error: &'a (dyn Error + 'static)) -> impl Iterator<Item = &'a (dyn Error + 'static)> {
    std::iter::successors(Some(error), |&it| it.source())
}

#[cfg(test)]
mod tests;
