//! Accesses from a table: CSV with a line that names its columns.

use std::collections::HashMap;
use std::path::Path;

use gatehouse_core::credential::Password;
use gatehouse_core::{DeviceName, Username};
use serde_json::{Map, Value};

use crate::failure::Failure;
use crate::row_faults::RowFaults;
use crate::text_input;

/// Most bytes of a table: as many as a server reads of a batch.
const BYTES_MAX: u64 = 32 * 1024 * 1024;

/// The columns that a table may have.
const COLUMNS: [&str; 3] = ["username", "password", "deviceName"];

/// Reads a table from a file, or from standard input if that is `-`.
pub(crate) fn read(path: &Path) -> Result<Vec<Value>, Failure> {
    let (source, text) = text_input::read(path, BYTES_MAX)?;
    parse(&source, &text)
}

fn parse(source: &str, text: &str) -> Result<Vec<Value>, Failure> {
    let first = text.lines().next().unwrap_or_default();
    let mut reader = csv::ReaderBuilder::new()
        .delimiter(separator(first))
        .flexible(true)
        .from_reader(text.as_bytes());
    let broken = |bad: csv::Error| Failure::input(format!("{source} is no table: {bad}"));
    let names = read_names(source, reader.headers().map_err(broken)?)?;
    let mut faults = RowFaults::of(source);
    let mut seen: HashMap<String, u64> = HashMap::new();
    let mut items = Vec::new();
    for record in reader.records() {
        let record = record.map_err(broken)?;
        let line = record.position().map_or(0, csv::Position::line);
        if record.len() != names.len() {
            let (n, wanted) = (record.len(), names.len());
            faults.add(line, format!("has {n} cells, where the first line names {wanted} columns"));
            continue;
        }
        let mut item = Map::new();
        for (name, cell) in names.iter().zip(&record).filter(|(_, cell)| !cell.is_empty()) {
            if let Err(fault) = check(name, cell) {
                faults.add(line, fault);
            }
            if *name == "username" {
                if let Some(before) = seen.get(cell) {
                    faults.add(line, format!("username `{cell}` stands on line {before} already"));
                } else {
                    seen.insert(cell.to_owned(), line);
                }
            }
            item.insert((*name).to_owned(), cell.into());
        }
        items.push(Value::Object(item));
    }
    faults.none()?;
    if items.is_empty() {
        return Err(Failure::input(format!("{source} has no rows below its first line")));
    }
    Ok(items)
}

/// What stands between the cells: spreadsheets of some countries write semicolons, and some people tabs.
fn separator(first_line: &str) -> u8 {
    let count = |sign: u8| first_line.bytes().filter(|byte| *byte == sign).count();
    [b',', b';', b'\t'].into_iter().rev().max_by_key(|sign| count(*sign)).unwrap_or(b',')
}

fn read_names(source: &str, head: &csv::StringRecord) -> Result<Vec<&'static str>, Failure> {
    let known = |cell: &str| {
        let plain = |name: &str| name.to_lowercase().replace([' ', '_', '-'], "");
        COLUMNS.into_iter().find(|name| plain(name) == plain(cell.trim()))
    };
    let mut names = Vec::new();
    for cell in head {
        let Some(name) = known(cell) else {
            return Err(Failure::input(format!(
                "{source}, line 1: `{}` is no column; the first line names them: {}, or some of these",
                crate::screen::cut(cell, 64),
                COLUMNS.join(",")
            )));
        };
        if names.contains(&name) {
            return Err(Failure::input(format!("{source}, line 1: {name} is there twice")));
        }
        names.push(name);
    }
    Ok(names)
}

/// What no access could have. A password is never repeated.
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
