//! `/-/admin/audit` and `/-/admin/tenants/{tenantName}/audit`: who changed the setup and when, tokens, and refused
//! requests.

use gatehouse_core::event::EventType;
use gatehouse_store::{EventFilter, Journal};

use super::audit_body::{self, EVENT_BYTES};
use super::event::{instant, page_in, position, reply, types};
use crate::fields::audit;
use crate::http::answer::json::Json;
use crate::http::answer::problem::Problem;
use crate::http::answer::reply::Reply;
use crate::http::route::call::Call;
use crate::http::route::paging;
use crate::http::route::query::{AFTER, BEFORE, EVENT_TYPE, FROM, PAGE_SIZE, SUBJECT};
use crate::http::route::resource::{Need, Operation, ResponseSpec};

pub(in crate::http) const OF_ESTATE: Operation = Operation {
    method: "GET",
    id: "listAuditOfEstate",
    summary: "Lists tenants that were made and deleted, tokens of operators, and requests that were refused without \
              a tenant",
    need: Need::AdminOfAll,
    query: &[AFTER, PAGE_SIZE, EVENT_TYPE, SUBJECT, FROM, BEFORE],
    responses: &[ResponseSpec {
        description: "Events. The next page is behind `X-Event-Number`; while it is the last one, the page is empty",
        schema: Some("AuditEvents"),
        example: Some(|| vec![audit::example()].into()),
        headers: &["X-Event-Number", "Link?"],
        ..ResponseSpec::BASE
    }],
    problems: &[409, 410],
    run: |call| Box::pin(list(call)),
    ..Operation::BASE
};

pub(in crate::http) const OF_TENANT: Operation = Operation {
    id: "listAudit",
    summary: "Lists the changes of a tenant's setup, its tokens, and requests that were refused",
    need: Need::Admin,
    ..OF_ESTATE
};

async fn list(mut call: Call) -> Result<Reply, Problem> {
    let filter = EventFilter {
        types: types(&mut call, &EventType::AUDIT),
        subject: call.query.value(SUBJECT).map(str::to_owned),
        from: instant(&mut call, FROM),
        before: instant(&mut call, BEFORE),
        ..EventFilter::default()
    };
    let after = position(&mut call);
    let size = paging::page_or_default(&mut call)?.size;
    let journal = call.tenant.clone().map_or(Journal::EstateAudit, Journal::Audit);
    let page = page_in(&call, &journal, after, size, &filter).await?;
    Ok(reply(&call, &page, || {
        let mut json = Json::with_capacity(2 + page.events.len() * EVENT_BYTES);
        json.list(&page.events, audit_body::write);
        json
    }))
}
