//! Reads the password files of other programs: lines `username:hash`, or a table with the columns `username` and
//! `passwordHash`.

use std::collections::{BTreeMap, HashMap};
use std::path::Path;

use gatehouse_core::label::{LABELS_MAX, TooManyLabels};
use gatehouse_core::{DeviceName, LabelKey, LabelValue, Username};
use gatehouse_vault::{BadForeignHash, ForeignHash};
use serde_json::{Map, Value, json};

use crate::commands::batch::rows::LABEL;
use crate::failure::Failure;
use crate::terminal::screen::cut;
use crate::terminal::table_input::read_rows;
use crate::terminal::text_input;

/// Most bytes of a file: a million lines of the longest hashes.
const BYTES_MAX: u64 = 256 * 1024 * 1024;

/// Columns that a table may have, besides those of labels.
const COLUMNS: [&str; 3] = [USERNAME, HASH, DEVICE_NAME];
const USERNAME: &str = "username";
const HASH: &str = "passwordHash";
const DEVICE_NAME: &str = "deviceName";

/// A column of a table.
#[derive(Clone, Debug, PartialEq, Eq)]
enum ImportColumn {
    Field(&'static str),
    /// The label with this key.
    Label(LabelKey),
}

/// The cells of a line.
#[derive(Default)]
struct Cells<'t> {
    username: &'t str,
    hash: &'t str,
    device_name: &'t str,
    labels: Vec<(&'t LabelKey, &'t str)>,
}

/// A file of usernames and hashes. Lines that can't be imported are in it, too.
pub(crate) struct PasswordFile {
    lines: Vec<Result<Line, (u64, String)>>,
}

/// A line that can be imported.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Line {
    /// Number of the line, from one.
    pub(super) number: u64,
    username: Username,
    device_name: Option<DeviceName>,
    labels: Map<String, Value>,
    hash: ForeignHash,
}

impl Line {
    /// The username.
    pub(super) fn username(&self) -> &str {
        self.username.as_str()
    }

    /// The access to create.
    pub(super) fn item(&self) -> Value {
        let mut item = json!({USERNAME: self.username.as_str(), HASH: self.hash.reveal()});
        if let Some(name) = &self.device_name {
            item[DEVICE_NAME] = name.as_str().into();
        }
        if !self.labels.is_empty() {
            item["labels"] = self.labels.clone().into();
        }
        item
    }
}

impl PasswordFile {
    /// Reads a file, or standard input for `-`.
    pub(super) fn read(path: &Path) -> Result<Self, Failure> {
        let (source, text) = text_input::read(path, BYTES_MAX)?;
        let file = Self::parse(&source, &text)?;
        if file.lines.is_empty() {
            return Err(Failure::input(format!("{source} has no usernames and hashes")));
        }
        Ok(file)
    }

    /// Parses a file. Fails only if it is a table with wrong columns.
    pub(crate) fn parse(source: &str, text: &str) -> Result<Self, Failure> {
        let mut lines = Lines::default();
        if is_table(text) {
            let rows = read_rows(source, text)?;
            let Some((head, rows)) = rows.split_first() else {
                return Ok(Self { lines: lines.all });
            };
            let names = read_names(source, head.line, &head.cells)?;
            for row in rows {
                if row.cells.len() != names.len() {
                    let cells = match row.cells.len() {
                        1 => "1 cell".to_owned(),
                        n => format!("{n} cells"),
                    };
                    let wanted = names.len();
                    let reason = format!("has {cells}, where the table has {wanted} columns");
                    lines.all.push(Err((row.line, reason)));
                    continue;
                }
                let mut cells = Cells::default();
                for (name, cell) in names.iter().zip(&row.cells) {
                    match name {
                        ImportColumn::Field(USERNAME) => cells.username = cell,
                        ImportColumn::Field(HASH) => cells.hash = cell,
                        ImportColumn::Field(_) => cells.device_name = cell,
                        ImportColumn::Label(key) => cells.labels.push((key, cell)),
                    }
                }
                lines.add(row.line, &cells);
            }
        } else {
            for (line, number) in text.lines().zip(1..) {
                if line.is_empty() || line.starts_with('#') {
                    continue;
                }
                match line.split_once(':') {
                    Some((username, hash)) => {
                        lines.add(number, &Cells { username, hash, ..Cells::default() });
                    }
                    None => {
                        let reason =
                            "has no `:` between a username and a hash; a table begins with the \
                                      names of its columns, username and passwordHash"
                                .to_owned();
                        lines.all.push(Err((number, reason)));
                    }
                }
            }
        }
        Ok(Self { lines: lines.all })
    }

    /// Number of lines with a username, or what should be one.
    pub(crate) fn n_lines(&self) -> usize {
        self.lines.len()
    }

    /// The lines that can be imported.
    pub(crate) fn fit(&self) -> impl Iterator<Item = &Line> {
        self.lines.iter().flatten()
    }

    /// The other lines with their numbers and the reasons.
    pub(crate) fn refused(&self) -> Vec<(u64, &str)> {
        let refused = self.lines.iter().filter_map(|it| it.as_ref().err());
        refused.map(|(line, reason)| (*line, reason.as_str())).collect()
    }

