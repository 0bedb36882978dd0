//! `/{tenantName}/hub`: subscriptions, whose events the server sends to the subscribers.

use gatehouse_core::HubId;
use gatehouse_core::hub::HubQuery;
use gatehouse_core::rights::Scope;
use gatehouse_store::StoredHub;
use http::{StatusCode, header};

use crate::app::Error;
use crate::app::hub::{HubUpdate, IssuedHub};
use crate::fields::Body;
use crate::fields::hub::{self, dead_letter_body, message_body, stored_body};
use crate::http::answer::media::MERGE_PATCH;
use crate::http::answer::problem::Problem;
use crate::http::answer::reply::Reply;
use crate::http::route::call::Call;
use crate::http::route::paging;
use crate::http::route::query::{AFTER, PAGE_SIZE};
use crate::http::route::resource::{BodyKind, Need, Operation, ResponseSpec};
use crate::reader::{Reader, Required};

pub(in crate::http) const LIST: Operation = Operation {
    method: "GET",
    id: "listHubs",
    summary: "Lists the tenant's hubs, the oldest first",
    need: Need::Scope(Scope::EventWrite),
    responses: &[ResponseSpec {
        description: "All hubs, without their secrets",
        schema: Some("Hubs"),
        example: Some(|| vec![hub::shown_hub().example()].into()),
        ..ResponseSpec::BASE
    }],
    run: |call| Box::pin(list(call)),
    ..Operation::BASE
};

pub(in crate::http) const CREATE: Operation = Operation {
    method: "POST",
    id: "createHub",
    summary: "Subscribes to the tenant's events from now on; the secret is shown only here",
    need: Need::Scope(Scope::EventWrite),
    body: Some(BodyKind {
        schema: "NewHub",
        example: || hub::new_hub().example(),
        ..BodyKind::BASE
    }),
    responses: &[ResponseSpec {
        status: 201,
        description: "The hub, with its secret",
        schema: Some("IssuedHub"),
        headers: &["Location", "Cache-Control"],
        ..ResponseSpec::BASE
    }],
    problems: &[409],
    run: |call| Box::pin(create(call)),
    ..Operation::BASE
};

pub(in crate::http) const READ: Operation = Operation {
    method: "GET",
    id: "readHub",
    summary: "Reads one hub, and how far it is",
    need: Need::Scope(Scope::EventWrite),
    responses: &[ResponseSpec {
        description: "The hub, without its secret",
        schema: Some("Hub"),
        ..ResponseSpec::BASE
    }],
    run: |call| Box::pin(read(call)),
    ..Operation::BASE
};

pub(in crate::http) const UPDATE: Operation = Operation {
    method: "PATCH",
    id: "updateHub",
    summary: "Pauses a hub, continues it, or gives it a new secret",
    need: Need::Scope(Scope::EventWrite),
    body: Some(BodyKind {
        media_types: &[MERGE_PATCH],
        schema: "HubUpdate",
        example: || hub::hub_update().example(),
        ..BodyKind::BASE
    }),
    responses: &[ResponseSpec {
        description: "The hub as it is now, with its secret if that is new",
        schema: Some("UpdatedHub"),
        headers: &["Cache-Control?"],
        ..ResponseSpec::BASE
    }],
    run: |call| Box::pin(update(call)),
    ..Operation::BASE
};

pub(in crate::http) const DELETE: Operation = Operation {
    method: "DELETE",
    id: "deleteHub",
    summary: "Ends a hub; the event of its deletion is the last one that it gets",
    need: Need::Scope(Scope::EventWrite),
    responses: &[ResponseSpec {
        status: 204,
        description: "The hub was ended",
        ..ResponseSpec::BASE
    }],
    run: |call| Box::pin(delete(call)),
    ..Operation::BASE
};

pub(in crate::http) const DELIVERIES: Operation = Operation {
    method: "GET",
    id: "listHubDeliveries",
    summary: "Lists the latest messages of a hub, the newest first, without their contents",
    need: Need::Scope(Scope::EventWrite),
    responses: &[ResponseSpec {
        description: "At most 200 messages",
        schema: Some("HubDeliveries"),
        example: Some(|| vec![hub::shown_message().example()].into()),
        ..ResponseSpec::BASE
    }],
    run: |call| Box::pin(deliveries(call)),
    ..Operation::BASE
};

pub(in crate::http) const DEAD_LETTERS: Operation = Operation {
    method: "GET",
    id: "listDeadLetters",
    summary: "Lists events of a hub that are not tried any more, behind a number",
    need: Need::Scope(Scope::EventWrite),
    query: &[AFTER, PAGE_SIZE],
    responses: &[ResponseSpec {
        description: "Dead letters, by their events' numbers",
        schema: Some("DeadLetters"),
        example: Some(|| vec![hub::shown_dead_letter().example()].into()),
        ..ResponseSpec::BASE
    }],
    run: |call| Box::pin(dead_letters(call)),
    ..Operation::BASE
};

