//! An error with all that caused it, as one line for the log.

/// An error with everything that caused it.
pub(in crate::http) fn chain(error: &dyn std::error::Error) -> Box<str> {
    let source = error.source().map(|source| format!(": {}", chain(source))).unwrap_or_default();
    format!("{error}{source}").into_boxed_str()
}
