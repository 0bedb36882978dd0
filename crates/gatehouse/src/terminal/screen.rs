//! Standard output: the terminal's width, its colours, and escaping of control characters.

use std::borrow::Cow;
use std::io::{IsTerminal, Write};

use anstyle::{AnsiColor, Style};
use unicode_width::UnicodeWidthStr;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Screen {
    /// Columns of the terminal; `None` where the output is no terminal and nothing has to fit.
    pub(crate) width: Option<usize>,
    pub(crate) has_colour: bool,
}

/// Width of a terminal that doesn't report one.
const DEFAULT_WIDTH: usize = 80;

impl Screen {
    /// Standard output as it is now.
    pub(crate) fn stdout() -> Self {
        let stdout = std::io::stdout();
        if !stdout.is_terminal() {
            return Self { width: None, has_colour: false };
        }
        let size = terminal_size::terminal_size_of(&stdout);
        let width = size.map_or(DEFAULT_WIDTH, |(width, _)| usize::from(width.0));
        let is_set = |name| std::env::var_os(name).is_some_and(|value| !value.is_empty());
        let is_dumb = std::env::var_os("TERM").is_none_or(|term| term == "dumb");
        Self { width: Some(width.max(1)), has_colour: !is_set("NO_COLOR") && !is_dumb }
    }

    /// A text in a style, where the terminal has styles.
    pub(crate) fn paint(self, style: Style, text: &str) -> String {
        if self.has_colour && !text.is_empty() {
            format!("{style}{text}{style:#}")
        } else {
            text.to_owned()
        }
    }

    /// JSON for this output: escaped for a terminal, unchanged for programs.
    pub(crate) fn json(self, text: &str) -> Cow<'_, str> {
        if self.width.is_some() { harmless_json(text).into() } else { text.into() }
    }

    /// A heading of a column or field.
    pub(crate) fn heading(self, text: &str) -> String {
        self.paint(Style::new().bold(), text)
    }
}

/// Prints a message on standard error.
pub(crate) fn print_notice(text: &str) {
    eprintln!("{}", harmless_lines(text));
}

/// A text of several lines without control characters.
pub(crate) fn harmless_lines(text: &str) -> String {
    text.split('\n').map(harmless).collect::<Vec<_>>().join("\n")
}

/// JSON with control characters escaped: its meaning stays.
pub(crate) fn harmless_json(text: &str) -> String {
    let escaped = |it: char| {
        if is_control(it) && it != '\n' {
            format!("\\u{:04x}", u32::from(it))
        } else {
            it.to_string()
        }
    };
    text.chars().map(escaped).collect()
}

/// Standard output for long foreign texts: a terminal gets them by the line, without control characters.
pub(crate) struct ScreenWriter {
    out: std::io::Stdout,
    is_terminal: bool,
    line: Vec<u8>,
}

impl ScreenWriter {
    pub(crate) fn stdout() -> Self {
        let out = std::io::stdout();
        Self { is_terminal: out.is_terminal(), out, line: Vec::new() }
    }
}

impl Write for ScreenWriter {
    fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
        if !self.is_terminal {
            return self.out.write(bytes);
        }
        for byte in bytes {
            match byte {
                b'\n' => {
                    let line = std::mem::take(&mut self.line);
                    let line = String::from_utf8_lossy(&line);
                    writeln!(self.out, "{}", harmless(line.trim_end_matches('\r')))?;
                }
                byte => self.line.push(*byte),
            }
        }
        Ok(bytes.len())
    }

    fn flush(&mut self) -> std::io::Result<()> {
        self.out.flush()
    }
}

/// The colour of a status or state.
pub(crate) fn status_style(status: &str) -> Style {
    let colour = match status {
        "ACTIVE" | "DONE" | "UP" => AnsiColor::Green,
        "PENDING_ACTIVE" | "PENDING_TERMINATE" | "ACKNOWLEDGED" | "IN_PROGRESS" | "CREATED"
        | "PAUSED" => AnsiColor::Yellow,
        "SUSPENDED" | "FAILED" | "REJECTED" | "DOWN" => AnsiColor::Red,
        "TERMINATED" => AnsiColor::BrightBlack,
        _ => return Style::new(),
    };
    Style::new().fg_color(Some(colour.into()))
}

/// A text without control characters: a device's name must not control the terminal.
pub(crate) fn harmless(text: &str) -> Cow<'_, str> {
    if !text.contains(is_control) {
        return Cow::Borrowed(text);
    }
    Cow::Owned(text.chars().map(|it| if is_control(it) { '\u{fffd}' } else { it }).collect())
}

/// Control characters, and bidirectional controls.
fn is_control(it: char) -> bool {
    it.is_control()
        || matches!(it, '\u{200e}' | '\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}')
}

/// Columns that a text takes.
pub(crate) fn width(text: &str) -> usize {
    text.width()
}

/// As much of a text as fits, with `…` where it is cut.
pub(crate) fn cut(text: &str, width_max: usize) -> Cow<'_, str> {
    if width(text) <= width_max {
        return Cow::Borrowed(text);
    }
    // Characters may be wider together than each alone, so the whole is measured, with the `…`.
    let mut shown = "…".to_owned();
    for (at, it) in text.char_indices() {
        let longer = format!("{}…", &text[..at + it.len_utf8()]);
        if width(&longer) > width_max {
            break;
        }
        shown = longer;
    }
    Cow::Owned(shown)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn texts_are_cut_by_columns() {
        for (text, width_max, expected) in [
            ("pump-7", 6, "pump-7"),
            ("pump-77", 6, "pump-…"),
            ("水泵水泵", 8, "水泵水泵"),
            ("水泵水泵", 7, "水泵水…"),
            ("水泵水泵", 6, "水泵…"),
            ("1\u{fe0f}\u{20e3}2\u{fe0f}\u{20e3}", 2, "1…"),
        ] {
            assert_eq!(cut(text, width_max), expected, "{text} in {width_max}");
        }
    }

    #[test]
    fn control_characters_never_reach_the_terminal() {
        assert_eq!(harmless("pump\u{1b}[2J\r\n"), "pump\u{fffd}[2J\u{fffd}\u{fffd}");
        assert_eq!(harmless("a\u{202e}b"), "a\u{fffd}b");
        assert_eq!(harmless("Pumpe 7 äöü"), "Pumpe 7 äöü");
        assert_eq!(harmless_lines("a\u{1b}\nb"), "a\u{fffd}\nb");
        let json = "{\n \"a\": \"\u{9b}2J ä\"}";
        assert_eq!(harmless_json(json), "{\n \"a\": \"\\u009b2J ä\"}");
    }
}