pub(in crate::http) const REPLAY: Operation = Operation {
    method: "POST",
    id: "replayDeadLetters",
    summary: "Sends dead letters of a hub again, all or some",
    need: Need::Scope(Scope::EventWrite),
    body: Some(BodyKind {
        schema: "Replay",
        example: || hub::replay().example(),
        ..BodyKind::BASE
    }),
    responses: &[ResponseSpec {
        description: "How many are sent again",
        schema: Some("Replayed"),
        ..ResponseSpec::BASE
    }],
    run: |call| Box::pin(replay(call)),
    ..Operation::BASE
};

async fn list(call: Call) -> Result<Reply, Problem> {
    let hubs = call.app().store.hubs(call.tenant()).await?;
    let hubs = hubs.ok_or_else(|| Error::NoTenant(call.tenant().to_string()))?;
    let now = call.app().now();
    let shown: Vec<Body> =
        hubs.iter().filter(|it| it.is_there()).map(|it| stored_body(it, None, now)).collect();
    Ok(Reply::json(StatusCode::OK, &shown))
}

async fn create(call: Call) -> Result<Reply, Problem> {
    let (callback, query) = call.object(read_new)?;
    let app = call.app();
    let query = query.unwrap_or_default();
    let issued = app.create_hub(call.tenant(), callback.value(), query, &call.origin).await?;
    let location = format!("{}/{}", call.address.request_url(), issued.stored.hub.id);
    Ok(reply(&call, StatusCode::CREATED, &issued).with(header::LOCATION, &location))
}

/// Reads a new hub.
pub(in crate::http) fn read_new(body: Reader<'_>) -> (Required<String>, Option<HubQuery>) {
    let mut body = body.of_creation();
    let callback = body.required(hub::CALLBACK);
    let query = body.optional(hub::QUERY);
    body.finish();
    (callback, query)
}

async fn read(call: Call) -> Result<Reply, Problem> {
    let stored = find(&call).await?;
    Ok(Reply::json(StatusCode::OK, &stored_body(&stored, None, call.app().now())))
}

async fn update(call: Call) -> Result<Reply, Problem> {
    let id: HubId = call.param("hubId", "hub")?;
    let update = call.object(read_update)?;
    let issued = call.app().update_hub(call.tenant(), id, update, &call.origin).await?;
    Ok(reply(&call, StatusCode::OK, &issued))
}

/// Reads a change of a hub.
pub(in crate::http) fn read_update(mut body: Reader<'_>) -> HubUpdate {
    if body.is_empty() {
        body.fault_of_whole("must hold `state`, `rotateSecret` or both");
    }
    let state = body.optional(hub::STATE);
    let rotates_secret = body.optional(hub::ROTATE_SECRET).is_some();
    for fixed in [hub::CALLBACK.name, hub::QUERY.name] {
        body.forbid(fixed, "can't be changed: make another hub, and delete this one");
    }
    body.finish();
    HubUpdate { state, rotates_secret }
}

async fn delete(call: Call) -> Result<Reply, Problem> {
    let id: HubId = call.param("hubId", "hub")?;
    call.app().end_hub(call.tenant(), id, &call.origin).await?;
    Ok(Reply::empty(StatusCode::NO_CONTENT))
}

async fn deliveries(call: Call) -> Result<Reply, Problem> {
    let id = find(&call).await?.hub.id;
    let messages = call.app().store.sent_messages(call.tenant(), id).await?;
    let shown: Vec<Body> = messages.iter().map(message_body).collect();
    Ok(Reply::json(StatusCode::OK, &shown))
}

async fn dead_letters(mut call: Call) -> Result<Reply, Problem> {
    let after = super::event::after(&mut call);
    let size = paging::page_or_default(&mut call)?.size;
    let id = find(&call).await?.hub.id;
    let store = &call.app().store;
    let letters = store.dead_letters(call.tenant(), id, after.unwrap_or_default(), size).await?;
    let shown: Vec<Body> = letters.iter().map(dead_letter_body).collect();
    Ok(Reply::json(StatusCode::OK, &shown))
}

async fn replay(call: Call) -> Result<Reply, Problem> {
    let numbers = call.object(read_replay)?;
    let id = find(&call).await?.hub.id;
    let n = call.app().replay_dead_letters(call.tenant(), id, numbers.as_deref()).await?;
    Ok(Reply::json(StatusCode::OK, &Body::default().put(hub::REPLAYED, n)))
}

/// Reads which dead letters to send again; `None` for all.
pub(in crate::http) fn read_replay(mut body: Reader<'_>) -> Option<Vec<u64>> {
    let numbers = body.optional(hub::EVENT_NUMBERS);
    body.finish();
    numbers
}

async fn find(call: &Call) -> Result<StoredHub, Problem> {
    let id: HubId = call.param("hubId", "hub")?;
    let stored = call.app().store.hub(call.tenant(), id).await?;
    let stored = stored.filter(StoredHub::is_there);
    Ok(stored.ok_or_else(|| Error::NotFound("hub", id.to_string()))?)
}

fn reply(call: &Call, status: StatusCode, issued: &IssuedHub) -> Reply {
    let secret = issued.secret.as_ref().map(|it| it.as_str());
    let reply = Reply::json(status, &stored_body(&issued.stored, secret, call.app().now()));
    if secret.is_some() { reply.with(header::CACHE_CONTROL, "no-store") } else { reply }
}
