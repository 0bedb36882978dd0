//! `gatehouse hub replay`.

use clap::Args;
use reqwest::Method;
use serde_json::json;

use super::hub_id::HubArg;
use crate::client::api::TenantArgs;
use crate::failure::Failure;
use crate::terminal::output::{Column, Fit, OutputFormat, show_one};

/// Send dead letters again, all or some
#[derive(Args)]
#[command(after_help = "\
Examples:
  gatehouse hub replay hub-01a1dd4d-f0c1-7a3e-8b52-9f3d1c000000
  gatehouse hub replay hub-01a1dd4d-f0c1-7a3e-8b52-9f3d1c000000 4711 4713")]
pub(crate) struct Replay {
    #[command(flatten)]
    hub: HubArg,
    /// Event numbers, as `gatehouse hub dead-letters` shows them [default: all dead letters]
    #[arg(value_name = "NUMBER", value_parser = clap::value_parser!(u64).range(1..))]
    numbers: Vec<u64>,
}

const COLUMNS: &[Column] = &[Column::text("REPLAYED", "replayed", Fit::Whole)];

impl Replay {
    pub(crate) async fn run(mut self, tenant_args: &TenantArgs) -> Result<(), Failure> {
        let id = self.hub.id()?;
        self.numbers.sort_unstable();
        self.numbers.dedup();
        let (server, format) = tenant_args.open().await?;
        let body = match self.numbers.as_slice() {
            [] => json!({}),
            numbers => json!({ "eventNumbers": numbers }),
        };
        let request = server.request(Method::POST, &["hub", &id, "replay"]).body(body);
        let replayed = request.success().await?.body;
        let Some(n) = replayed["replayed"].as_u64() else {
            return Err(server.server.not_understood());
        };
        match format {
            OutputFormat::Table => println!("{}", sentence(n)),
            OutputFormat::Json | OutputFormat::Csv => show_one(format, COLUMNS, &replayed)?,
        }
        let n_others = (self.numbers.len() as u64).saturating_sub(n);
        if n_others > 0 {
            eprintln!("no dead letter has {n_others} of the {} numbers", self.numbers.len());
        }
        Ok(())
    }
}

fn sentence(n_replayed: u64) -> String {
    match n_replayed {
        0 => "no dead letters to send again".to_owned(),
        1 => "1 dead letter is sent again".to_owned(),
        n => format!("{n} dead letters are sent again"),
    }
}
