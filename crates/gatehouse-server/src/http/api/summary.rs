//! `/{tenantName}/summary`: a tenant's accesses in figures.

use gatehouse_core::rights::Scope;
use http::StatusCode;

use crate::app::Error;
use crate::fields::summary::{DAYS, summary_body};
use crate::http::answer::problem::Problem;
use crate::http::answer::reply::Reply;
use crate::http::route::call::Call;
use crate::http::route::resource::{Need, Operation, ResponseSpec};

pub(in crate::http) const READ: Operation = Operation {
    method: "GET",
    id: "readSummary",
    summary: "Reads the numbers of the tenant's accesses by status and contract, and of the last 90 days",
    need: Need::Scope(Scope::AccessRead),
    responses: &[ResponseSpec {
        description: "The present figures",
        schema: Some("Summary"),
        ..ResponseSpec::BASE
    }],
    run: |call| Box::pin(read(call)),
    ..Operation::BASE
};

async fn read(call: Call) -> Result<Reply, Problem> {
    let summary = call.app().store.summary(call.tenant(), call.app().now(), DAYS).await?;
    let summary = summary.ok_or_else(|| Error::NoTenant(call.tenant().to_string()))?;
    Ok(Reply::json(StatusCode::OK, &summary_body(&summary)))
}
