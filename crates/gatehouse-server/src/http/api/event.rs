//! `/{tenantName}/event`: what changed, in order; and the history of one access.

use std::num::ParseIntError;
use std::str::FromStr;

use gatehouse_core::event::EventType;
use gatehouse_core::rights::Scope;
use gatehouse_core::{AccessId, Timestamp};
use gatehouse_store::{EventFilter, EventPage, Journal, NoEvents};
use http::{HeaderName, StatusCode, header};

use super::event_body::{EVENT_BYTES, EventWriter};
use super::event_stream;
use crate::app::Error;
use crate::fields::event;
use crate::http::answer::json::Json;
use crate::http::answer::media::{EVENT_STREAM, JSON};
use crate::http::answer::problem::Problem;
use crate::http::answer::reply::Reply;
use crate::http::route::call::Call;
use crate::http::route::paging;
use crate::http::route::query::{AFTER, BEFORE, EVENT_TYPE, FROM, LAST, PAGE_SIZE};
use crate::http::route::resource::{Need, Operation, ResponseSpec};
use crate::reader::shortened;

pub(in crate::http) const X_EVENT_NUMBER: HeaderName = HeaderName::from_static("x-event-number");

pub(in crate::http) const LIST: Operation = Operation {
    method: "GET",
    id: "listEvents",
    summary: "Lists changes in the order of their numbers, behind a number",
    need: Need::Scope(Scope::EventRead),
    query: &[AFTER, PAGE_SIZE, EVENT_TYPE, "accessId", "contractId", "taskId", FROM, BEFORE],
    headers: &["Last-Event-ID"],
    responses: &[PAGE, event_stream::RESPONSE],
    problems: &[409, 410],
    run: |call| Box::pin(list(call)),
    ..Operation::BASE
};

const PAGE: ResponseSpec = ResponseSpec {
    description: "Events. The next page is behind `X-Event-Number`; while it is the last one, the page is empty",
    schema: Some("Events"),
    example: Some(|| vec![event::example()].into()),
    headers: &["X-Event-Number?", "Link?"],
    ..ResponseSpec::BASE
};

pub(in crate::http) const HISTORY: Operation = Operation {
    id: "listEventsOfAccess",
    summary: "Lists the changes of one access, the oldest first",
    query: &[AFTER, PAGE_SIZE],
    headers: &[],
    responses: &[PAGE],
    problems: &[409],
    run: |call| Box::pin(history(call)),
    ..LIST
};

async fn list(mut call: Call) -> Result<Reply, Problem> {
    let filter = EventFilter {
        types: types(&mut call, &EventType::CHANGES),
        access: parsed(&mut call, "accessId", "the identifier of an access"),
        contract: parsed(&mut call, "contractId", "the identifier of a contract"),
        task: parsed(&mut call, "taskId", "the identifier of a Task"),
        from: instant(&mut call, FROM),
        before: instant(&mut call, BEFORE),
        subject: None,
    };
    if call.media_type == EVENT_STREAM {
        return event_stream::follow(call, filter).await;
    }
    let after = position(&mut call);
    let size = paging::page_or_default(&mut call)?.size;
    let page = page(&call, after, size, &filter).await?;
    Ok(reply_with_changes(&call, &page))
}

/// A position in a journal.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Position {
    Number(u64),
    /// The last event.
    Last,
}

impl FromStr for Position {
    type Err = ParseIntError;

    fn from_str(text: &str) -> Result<Self, ParseIntError> {
        if text == LAST { Ok(Self::Last) } else { text.parse().map(Self::Number) }
    }
}

/// The position that the query gives.
pub(super) fn position(call: &mut Call) -> Option<Position> {
    parsed(call, AFTER, "the number of an event, 0, or `last`")
}

/// The events behind a position, or from the oldest one on.
pub(super) async fn page(
    call: &Call,
    after: Option<Position>,
    n_max: u64,
    filter: &EventFilter,
) -> Result<EventPage, Problem> {
    page_in(call, &Journal::Changes(call.tenant().clone()), after, n_max, filter).await
}

/// The events of a journal behind a position, or from the oldest one on.
pub(super) async fn page_in(
    call: &Call,
    journal: &Journal,
    after: Option<Position>,
    n_max: u64,
    filter: &EventFilter,
) -> Result<EventPage, Problem> {
    let store = &call.app().store;
    let after = match after {
        Some(Position::Number(number)) => Some(number),
        Some(Position::Last) => store.last_event_in(journal).await?,
        None => None,
    };
    let page = store.events_in(journal, after, n_max, filter).await?;
    if page == Err(NoEvents::NotBegun)
        && let Some(tenant) = journal.tenant()
        && store.tenant(tenant).await?.is_none()
    {
        return Err(Error::NoTenant(tenant.to_string()).into());
    }
    page.map_err(|none| no_page(none, after))
}

