//! A place that breaks a rule.

use std::fmt;

/// A place that breaks a rule, and what would be right there.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Finding {
    /// Path of a file or a folder, from the workspace root.
    path: String,
    /// Line in the file, counted from 1; `None` if the finding is about a folder.
    line: Option<usize>,
    /// The fault, and then what would be right.
    text: String,
    /// Further places that the finding is about, a line each.
    places: Vec<String>,
}

impl Finding {
    /// A finding in a line of a file, or in the whole file if `line` is 1.
    pub(super) fn in_file(path: &str, line: usize, text: impl Into<String>) -> Self {
        Self { path: path.to_owned(), line: Some(line), text: text.into(), places: Vec::new() }
    }

    /// A finding about a folder.
    pub(super) fn in_folder(path: &str, text: impl Into<String>) -> Self {
        Self { path: path.to_owned(), line: None, text: text.into(), places: Vec::new() }
    }

    /// Adds further places.
    pub(super) fn with_places(self, places: Vec<String>) -> Self {
        Self { places, ..self }
    }
}

impl fmt::Display for Finding {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { path, line, text, places } = self;
        match line {
            Some(line) => write!(formatter, "{path}:{line}: {text}")?,
            None => write!(formatter, "{path}: {text}")?,
        }
        places.iter().try_for_each(|place| write!(formatter, "\n    {place}"))
    }
}
