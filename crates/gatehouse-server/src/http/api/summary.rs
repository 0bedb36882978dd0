//! `/{tenantName}/summary`: a tenant's accesses in figures.

use gatehouse_core::LabelKey;
use gatehouse_core::rights::Scope;
use http::StatusCode;

use crate::app::Error;
use crate::fields::summary::{DAYS, LABEL_VALUES, summary_body};
use crate::http::answer::problem::Problem;
use crate::http::answer::reply::Reply;
use crate::http::route::call::Call;
use crate::http::route::query::BY;
use crate::http::route::resource::{Need, Operation, ResponseSpec};
use crate::reader::shortened;

pub(in crate::http) const READ: Operation = Operation {
    method: "GET",
    id: "readSummary",
    summary: "Reads the numbers of the tenant's accesses by status, contract and a label, and of the last 90 days",
    need: Need::Scope(Scope::AccessRead),
    query: &[BY],
    responses: &[ResponseSpec {
        description: "The present figures",
        schema: Some("Summary"),
        ..ResponseSpec::BASE
    }],
    run: |call| Box::pin(read(call)),
    ..Operation::BASE
};

async fn read(mut call: Call) -> Result<Reply, Problem> {
    let key = label_to_count(&mut call).await?;
    call.query.check()?;
    let summary = call.app().store.summary(call.tenant(), call.app().now(), DAYS).await?;
    let summary = summary.ok_or_else(|| Error::NoTenant(call.tenant().to_string()))?;
    let by_label = match key {
        Some(key) => call.app().store.label_counts(call.tenant(), &key, LABEL_VALUES).await?,
        None => None,
    };
    let body = summary_body(&summary, by_label.as_deref());
    Ok(call.naming_ignored(Reply::json(StatusCode::OK, &body)))
}

/// The key of the label that the summary counts by. Anything else is treated like an unknown parameter.
async fn label_to_count(call: &mut Call) -> Result<Option<LabelKey>, Error> {
    let Some(by) = call.query.value(BY).map(str::to_owned) else { return Ok(None) };
    let label_keys = call.label_keys().await?;
    let key = by.strip_prefix("label.").and_then(|key| key.parse::<LabelKey>().ok());
    let known = key.filter(|key| label_keys.contains(key));
    if known.is_none() {
        let known: Vec<String> = label_keys.iter().map(|key| format!("label.{key}")).collect();
        let reason = match known.as_slice() {
            [] => "must name a label, but the tenant has no `labelKeys`".to_owned(),
            known => format!("must be {}, not `{}`", known.join(" or "), shortened(&by)),
        };
        call.query.ignore(BY, reason);
    }
    Ok(known)
}
