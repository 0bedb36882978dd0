//! `/{tenantName}/summary`: a tenant's accesses in figures.

use gatehouse_core::rights::Scope;
use gatehouse_core::{Status, Timestamp};
use gatehouse_store::{Day, Summary, Tally};
use http::StatusCode;
use serde::Serialize;
use serde_json::{Map, Value};

use crate::app::Error;
use crate::http::answer::problem::Problem;
use crate::http::answer::reply::Reply;
use crate::http::route::call::Call;
use crate::http::route::resource::{Answer, Need, Operation};

/// Days that a summary goes back, today among them.
const DAYS: u32 = 90;

pub(in crate::http) const READ: Operation = Operation {
    method: "GET",
    id: "readSummary",
    summary: "Sums up the tenant's accesses by status and contract, and the last 90 days",
    need: Need::Scope(Scope::AccessRead),
    answers: &[Answer {
        what: "The figures, as they are now",
        schema: Some("Summary"),
        ..Answer::BASE
    }],
    run: |call| Box::pin(read(call)),
    ..Operation::BASE
};

async fn read(call: Call) -> Result<Reply, Problem> {
    let summary = call.app().store.summary(call.tenant(), call.app().now(), DAYS).await?;
    let summary = summary.ok_or_else(|| Error::NoTenant(call.tenant().to_string()))?;
    Ok(Reply::json(StatusCode::OK, &SummaryBody::new(&summary)))
}

/// A summary on the wire.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct SummaryBody<'a> {
    total: u64,
    by_status: Map<String, Value>,
    by_contract: Vec<ContractBody<'a>>,
    per_day: Vec<DayBody>,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct ContractBody<'a> {
    contract_id: &'a str,
    product_offering_id: &'a str,
    by_status: Map<String, Value>,
}

#[derive(Serialize)]
struct DayBody {
    date: String,
    created: u64,
    ended: u64,
}

impl<'a> SummaryBody<'a> {
    fn new(summary: &'a Summary) -> Self {
        let tally = summary.tally();
        let contracts = summary.contracts.iter().map(|contract| ContractBody {
            contract_id: contract.contract_id.as_str(),
            product_offering_id: contract.offering_id.as_str(),
            by_status: by_status(&contract.tally),
        });
        Self {
            total: tally.total(),
            by_status: by_status(&tally),
            by_contract: contracts.collect(),
            per_day: summary.days.iter().map(day).collect(),
        }
    }
}

/// Every status, also those that no access has.
fn by_status(tally: &Tally) -> Map<String, Value> {
    let count = |status: Status| (status.as_str().to_owned(), tally.get(status).into());
    Status::ALL.into_iter().map(count).collect()
}

fn day(day: &Day) -> DayBody {
    let date = Timestamp::of_day(day.day).unwrap_or(Timestamp::LATEST).date();
    DayBody { date, created: day.n_created, ended: day.n_ended }
}
