//! Events as a stream of server-sent events: a list that a client follows without an end.
//!
//! A stream reads a page when the client has taken the one before, and holds no transaction meanwhile. While nothing
//! happens it waits for [`Follower`], checks the token, and sends a heartbeat.

use std::sync::Arc;
use std::time::Duration;

use gatehouse_core::TenantName;
use gatehouse_core::rights::Scope;
use gatehouse_store::{EventFilter, EventPage, StoreError};
use gatehouse_vault::Disconnection;
use http::request::Parts;
use http::{HeaderName, Method, header};
use tokio::time::Instant;

use super::event::{self, Position};
use super::event_body::{EVENT_BYTES, EventWriter};
use crate::http::answer::json::Json;
use crate::http::answer::media::EVENT_STREAM;
use crate::http::answer::problem::Problem;
use crate::http::answer::reply::Reply;
use crate::http::answer::stream::{Finished, Sink, StreamError};
use crate::http::intake::disconnection::ClientDisconnection;
use crate::http::intake::slots::StreamSlot;
use crate::http::route::address::Address;
use crate::http::route::call::Call;
use crate::http::route::query::PAGE_SIZE;
use crate::http::route::resource::ResponseSpec;
use crate::http::route::server_context::ServerContext;
use crate::reader::shortened;
use crate::work::event_watch::{Change, Follower};

/// Header: the number of the last event that the client has, which a browser sends when it reconnects.
pub(in crate::http) const LAST_EVENT_ID: &str = "Last-Event-ID";

/// Header by which nginx is asked not to hold the stream back.
const X_ACCEL_BUFFERING: HeaderName = HeaderName::from_static("x-accel-buffering");

/// Events that are in memory at once.
const EVENTS_AT_ONCE: u64 = 200;

/// Silence after which the stream says that it lives, and how far it has looked.
const HEARTBEAT: Duration = Duration::from_secs(15);

/// Time between two checks of the token while nothing happens, and before a failed read is repeated.
const CHECK_INTERVAL: Duration = Duration::from_secs(1);

/// Time in which a client must take the end of its stream. Shorter than a stopping server waits before it closes the connection.
const END_TIMEOUT: Duration = Duration::from_millis(500);

pub(super) const RESPONSE: ResponseSpec = ResponseSpec {
    description: "a stream of server-sent events, for a client that prefers it: the events as they happen. `pageSize` \
                  has no meaning for it",
    media_type: EVENT_STREAM,
    schema: Some("EventStream"),
    headers: &["Cache-Control?", "X-Accel-Buffering?"],
    ..ResponseSpec::BASE
};

/// Answers with the events behind the client's position, and with those that follow, until the client leaves.
pub(super) async fn follow(mut call: Call, filter: EventFilter) -> Result<Reply, Problem> {
    let (last_id, after) = (last_event_id(&mut call), event::position(&mut call));
    if call.query.value(PAGE_SIZE).is_some() {
        call.query.ignore(PAGE_SIZE, "has no meaning for a stream, which has no pages".to_owned());
    }
    call.query.check()?;
    let slot = match call.parts.method {
        Method::HEAD => None,
        _ => Some(call.server.slots.take_event_stream(call.tenant().as_str())?),
    };
    // Before the first page is read, so that no event behind it is overlooked.
    let follower = call.app().event_watch.follow(call.tenant());
    let after = last_id.map(Position::Number).or(after);
    let page = event::page(&call, after, EVENTS_AT_ONCE, &filter).await?;
    let stream = EventStream {
        server: Arc::clone(&call.server),
        tenant: call.tenant().clone(),
        parts: Arc::clone(&call.parts),
        address: call.address.clone(),
        client: call.disconnection.clone(),
        filter,
        follower,
        _slot: slot,
    };
    let reply = Reply::endless(EVENT_STREAM, move |sink| stream.run(page, sink))
        .with(header::CACHE_CONTROL, "no-store")
        .with(X_ACCEL_BUFFERING, "no");
    Ok(call.naming_ignored(reply))
}

fn last_event_id(call: &mut Call) -> Option<u64> {
    let values: Vec<_> = call.parts.headers.get_all(LAST_EVENT_ID).iter().collect();
    let reason = match values[..] {
        [] => return None,
        [one] => {
            let text = String::from_utf8_lossy(one.as_bytes()).into_owned();
            match text.parse() {
                Ok(number) => return Some(number),
                Err(_) => {
                    format!("must be the number of an event, or 0, not `{}`", shortened(&text))
                }
            }
        }
        _ => "may be given only once".to_owned(),
    };
    call.query.fault(LAST_EVENT_ID, reason);
    None
}

struct EventStream {
    server: Arc<ServerContext>,
    tenant: TenantName,
    parts: Arc<Parts>,
    address: Address,
    client: ClientDisconnection,
    filter: EventFilter,
    follower: Follower,
    _slot: Option<StreamSlot>,
}

/// Position of a stream, and when it has last sent bytes.
struct Progress {
    /// Every event up to this number has been looked at.
    seen_to: u64,
    /// The last number that the client has got; `None` before the first.
    sent_to: Option<u64>,
    sent_at: Instant,
}

