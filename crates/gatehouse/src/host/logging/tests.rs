use super::*;
use std::sync::{Arc, Mutex};

#[derive(Clone, Default)]
struct Buffer(Arc<Mutex<Vec<u8>>>);

impl std::io::Write for Buffer {
    fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
        self.0.lock().unwrap().extend_from_slice(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> std::io::Result<()> {
        Ok(())
    }
}

/// The log of `say`.
fn written(json: bool, say: impl FnOnce()) -> String {
    let buffer = Buffer::default();
    let writer = {
        let buffer = buffer.clone();
        move || buffer.clone()
    };
    let layer = if json { json_layer(writer) } else { text_layer(writer, false) };
    let layer = layer.with_filter(level_filter(LogLevel::Info).and(filter_fn(is_logged)));
    tracing::subscriber::with_default(tracing_subscriber::registry().with(layer), say);
    let bytes = buffer.0.lock().unwrap().clone();
    String::from_utf8(bytes).unwrap()
}

/// Text that a token's subject may hold.
const HOSTILE: &str = "a\nb\r\u{1b}[31mred\u{85}\u{2028}\u{202e}x\0 \"q\" {\"level\":\"ERROR\"}";

#[test]
fn nothing_breaks_a_line() {
    let cause = std::io::Error::other(HOSTILE);
    let say = || {
        tracing::info!(subject = HOSTILE, %cause, other = ?HOSTILE, "request");
        tracing::info!("a message with {HOSTILE}");
    };
    let text = written(false, say);
    assert_eq!(text.lines().count(), 2, "{text}");
    assert!(
        text.ends_with('\n') && !text.trim_end_matches('\n').contains(needs_escape_but_line),
        "{text:?}"
    );
    let json = written(true, say);
    let lines: Vec<&str> = json.split_terminator('\n').collect();
    assert_eq!(lines.len(), 2, "{json}");
    let first: serde_json::Value = serde_json::from_str(lines[0]).unwrap();
    assert_eq!((&first["level"], &first["subject"]), (&"INFO".into(), &HOSTILE.into()));
}

fn needs_escape_but_line(c: char) -> bool {
    needs_escape(c) && c != '\n'
}

#[test]
fn a_json_line_has_time_level_and_message() {
    let line = written(true, || {
        let nothing: Option<&str> = None;
        tracing::warn!(status = 503, tenant = "acme", subject = nothing, "request");
    });
    let line: serde_json::Value = serde_json::from_str(&line).unwrap();
    let time = line["timestamp"].as_str().unwrap();
    assert!(time.ends_with('Z') && time.parse::<jiff::Timestamp>().is_ok(), "{time}");
    assert_eq!(line["level"], "WARN");
    assert_eq!(line["message"], "request");
    assert_eq!((&line["status"], &line["tenant"]), (&503.into(), &"acme".into()));
    assert_eq!(line.get("subject"), None, "what isn't known is left out");
}

#[test]
fn a_text_line_is_easy_to_read() {
    let line = written(false, || {
        let route = "/{tenantName}/access";
        tracing::info!(method = "GET", route, status = 200, subject = "ann b", "request");
    });
    let (time, rest) = line.split_once(' ').unwrap();
    assert!(time.parse::<jiff::Timestamp>().is_ok(), "{line}");
    let expected =
        " INFO request method=GET route=/{tenantName}/access status=200 subject=\"ann b\"\n";
    assert_eq!(rest, expected);
}

#[test]
fn spans_are_not_logged() {
    for json in [false, true] {
        let line = written(json, || {
            let span = tracing::info_span!("a span", colour = "blue");
            assert!(span.is_disabled(), "a disabled span costs nothing");
            span.in_scope(|| tracing::info!("logged"));
            tracing::error!(name: "BatchSpanProcessor.ExportError", "logged elsewhere");
        });
        assert_eq!(line.lines().count(), 1, "{line}");
        assert!(line.contains("logged") && !line.contains("blue"), "{line}");
    }
}
