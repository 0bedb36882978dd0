//! Accesses from a table: CSV with a line that names its columns.

use std::collections::HashMap;
use std::path::Path;

use gatehouse_core::credential::Password;
use gatehouse_core::label::{LABELS_MAX, TooManyLabels};
use gatehouse_core::{DeviceName, LabelKey, LabelValue, Username};
use gatehouse_vault::ForeignHash;
use serde_json::{Map, Value};

use crate::failure::Failure;
use crate::terminal::row_faults::RowFaults;
use crate::terminal::table_input::{Row, read_rows};
use crate::terminal::text_input;

/// Most bytes of a table: a server's limit for a batch.
const BYTES_MAX: u64 = 32 * 1024 * 1024;

/// Columns that a table may have, besides those of labels.
const COLUMNS: [&str; 4] = ["username", "password", "passwordHash", "deviceName"];

/// Beginning of the name of a label's column.
pub(crate) const LABEL: &str = "label.";

/// A column of a table.
#[derive(Clone, Debug, PartialEq, Eq)]
enum TableColumn {
    /// A field of an access.
    Field(&'static str),
    /// The label with this key.
    Label(LabelKey),
}

/// Reads a table from a file, or from standard input for `-`.
pub(crate) fn read(path: &Path) -> Result<Vec<Value>, Failure> {
    let (source, text) = text_input::read(path, BYTES_MAX)?;
    parse(&source, &text)
}

pub(crate) fn parse(source: &str, text: &str) -> Result<Vec<Value>, Failure> {
    let rows = read_rows(source, text)?;
    let Some((head, rows)) = rows.split_first().filter(|(_, rows)| !rows.is_empty()) else {
        return Err(Failure::input(format!("{source} has no rows below a line of columns")));
    };
    let names = read_names(source, head)?;
    let mut faults = RowFaults::of(source);
    let mut seen: HashMap<&str, u64> = HashMap::new();
    let mut items = Vec::new();
    for Row { line, cells } in rows {
        if cells.len() != names.len() {
            let (n, wanted) = (cells.len(), names.len());
            faults.add(*line, format!("has {n} cells, where the table has {wanted} columns"));
            continue;
        }
        let (mut item, mut labels) = (Map::new(), Map::new());
        for (name, cell) in names.iter().zip(cells).filter(|(_, cell)| !cell.is_empty()) {
            let name = match name {
                TableColumn::Field(name) => *name,
                TableColumn::Label(key) => {
                    if let Err(bad) = cell.parse::<LabelValue>() {
                        faults.add(*line, format!("{LABEL}{key} {bad}"));
                    }
                    labels.insert(key.to_string(), (*cell).into());
                    continue;
                }
            };
            if let Err(fault) = check(name, cell) {
                faults.add(*line, fault);
            }
            if name == "username"
                && let Some(before) = seen.insert(cell, *line)
            {
                faults.add(*line, format!("username `{cell}` is already on line {before}"));
            }
            item.insert(name.to_owned(), (*cell).into());
        }
        if labels.len() > LABELS_MAX {
            faults.add(*line, TooManyLabels(labels.len()));
        }
        if !labels.is_empty() {
            item.insert("labels".into(), labels.into());
        }
        if item.contains_key("password") && item.contains_key("passwordHash") {
            faults.add(*line, "has a password and a passwordHash, of which an access has one");
        }
        items.push(Value::Object(item));
    }
    faults.into_result()?;
    Ok(items)
}

fn read_names(source: &str, head: &Row) -> Result<Vec<TableColumn>, Failure> {
    let known = |cell: &str| {
        if let Some(key) = cell.trim().strip_prefix(LABEL) {
            return key.parse().ok().map(TableColumn::Label);
        }
        let plain = |name: &str| name.to_lowercase().replace([' ', '_', '-'], "");
        let field = COLUMNS.into_iter().find(|name| plain(name) == plain(cell.trim()));
        field.map(TableColumn::Field)
    };
    let mut names = Vec::new();
    let line = head.line;
    for cell in &head.cells {
        let Some(name) = known(cell) else {
            return Err(Failure::input(format!(
                "{source}, line {line}: `{}` is no column; the first line names them: {}, label.KEY, or some of these",
                crate::terminal::screen::cut(cell, 64),
                COLUMNS.join(",")
            )));
        };
        if names.contains(&name) {
            let name = cell.trim();
            return Err(Failure::input(format!("{source}, line {line}: {name} occurs twice")));
        }
        names.push(name);
    }
    Ok(names)
}

/// Checks a cell. The error never repeats a password or its hash.
fn check(name: &str, cell: &str) -> Result<(), String> {
    let has_edge = |cell: &str| cell.trim() != cell;
    match name {
        "username" if has_edge(cell) => {
            Err(format!("username `{cell}` begins or ends with a space"))
        }
        "deviceName" if has_edge(cell) => {
            Err(format!("deviceName `{cell}` begins or ends with a space"))
        }
        "username" => cell.parse::<Username>().map(drop).map_err(|bad| format!("username {bad}")),
        "deviceName" => {
            cell.parse::<DeviceName>().map(drop).map_err(|bad| format!("deviceName {bad}"))
        }
        "passwordHash" => ForeignHash::parse(cell.to_owned())
            .map(drop)
            .map_err(|bad| format!("passwordHash {bad}")),
        _ => Password::new(cell.to_owned()).map(drop).map_err(|bad| format!("password {bad}")),
    }
}

#[cfg(test)]
mod tests;
