//! Source text with spaces in place of comments and literals, so that what is searched for is found in code alone.
//!
//! Every other byte keeps its offset and its line.

#[cfg(test)]
mod tests;

/// The language of a source text.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Language {
    Rust,
    JavaScript,
}

/// Replaces comments and the contents of literals with spaces. Quotes and line breaks stay.
pub(super) fn blank(text: &str, language: Language) -> String {
    let mut scanner = Scanner { language, source: text.as_bytes(), blanked: Vec::new() };
    scanner.blanked.reserve(text.len());
    scanner.scan_code(false);
    // Whole characters were replaced, so this loses nothing.
    String::from_utf8_lossy(&scanner.blanked).into_owned()
}

/// Copies the source byte by byte; its position is the number of bytes that it has copied.
#[derive(Debug)]
struct Scanner<'text> {
    language: Language,
    source: &'text [u8],
    blanked: Vec<u8>,
}

impl Scanner<'_> {
    /// Scans code to the end of the source, or to the brace that closes a part of a template.
    fn scan_code(&mut self, in_template: bool) {
        let mut n_braces = 0_usize;
        while let Some(byte) = self.peek(0) {
            match byte {
                b'/' if self.is_next(b"//") => self.blank_line(),
                b'/' if self.is_next(b"/*") => self.blank_block_comment(),
                b'/' if self.is_regex_ahead() => self.blank_regex(),
                b'"' => self.blank_quoted(b'"'),
                b'\'' if self.language == Language::JavaScript => self.blank_quoted(b'\''),
                b'\'' if self.is_char_ahead() => self.blank_quoted(b'\''),
                b'`' if self.language == Language::JavaScript => self.blank_template(),
                b'r' if self.raw_string_hashes().is_some() => self.blank_raw_string(),
                b'}' if in_template && n_braces == 0 => return,
                _ => {
                    n_braces = match byte {
                        b'{' => n_braces + 1,
                        b'}' => n_braces.saturating_sub(1),
                        _ => n_braces,
                    };
                    let rest = &self.source[self.blanked.len() + 1..];
                    self.keep(1 + count_until(rest, b"/\"'`r{}"));
                }
            }
        }
    }

    fn blank_line(&mut self) {
        self.blank(count_until(&self.source[self.blanked.len()..], b"\n"));
    }

    /// Comments nest in Rust.
    fn blank_block_comment(&mut self) {
        let mut depth = 0_usize;
        while self.peek(0).is_some() {
            if self.is_next(b"/*") && (depth == 0 || self.language == Language::Rust) {
                depth += 1;
                self.blank(2);
            } else if self.is_next(b"*/") {
                depth -= 1;
                self.blank(2);
                if depth == 0 {
                    return;
                }
            } else {
                self.blank(1);
            }
        }
    }

    fn blank_quoted(&mut self, quote: u8) {
        self.keep(1);
        while let Some(byte) = self.peek(0) {
            match byte {
                b'\\' => self.blank(2),
                _ if byte == quote => return self.keep(1),
                _ => self.blank(1),
            }
        }
    }

    fn blank_template(&mut self) {
        self.keep(1);
        while let Some(byte) = self.peek(0) {
            match byte {
                b'\\' => self.blank(2),
                b'`' => return self.keep(1),
                b'$' if self.is_next(b"${") => {
                    self.keep(2);
                    self.scan_code(true);
                    self.keep(1);
                }
                _ => self.blank(1),
            }
        }
    }

    fn blank_regex(&mut self) {
        self.keep(1);
        let mut in_class = false;
        while let Some(byte) = self.peek(0).filter(|it| *it != b'\n') {
            match byte {
                b'\\' => self.blank(2),
                b'/' if !in_class => return self.keep(1),
                _ => {
                    in_class = byte == b'[' || in_class && byte != b']';
                    self.blank(1);
                }
            }
        }
    }

    fn blank_raw_string(&mut self) {
        let Some(n_hashes) = self.raw_string_hashes() else { return };
        self.keep(1 + n_hashes + 1);
        let end = [b"\"".as_slice(), &b"#".repeat(n_hashes)].concat();
        while self.peek(0).is_some() && !self.is_next(&end) {
            self.blank(1);
        }
        self.keep(end.len());
    }

    /// The number of hashes before the quote of a raw string, if one begins here.
    fn raw_string_hashes(&self) -> Option<usize> {
        let before = self.blanked.last().filter(|it| !matches!(it, b'b' | b'c'));
        if self.language != Language::Rust || before.is_some_and(|it| is_word(*it)) {
            return None;
        }
        let rest = self.source.get(self.blanked.len() + 1..)?;
        let n_hashes = rest.iter().take_while(|it| **it == b'#').count();
        (rest.get(n_hashes) == Some(&b'"')).then_some(n_hashes)
    }

    /// Whether a quote begins a character, and not a lifetime.
    fn is_char_ahead(&self) -> bool {
        if self.peek(1) == Some(b'\\') {
            return true;
        }
        let rest = self.source.get(self.blanked.len() + 2..).unwrap_or_default();
        let n_continued = rest.iter().take_while(|it| **it & 0b1100_0000 == 0b1000_0000).count();
        rest.get(n_continued) == Some(&b'\'')
    }

    /// Whether a slash begins a regular expression: a division has a value before it.
    fn is_regex_ahead(&self) -> bool {
        let before = self.blanked.trim_ascii_end();
        self.language == Language::JavaScript
            && (before.ends_with(b"return")
                || before.last().is_none_or(|it| !is_word(*it) && !b")]}\"'`".contains(it)))
    }

    fn peek(&self, ahead: usize) -> Option<u8> {
        self.source.get(self.blanked.len() + ahead).copied()
    }

    fn is_next(&self, bytes: &[u8]) -> bool {
        self.source[self.blanked.len()..].starts_with(bytes)
    }

    fn keep(&mut self, n_bytes: usize) {
        let rest = &self.source[self.blanked.len()..];
        self.blanked.extend(&rest[..n_bytes.min(rest.len())]);
    }

    fn blank(&mut self, n_bytes: usize) {
        let rest = &self.source[self.blanked.len()..];
        let blanks = rest.iter().take(n_bytes).map(|it| if *it == b'\n' { b'\n' } else { b' ' });
        self.blanked.extend(blanks);
    }
}

/// The number of bytes before the first that is among `ends`.
fn count_until(bytes: &[u8], ends: &[u8]) -> usize {
    bytes.iter().position(|it| ends.contains(it)).unwrap_or(bytes.len())
}

/// Whether a byte can be a part of a name.
pub(super) fn is_word(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || byte == b'_'
}
