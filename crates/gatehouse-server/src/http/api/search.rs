//! `/{tenantName}/search`: accesses by the beginning of a username, a name or an identifier.

use gatehouse_core::Access;
use gatehouse_core::lifecycle;
use gatehouse_core::list::search::SearchText;
use gatehouse_core::rights::Scope;
use http::StatusCode;

use super::access_body::{ACCESS_BYTES, AccessWriter};
use crate::app::Error;
use crate::fields::access;
use crate::http::answer::json::Json;
use crate::http::answer::media::JSON;
use crate::http::answer::problem::Problem;
use crate::http::answer::reply::Reply;
use crate::http::route::call::Call;
use crate::http::route::query::Q;
use crate::http::route::resource::{Need, Operation, ResponseSpec};

pub(in crate::http) const FIND: Operation = Operation {
    method: "GET",
    id: "searchAccesses",
    summary: "Finds accesses whose username, name or identifier begins with a text, for search boxes",
    need: Need::Scope(Scope::AccessRead),
    query: &[Q],
    responses: &[ResponseSpec {
        description: "At most 50 accesses, those that are the text first; without their passwords",
        schema: Some("FoundAccesses"),
        example: Some(|| vec![access::example()].into()),
        ..ResponseSpec::BASE
    }],
    run: |call| Box::pin(find(call)),
    ..Operation::BASE
};

async fn find(mut call: Call) -> Result<Reply, Problem> {
    let search = match call.query.value(Q).map(str::parse::<SearchText>) {
        Some(Ok(search)) => Some(search),
        Some(Err(bad)) => {
            call.query.fault(Q, bad.to_string());
            None
        }
        None => {
            call.query.fault(Q, "is missing, and must have 1 to 128 characters".into());
            None
        }
    };
    call.query.check()?;
    let search = search.expect("a query without faults has a text");
    let found = call.app().store.search(call.tenant(), &search).await?;
    let found = found.ok_or_else(|| Error::NoTenant(call.tenant().to_string()))?;
    let now = call.app().now();
    let mut writer = AccessWriter::new(&call.address, call.tenant());
    let mut json = Json::with_capacity(2 + found.len() * ACCESS_BYTES);
    json.list(&found, |json, access: &Access| {
        let mut shown = access.shown();
        lifecycle::advance_shown_to(&mut shown, now);
        writer.write(json, &shown, None);
    });
    Ok(Reply::whole(StatusCode::OK, JSON, json.finish()))
}
