//! `gatehouse connector list`.

use clap::{Args, ValueEnum};
use gatehouse_connectors::ConnectorSummary;

use super::{ConnectorsDir, print};

/// List connectors and their platforms' capabilities
#[derive(Args)]
pub(in crate::commands::connector) struct List {
    /// Output format
    #[arg(long, value_name = "FORMAT", default_value = "table")]
    output: Output,
    #[command(flatten)]
    connectors: ConnectorsDir,
}

#[derive(Clone, Copy, ValueEnum)]
enum Output {
    /// For people
    Table,
    /// For programs
    Json,
    /// For documents
    Markdown,
}

impl List {
    pub(in crate::commands::connector) fn run(self) -> Result<(), String> {
        let manifests = self.connectors.manifests()?;
        let all: Vec<ConnectorSummary> = manifests.all().map(|it| it.summary()).collect();
        match self.output {
            Output::Table => print(&table(&all)),
            Output::Markdown => print(&manifests.markdown()),
            Output::Json => {
                let text = serde_json::to_string_pretty(&all);
                let text = text.map_err(|cause| format!("can't be shown as JSON: {cause}"))?;
                print(&format!("{text}\n"));
            }
        }
        Ok(())
    }
}

fn table(all: &[ConnectorSummary]) -> String {
    let headings = ConnectorSummary::HEADINGS.map(str::to_uppercase);
    let mut rows = vec![headings.each_ref().map(String::as_str)];
    rows.extend(all.iter().map(ConnectorSummary::cells));
    let width = |column: usize| rows.iter().map(|row| row[column].chars().count()).max();
    let widths: Vec<usize> = (0..headings.len()).map(|it| width(it).unwrap_or(0)).collect();
    let line = |row: &[&str; 13]| {
        let cells = row.iter().zip(&widths).map(|(cell, width)| format!("{cell:width$}"));
        let line = cells.collect::<Vec<_>>().join("  ");
        format!("{}\n", line.trim_end())
    };
    rows.iter().map(line).collect()
}