impl EventStream {
    async fn run(mut self, page: EventPage, mut sink: Sink) -> Result<Finished, StreamError> {
        let (server, client) = (Arc::clone(&self.server), self.client.clone());
        tokio::select! {
            biased;
            // Rather than to finish a page for a slow reader: it gets the rest from another server.
            () = server.stopping.cancelled() => {}
            // Its slot is free at once, not when a heartbeat fails.
            () = client.wait() => return Err(StreamError::Unread),
            written = self.write(page, &mut sink) => written?,
        }
        let ended = tokio::time::timeout(END_TIMEOUT, sink.finish_early()).await;
        ended.unwrap_or(Err(StreamError::Unread))
    }

    /// Writes events until the client may not read them any more, or the journal doesn't have them.
    async fn write(&mut self, first: EventPage, sink: &mut Sink) -> Result<(), StreamError> {
        let mut progress =
            Progress { seen_to: first.seen_to, sent_to: None, sent_at: Instant::now() };
        let mut next = Some(first);
        while self.is_allowed().await {
            let is_last = match &next {
                Some(page) => {
                    self.write_page(page, &mut progress, sink).await?;
                    page.seen_to >= page.last
                }
                // The store couldn't be read.
                None => true,
            };
            let has_failed = next.is_none();
            if is_last && !self.wait(&mut progress, has_failed, sink).await? {
                return Ok(());
            }
            let (store, after) = (&self.server.app.store, Some(progress.seen_to));
            let read = store.events(&self.tenant, after, EVENTS_AT_ONCE, &self.filter).await;
            next = match read {
                Ok(Ok(page)) => Some(page),
                // The client gets the reason when it reconnects.
                Ok(Err(_)) => return Ok(()),
                Err(error) if may_recover(&error) => None,
                Err(error) => return Err(error.into()),
            };
        }
        Ok(())
    }

    async fn write_page(
        &self,
        page: &EventPage,
        progress: &mut Progress,
        sink: &mut Sink,
    ) -> Result<(), StreamError> {
        let mut writer = EventWriter::new(&self.address, &self.tenant);
        for event in &page.events {
            let mut block = Json::with_capacity(EVENT_BYTES);
            block.raw(&format!("id: {}\nevent: {}\n", event.number, event.event_type.as_str()));
            // JSON without white space has no line breaks.
            block.raw("data: ");
            writer.write(&mut block, event);
            block.raw("\n\n");
            sink.write(block.written()).await?;
            progress.sent_to = Some(event.number);
        }
        progress.seen_to = page.seen_to;
        if !page.events.is_empty() {
            sink.flush().await?;
            progress.sent_at = Instant::now();
        } else if progress.sent_to.is_none() || progress.sent_at.elapsed() >= HEARTBEAT {
            progress.report(sink).await?;
        }
        Ok(())
    }

    /// Waits for events; false where the stream ends. After a failure, waits until the read may be repeated.
    async fn wait(
        &mut self,
        progress: &mut Progress,
        has_failed: bool,
        sink: &mut Sink,
    ) -> Result<bool, StreamError> {
        loop {
            let change = self.follower.until_after(progress.seen_to);
            tokio::select! {
                biased;
                change = change, if !has_failed => return Ok(change == Change::NewEvents),
                () = tokio::time::sleep(CHECK_INTERVAL) => {}
            }
            if progress.sent_at.elapsed() >= HEARTBEAT {
                progress.report(sink).await?;
            }
            // The next read says whether the journal has the position.
            if has_failed || self.follower.ends_before(progress.seen_to) {
                return Ok(true);
            }
            if !self.is_allowed().await {
                return Ok(false);
            }
        }
    }

    /// Whether the token still allows to read the tenant's events.
    async fn is_allowed(&self) -> bool {
        let header = self.parts.headers.get(header::AUTHORIZATION);
        let header = header.and_then(|value| value.to_str().ok());
        let checked = self.server.auth.check_again(header, self.server.app.now()).await;
        checked.is_ok_and(|caller| {
            caller.rights.allow(Scope::EventRead) && caller.rights.cover(&self.tenant)
        })
    }
}

impl Progress {
    /// Tells the client how far the stream has looked, or only that it lives.
    async fn report(&mut self, sink: &mut Sink) -> Result<(), StreamError> {
        let block = match self.sent_to {
            Some(sent_to) if sent_to >= self.seen_to => ": heartbeat\n\n".to_owned(),
            // Without data, so a browser only takes the number.
            Some(_) | None => format!("id: {}\n\n", self.seen_to),
        };
        sink.write(block.as_bytes()).await?;
        sink.flush().await?;
        (self.sent_to, self.sent_at) = (Some(self.seen_to), Instant::now());
        Ok(())
    }
}

/// Whether a read may succeed later.
fn may_recover(error: &StoreError) -> bool {
    use StoreError::{Busy, Locked, NotReady, TooSlow, Unavailable};
    matches!(error, Unavailable(_) | Locked(_) | Busy | TooSlow | NotReady(_))
}
