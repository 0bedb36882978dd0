//! Exchanges with a platform as text, without control characters.

use gatehouse_connectors::{Exchange, Failure, ProductParts, ShownResponse};
use gatehouse_core::Product;
use gatehouse_core::product::Property;
use http::HeaderName;
use serde_json::Value;

/// Lines of a response's body that are shown without `--full`.
const LINES_MAX: usize = 24;

/// Characters of a line that are shown without `--full`.
const LINE_CHARS_MAX: usize = 200;

/// Headers about the connection or for browsers, which are shown only with `--full`.
const MINOR_HEADERS: [&str; 16] = [
    "accept",
    "accept-encoding",
    "alt-svc",
    "cache-control",
    "connection",
    "content-length",
    "content-security-policy",
    "date",
    "keep-alive",
    "pragma",
    "server",
    "strict-transport-security",
    "transfer-encoding",
    "user-agent",
    "vary",
    "x-content-type-options",
];

/// A request and its response.
pub(in crate::commands::connector) fn exchange(
    n: usize,
    exchange: &Exchange<'_>,
    is_full: bool,
) -> String {
    let Exchange { kind, method, url, .. } = exchange;
    let mut text = format!("[{n}] {}: {method} {}\n", kind.as_str(), plain(url));
    text += &headers(">", &exchange.headers, is_full);
    text += &body(">", &exchange.body, is_full);
    let took = exchange.took.as_millis();
    match &exchange.result {
        Ok(ShownResponse { status, headers: received, body: shown }) => {
            text += &format!("    < {status}, after {took} ms\n");
            text += &headers("<", received, is_full);
            text += &body("<", shown, is_full);
        }
        Err(failure) => {
            text += &format!("    < no answer, after {took} ms: {}\n", plain(&failure.detail));
        }
    }
    text + "\n"
}

fn headers(arrow: &str, headers: &[(HeaderName, String)], is_full: bool) -> String {
    let shown =
        headers.iter().filter(|(name, _)| is_full || !MINOR_HEADERS.contains(&name.as_str()));
    shown.map(|(name, value)| format!("    {arrow} {name}: {}\n", plain(value))).collect()
}

fn body(arrow: &str, body: &str, is_full: bool) -> String {
    if body.is_empty() {
        return String::new();
    }
    let pretty = serde_json::from_str::<Value>(body).ok();
    let pretty = pretty.and_then(|it| serde_json::to_string_pretty(&it).ok());
    let lines: Vec<&str> = pretty.as_deref().unwrap_or(body).lines().collect();
    let n_shown = if is_full { lines.len() } else { lines.len().min(LINES_MAX) };
    let mut text = String::new();
    for line in &lines[..n_shown] {
        text += &format!("    {arrow} {}\n", shortened(&plain(line), is_full));
    }
    match lines.len() - n_shown {
        0 => {}
        n => text += &format!("    {arrow} … {n} more lines; --full shows all\n"),
    }
    text
}

fn shortened(line: &str, is_full: bool) -> String {
    match line.char_indices().nth(LINE_CHARS_MAX) {
        Some((end, _)) if !is_full => format!("{}…", &line[..end]),
        _ => line.to_owned(),
    }
}

/// A product's requested parts.
pub(in crate::commands::connector) fn product(product: &Product, parts: ProductParts) -> String {
    let connection = &product.connection;
    let mut text = format!("product {}\n", plain(&connection.local_id));
    let mut line = |name: &str, value: &str| text += &format!("    {name:13}  {}\n", plain(value));
    if parts.status {
        let note = connection.platform_status.as_ref();
        let note = note.map(|it| format!(" (the platform says {it})")).unwrap_or_default();
        line("status", &format!("{}{note}", connection.status));
    }
    line("connectivity", connection.connectivity.as_str());
    if parts.characteristics {
        for (kind, value) in &connection.identifiers {
            line(kind.as_str(), value);
        }
        for imei in &connection.imeis {
            line("IMEI", imei);
        }
    }
    if parts.properties {
        for Property { name, value } in &connection.properties {
            line("property", &format!("{name} = {value}"));
        }
    }
    text
}

/// A failure, with the platform's response.
pub(in crate::commands::connector) fn failure(failure: &Failure) -> String {
    let mut text = format!("FAILED  {}\n", plain(&failure.detail));
    if let Some(response) = &failure.response {
        let shown = if response.body.is_empty() {
            response.message.as_deref()
        } else {
            Some(&*response.body)
        };
        let shown = plain(shown.unwrap_or_default());
        text += &format!("    the platform says: {} {shown}\n", response.status);
    }
    if let Some(wait) = failure.retry_after {
        text += &format!("    it asks for a pause of {} s\n", wait.as_secs());
    }
    text
}

/// A text without control characters.
fn plain(text: &str) -> String {
    text.chars().map(|it| if it.is_control() { '\u{fffd}' } else { it }).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn long_bodies_are_cut_without_full() {
        let long = serde_json::json!((0..100).collect::<Vec<_>>()).to_string();
        let cut = body("<", &long, false);
        assert_eq!(cut.lines().count(), LINES_MAX + 1);
        assert!(cut.ends_with("    < … 78 more lines; --full shows all\n"), "{cut}");
        assert_eq!(body("<", &long, true).lines().count(), 102);
        let wide = "x".repeat(LINE_CHARS_MAX + 1);
        assert!(body("<", &wide, false).ends_with("x…\n"));
        assert!(body("<", &wide, true).ends_with("xx\n"));
        assert_eq!(body("<", "", true), "");
    }

    #[test]
    fn a_platforms_text_moves_no_cursor() {
        assert_eq!(body("<", "a\u{1b}[2J\rb\nc", false), "    < a\u{fffd}[2J\u{fffd}b\n    < c\n");
    }

    #[test]
    fn minor_headers_are_shown_only_with_full() {
        let name = HeaderName::from_static;
        let all = [(name("date"), "now".to_owned()), (name("x-next"), "3".to_owned())];
        assert_eq!(headers("<", &all, false), "    < x-next: 3\n");
        assert_eq!(headers("<", &all, true), "    < date: now\n    < x-next: 3\n");
    }
}