fn no_page(none: NoEvents, after: Option<u64>) -> Problem {
    let after = after.unwrap_or_default();
    match none {
        NoEvents::NotBegun => Error::NoJournal.into(),
        NoEvents::Deleted { oldest } => Error::EventsDeleted { after, oldest }.into(),
        NoEvents::Ahead { last } => Error::EventsAhead { after, last }.into(),
    }
}

async fn history(mut call: Call) -> Result<Reply, Problem> {
    let id: AccessId = call.param("accessId", "access")?;
    let after: Option<u64> = parsed(&mut call, AFTER, "the number of an event, or 0");
    let size = paging::page_or_default(&mut call)?.size;
    let store = &call.app().store;
    let number = store.number_of_access(call.tenant(), id).await?;
    let number = number.ok_or_else(|| Error::NotFound("access", id.to_string()))?;
    let page = store.history(call.tenant(), number, after.unwrap_or_default(), size).await?;
    let page = page.map_err(|none| no_page(none, after))?;
    Ok(reply_with_changes(&call, &page))
}

fn reply_with_changes(call: &Call, page: &EventPage) -> Reply {
    reply(call, page, || {
        let mut writer = EventWriter::new(&call.address, call.tenant());
        let mut json = Json::with_capacity(2 + page.events.len() * EVENT_BYTES);
        json.list(&page.events, |json, event| writer.write(json, event));
        json
    })
}

/// The response with a page of events.
pub(super) fn reply(call: &Call, page: &EventPage, write: impl FnOnce() -> Json) -> Reply {
    let reply = Reply::whole(StatusCode::OK, JSON, write().finish());
    let reply = reply.with(X_EVENT_NUMBER, &page.seen_to.to_string());
    let reply = match page.seen_to < page.last {
        true => reply.with(header::LINK, &next(call, page.seen_to)),
        false => reply,
    };
    call.naming_ignored(reply)
}

/// The link to the page behind a number, with all other parameters.
fn next(call: &Call, seen_to: u64) -> String {
    let others = call.parts.uri.query().unwrap_or_default().split('&');
    let others = others.filter(|it| !it.is_empty() && it.split('=').next() != Some(AFTER));
    let after = format!("{AFTER}={seen_to}");
    let query: Vec<&str> = std::iter::once(after.as_str()).chain(others).collect();
    format!("<{}?{}>; rel=\"next\"", call.address.request_url(), query.join("&"))
}

/// The number that the query gives.
pub(super) fn after(call: &mut Call) -> Option<u64> {
    const EXPECTED: &str = "the number of an event, or 0";
    let after = parsed(call, AFTER, EXPECTED);
    if after.is_some_and(|it| it > i64::MAX as u64) {
        call.query.fault(AFTER, format!("must be {EXPECTED}"));
    }
    after
}

pub(super) fn instant(call: &mut Call, name: &'static str) -> Option<Timestamp> {
    parsed(call, name, "a time such as 2026-11-15T03:43:54Z")
}

/// The wanted types, of those that there are.
pub(super) fn types(call: &mut Call, all: &[EventType]) -> Vec<EventType> {
    let Some(words) = call.query.value(EVENT_TYPE).map(str::to_owned) else { return Vec::new() };
    let mut types = Vec::new();
    for word in words.split(',') {
        match all.iter().find(|it| it.as_str() == word) {
            Some(it) => types.push(*it),
            None => {
                let known: Vec<_> = all.iter().map(|it| it.as_str()).collect();
                let known = known.join(", ");
                let reason = format!("must be some of {known}, not `{}`", shortened(word));
                call.query.fault(EVENT_TYPE, reason);
            }
        }
    }
    types
}

/// A parameter's value; one of another form is a fault.
fn parsed<T: std::str::FromStr>(call: &mut Call, name: &'static str, form: &str) -> Option<T> {
    let text = call.query.value(name)?.to_owned();
    let parsed = text.parse().ok();
    if parsed.is_none() {
        call.query.fault(name, format!("must be {form}, not `{}`", shortened(&text)));
    }
    parsed
}