    /// The number of lines that can be imported, by their hashes' formats.
    pub(super) fn formats(&self) -> BTreeMap<&'static str, u64> {
        let mut formats = BTreeMap::new();
        self.fit().for_each(|line| *formats.entry(line.hash.format()).or_default() += 1);
        formats
    }
}

/// Lines under construction.
#[derive(Default)]
struct Lines {
    all: Vec<Result<Line, (u64, String)>>,
    /// First line of each username.
    usernames: HashMap<String, u64>,
}

impl Lines {
    fn add(&mut self, number: u64, cells: &Cells<'_>) {
        let line =
            read_line(number, cells).and_then(|line| match self.usernames.get(line.username()) {
                Some(before) => {
                    Err(format!("username `{}` is already on line {before}", line.username()))
                }
                None => {
                    self.usernames.insert(line.username().to_owned(), number);
                    Ok(line)
                }
            });
        self.all.push(line.map_err(|reason| (number, reason)));
    }
}

/// Parses a line. The reason never repeats the hash.
fn read_line(number: u64, cells: &Cells<'_>) -> Result<Line, String> {
    let Cells { username, hash, device_name, labels } = cells;
    for (name, text) in [(USERNAME, *username), (DEVICE_NAME, *device_name)] {
        if text.trim() != text {
            return Err(format!("{name} `{}` begins or ends with a space", cut(text, 64)));
        }
    }
    if username.is_empty() {
        return Err("has no username".into());
    }
    if hash.is_empty() {
        return Err("has no hash".into());
    }
    let hash = hash.trim_end();
    Ok(Line {
        number,
        username: username.parse().map_err(|bad| format!("username {bad}"))?,
        device_name: match *device_name {
            "" => None,
            name => Some(name.parse().map_err(|bad| format!("deviceName {bad}"))?),
        },
        labels: read_labels(labels)?,
        hash: ForeignHash::parse(hash.to_owned()).map_err(|bad| refusal(&bad))?,
    })
}

/// Why a hash is refused, in terms of the command line.
fn refusal(bad: &BadForeignHash) -> String {
    match bad {
        BadForeignHash::ClearText => {
            "passwordHash is no hash but looks like clear text: `gatehouse batch create --from` takes \
             tables with a column password"
                .to_owned()
        }
        BadForeignHash::Weak(scheme) => format!(
            "passwordHash is {scheme}, which is too weak: give the device a new password, or hash \
             its old one as bcrypt"
        ),
        other => format!("passwordHash {other}"),
    }
}

/// Whether the first line names columns.
fn is_table(text: &str) -> bool {
    let mut lines = text.split(['\r', '\n']).map(str::trim);
    let first = lines.find(|it| !it.is_empty() && !it.starts_with("sep="));
    let cells: Vec<String> = first
        .into_iter()
        .flat_map(|line| line.split([',', ';', '\t']))
        .map(|cell| plain(cell.trim_matches('"')))
        .collect();
    let has = |name| cells.contains(&plain(name));
    has(HASH) || (has(USERNAME) && cells.len() > 1)
}

/// A column's name without its spelling.
fn plain(name: &str) -> String {
    name.trim().to_lowercase().replace([' ', '_', '-'], "")
}

/// The labels of a line; an empty cell is none.
fn read_labels(cells: &[(&LabelKey, &str)]) -> Result<Map<String, Value>, String> {
    let mut labels = Map::new();
    for (key, value) in cells.iter().filter(|(_, value)| !value.is_empty()) {
        value.parse::<LabelValue>().map_err(|bad| format!("{LABEL}{key} {bad}"))?;
        labels.insert(key.to_string(), (*value).into());
    }
    match labels.len() {
        n if n > LABELS_MAX => Err(TooManyLabels(n).to_string()),
        _ => Ok(labels),
    }
}

/// The column with this name.
fn read_name(cell: &str) -> Option<ImportColumn> {
    if let Some(key) = cell.trim().strip_prefix(LABEL) {
        return key.parse().ok().map(ImportColumn::Label);
    }
    let name = COLUMNS.into_iter().find(|name| plain(name) == plain(cell));
    name.map(ImportColumn::Field)
}

fn read_names(
    source: &str,
    line: u64,
    head: &csv::StringRecord,
) -> Result<Vec<ImportColumn>, Failure> {
    let mut names = Vec::new();
    for cell in head {
        let Some(name) = read_name(cell) else {
            return Err(Failure::input(format!(
                "{source}, line {line}: `{}` is no column of an import; these are: {},label.KEY",
                cut(cell, 64),
                COLUMNS.join(",")
            )));
        };
        if names.contains(&name) {
            let name = cut(cell.trim(), 80);
            return Err(Failure::input(format!("{source}, line {line}: {name} occurs twice")));
        }
        names.push(name);
    }
    let is_missing = |name: &&'static str| !names.contains(&ImportColumn::Field(name));
    if let Some(missing) = [USERNAME, HASH].into_iter().find(is_missing) {
        return Err(Failure::input(format!(
            "{source}, line {line}: the table has no column {missing}; an import needs username and \
             passwordHash"
        )));
    }
    Ok(names)
}

#[cfg(test)]
mod tests;
