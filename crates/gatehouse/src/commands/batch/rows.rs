//! Accesses from a table: CSV with a line that names its columns.

use std::collections::HashMap;
use std::path::Path;

use gatehouse_core::credential::Password;
use gatehouse_core::{DeviceName, Username};
use serde_json::{Map, Value};

use crate::failure::Failure;
use crate::terminal::row_faults::RowFaults;
use crate::terminal::table_input::{Row, read_rows};
use crate::terminal::text_input;

/// Most bytes of a table: a server's limit for a batch.
const BYTES_MAX: u64 = 32 * 1024 * 1024;

/// Columns that a table may have.
const COLUMNS: [&str; 3] = ["username", "password", "deviceName"];

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
        let mut item = Map::new();
        for (name, cell) in names.iter().zip(cells).filter(|(_, cell)| !cell.is_empty()) {
            if let Err(fault) = check(name, cell) {
                faults.add(*line, fault);
            }
            if *name == "username"
                && let Some(before) = seen.insert(cell, *line)
            {
                faults.add(*line, format!("username `{cell}` is already on line {before}"));
            }
            item.insert((*name).to_owned(), cell.into());
        }
        items.push(Value::Object(item));
    }
    faults.into_result()?;
    Ok(items)
}

fn read_names(source: &str, head: &Row) -> Result<Vec<&'static str>, Failure> {
    let known = |cell: &str| {
        let plain = |name: &str| name.to_lowercase().replace([' ', '_', '-'], "");
        COLUMNS.into_iter().find(|name| plain(name) == plain(cell.trim()))
    };
    let mut names = Vec::new();
    let line = head.line;
    for cell in &head.cells {
        let Some(name) = known(cell) else {
            return Err(Failure::input(format!(
                "{source}, line {line}: `{}` is no column; the first line names them: {}, or some of these",
                crate::terminal::screen::cut(cell, 64),
                COLUMNS.join(",")
            )));
        };
        if names.contains(&name) {
            return Err(Failure::input(format!("{source}, line {line}: {name} occurs twice")));
        }
        names.push(name);
    }
    Ok(names)
}

/// Checks a cell. The error never repeats a password.
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
        _ => Password::new(cell.to_owned()).map(drop).map_err(|bad| format!("password {bad}")),
    }
}

#[cfg(test)]
mod tests;
