//! The accesses that a batch changes: IDs from the command line, a file or standard input, or a filter.

use std::path::PathBuf;

use clap::Args;
use gatehouse_core::AccessId;

use crate::failure::Failure;
use crate::terminal::row_faults::RowFaults;
use crate::terminal::table_input::{Row, read_rows};
use crate::terminal::text_input;

/// Most bytes of a file of IDs.
const BYTES_MAX: u64 = 32 * 1024 * 1024;

/// Columns with IDs in the tables that gatehouse writes.
const COLUMNS: [&str; 2] = ["id", "accessId"];

/// Accesses selected by their IDs or by a filter.
#[derive(Args)]
pub(crate) struct BatchSelection {
    /// IDs of accesses
    #[arg(value_name = "ID", required_unless_present_any = ["from", "filter"])]
    ids: Vec<String>,
    /// File with IDs, one per line, or a table (CSV) with a column `id`; `-` for standard input
    #[arg(long, value_name = "FILE")]
    from: Option<PathBuf>,
    /// All accesses that match when the server accepts the batch, in the API's syntax: `&` means and, `;` separates
    /// alternatives, as in 'contractId=C-1&label.site=hamburg'
    #[arg(long, value_name = "EXPRESSION", conflicts_with_all = ["ids", "from"])]
    filter: Option<String>,
}

/// The accesses of a batch, ready to be sent.
pub(crate) enum SelectedAccesses {
    /// Accesses by their IDs, all valid.
    Ids(Vec<String>),
    /// The accesses that match a filter.
    Matching(String),
}

impl BatchSelection {
    /// The selected accesses.
    pub(crate) fn read(&self) -> Result<SelectedAccesses, Failure> {
        match &self.filter {
            Some(filter) => Ok(SelectedAccesses::Matching(filter.clone())),
            None => self.read_ids().map(SelectedAccesses::Ids),
        }
    }

    /// Whether the IDs come from standard input.
    pub(crate) fn reads_stdin(&self) -> bool {
        self.from.as_deref().is_some_and(|path| path.as_os_str() == "-")
    }

    /// The IDs, all valid.
    fn read_ids(&self) -> Result<Vec<String>, Failure> {
        let mut ids = Vec::new();
        for given in &self.ids {
            ids.push(read_id(given).map_err(Failure::input)?);
        }
        if let Some(path) = &self.from {
            let (source, text) = text_input::read(path, BYTES_MAX)?;
            ids.extend(parse(&source, &text)?);
        }
        Ok(ids)
    }
}

pub(crate) fn parse(source: &str, text: &str) -> Result<Vec<String>, Failure> {
    let rows = read_rows(source, text)?;
    let is_name = |cell: &str| COLUMNS.iter().any(|name| name.eq_ignore_ascii_case(cell.trim()));
    let named = rows.first().and_then(|head| head.cells.iter().position(is_name));
    if named.is_none() && rows.first().is_some_and(|head| head.cells.len() > 1) {
        return Err(Failure::input(format!("{source}: no column is called `id`")));
    }
    let mut faults = RowFaults::of(source);
    let mut ids = Vec::new();
    for Row { line, cells } in rows.iter().skip(usize::from(named.is_some())) {
        let cell = cells.get(named.unwrap_or(0)).map(str::trim).filter(|cell| !cell.is_empty());
        match cell.map(read_id) {
            Some(Ok(id)) => ids.push(id),
            Some(Err(fault)) => faults.add(*line, fault),
            None => faults.add(*line, "has no ID"),
        }
    }
    faults.into_result()?;
    if ids.is_empty() {
        return Err(Failure::input(format!("{source} has no IDs")));
    }
    Ok(ids)
}

fn read_id(text: &str) -> Result<String, String> {
    let id = text.trim().to_ascii_lowercase();
    match id.parse::<AccessId>() {
        Ok(_) => Ok(id),
        Err(_) => Err(format!(
            "`{}` is no access ID: they are like 01a1dd3f-f1be-708c-81bb-51208c72ed9c",
            crate::terminal::screen::cut(text, 64)
        )),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const A: &str = "01a1dd3f-f1be-708c-81bb-51208c72ed9c";
    const B: &str = "01a1dd3f-f1be-708c-81bb-51208c72ed9d";

    #[test]
    fn lists_and_tables_of_ids_are_read() {
        for text in [
            format!("{A}\n{B}\n"),
            format!("{}\r\n\r\n{B}", A.to_uppercase()),
            format!("id\n{A}\n{B}\n"),
            format!("name,id,status\npump,{A},ACTIVE\n\"pump, 2\",{B},ACTIVE\n"),
            format!("index,accessId\n1,{A}\n2,{B}\n"),
            format!("id;username\r\n{A};u\r\n{B};v\r\n"),
        ] {
            assert_eq!(parse("ids", &text).unwrap(), [A, B], "{text}");
        }
    }

    #[test]
    fn invalid_ids_are_reported_with_their_lines() {
        let message = |text: &str| parse("ids", text).unwrap_err().message().to_owned();
        let several = message(&format!("{A}\npump-7\n{B}\n12\n"));
        assert!(several.contains("line 2: `pump-7` is no access ID"), "{several}");
        assert!(several.contains("line 4: `12` is no access ID"), "{several}");
        assert!(message("").contains("has no IDs"));
        assert!(message("id\n").contains("has no IDs"));
        assert!(message("name,status\na,b\n").contains("no column is called `id`"));
        assert!(message(&format!("name,id\na,\nb,{A}\n")).contains("line 2: has no ID"));
    }
}
