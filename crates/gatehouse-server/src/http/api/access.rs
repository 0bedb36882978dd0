//! `/{tenantName}/access`: lists, creates, reads and updates accesses.

use gatehouse_core::filter::access::{self as filter, AccessFilter};
use gatehouse_core::lifecycle;
use gatehouse_core::rights::Scope;
use gatehouse_core::{Access, AccessId};
use http::{StatusCode, header};

use super::access_body::{ACCESS_BYTES, AccessWriter};
use super::event::X_EVENT_NUMBER;
use crate::app::Error;
use crate::app::access::{AccessRequest, AccessUpdate, IssuedAccess, NewPassword};
use crate::app::chosen_password::ChosenPassword;
use crate::fields::{access, label, password_hash};
use crate::http::answer::json::Json;
use crate::http::answer::media::{JSON, MERGE_PATCH};
use crate::http::answer::problem::Problem;
use crate::http::answer::reply::Reply;
use crate::http::route::call::Call;
use crate::http::route::conditional::{self, Precondition};
use crate::http::route::resource::{BodyKind, Need, Operation, ResponseSpec};
use crate::http::route::{idempotency, paging};
use crate::reader::Reader;

pub(in crate::http) const LIST: Operation = Operation {
    method: "GET",
    id: "listAccesses",
    summary: "Lists the accesses that pass a filter, oldest first or newest first",
    need: Need::Scope(Scope::AccessRead),
    query: paging::SORTED_PARAMS,
    filter: Some(&filter::FILTER_FIELDS),
    responses: &[ResponseSpec {
        description: "A page of accesses, without their passwords",
        schema: Some("Access"),
        headers: paging::ACCESS_HEADERS,
        ..ResponseSpec::BASE
    }],
    run: |call| Box::pin(list(call)),
    ..Operation::BASE
};

pub(in crate::http) const CREATE: Operation = Operation {
    method: "POST",
    id: "createAccess",
    summary: "Creates one access; generates missing fields, and returns the password only here",
    need: Need::Scope(Scope::AccessWrite),
    headers: &[idempotency::KEY],
    body: Some(BodyKind {
        schema: "NewAccess",
        example: || access::new_access().example(),
        ..BodyKind::BASE
    }),
    responses: &[ResponseSpec {
        status: 201,
        description: "The access, with its password unless the request had its hash",
        schema: Some("IssuedAccess"),
        headers: &["Location", "ETag", "Cache-Control?"],
        ..ResponseSpec::BASE
    }],
    problems: &[409, 422],
    run: |call| Box::pin(create(call)),
    ..Operation::BASE
};

pub(in crate::http) const READ: Operation = Operation {
    method: "GET",
    id: "readAccess",
    summary: "Reads one access",
    need: Need::Scope(Scope::AccessRead),
    headers: &["If-None-Match"],
    responses: &[
        ResponseSpec {
            description: "The access, without its password",
            schema: Some("Access"),
            headers: &["ETag"],
            ..ResponseSpec::BASE
        },
        ResponseSpec {
            status: 304,
            description: "The client has this version already",
            headers: &["ETag"],
            ..ResponseSpec::BASE
        },
    ],
    run: |call| Box::pin(read(call)),
    ..Operation::BASE
};

pub(in crate::http) const UPDATE: Operation = Operation {
    method: "PATCH",
    id: "updateAccess",
    summary: "Changes an access's status, its password, its labels, or several of them; all or nothing",
    need: Need::Scope(Scope::AccessWrite),
    headers: &["If-Match", "If-None-Match"],
    body: Some(BodyKind {
        media_types: &[MERGE_PATCH],
        schema: "AccessUpdate",
        example: || access::access_update().example(),
        ..BodyKind::BASE
    }),
    responses: &[ResponseSpec {
        description: "The access as it is now, with its password where the request set one",
        schema: Some("UpdatedAccess"),
        headers: &["ETag", "Cache-Control?"],
        ..ResponseSpec::BASE
    }],
    problems: &[409, 412],
    run: |call| Box::pin(update(call)),
    ..Operation::BASE
};

async fn list(mut call: Call) -> Result<Reply, Problem> {
    if call.query.names_labels() {
        let label_keys = call.label_keys().await?;
        call.query.check_labels(&label_keys);
    }
    let filter = call.query.filter(AccessFilter::read);
    let request = paging::list_request(&mut call)?;
    let filter = filter.expect("a query without faults has a filter");
    // First: what is read afterwards shows every change up to this event.
    let last_event = call.app().store.last_event(call.tenant()).await?;
    let listed = call.app().store.accesses(call.tenant(), &filter, request).await?;
    let listed = listed.ok_or_else(|| Error::NoTenant(call.tenant().to_string()))?;
    // A filter by status or label was decided at an instant of its own: the page shows that one's statuses.
    let now = listed.at.unwrap_or_else(|| call.app().now());
    let mut writer = AccessWriter::new(&call.address, call.tenant());
    let write = |json: &mut Json, access: &Access| {
        let mut shown = access.shown();
        lifecycle::advance_shown_to(&mut shown, now);
        writer.write(json, &shown, None);
    };
    let reply = paging::reply_to_list(&call, &listed.page, ACCESS_BYTES, write);
    let reply = match last_event {
        Some(number) => reply.with(X_EVENT_NUMBER, &number.to_string()),
        None => reply,
    };
    Ok(call.naming_ignored(reply))
}

async fn create(call: Call) -> Result<Reply, Problem> {
    let idempotent = idempotency::read_request(&call, idempotency::Operation::Create).await?;
    let wanted = call.object(read_new_access)?;
    let _guard = idempotency::begin(&call, idempotent.as_ref())?;
    let issued = call.app().create_access(call.requester(), wanted(), idempotent).await?;
    let location = call.address.access(call.tenant(), issued.access.id);
    Ok(reply(&call, StatusCode::CREATED, issued).with(header::LOCATION, &location))
}

pub(in crate::http) fn read_new_access(body: Reader<'_>) -> impl FnOnce() -> AccessRequest + use<> {
    let mut body = body.of_creation();
    let contract_id = body.required(access::CONTRACT_ID);
    let username = body.optional(access::USERNAME);
    password_hash::refuse_both(&mut body);
    let clear = body.optional(access::PASSWORD);
    let hash = body.optional(password_hash::PASSWORD_HASH);
    let device_name = body.optional(access::DEVICE_NAME);
    let labels = label::optional_labels(&mut body).unwrap_or_default();
    body.finish();
    move || {
        let contract_id = contract_id.value();
        let password = ChosenPassword::of_fields(clear, hash);
        AccessRequest { contract_id, username, password, device_name, labels }
    }
}

async fn read(call: Call) -> Result<Reply, Problem> {
    let id: AccessId = call.param("accessId", "access")?;
    let access = call.app().store.access(call.tenant(), id).await?;
    let access = access.ok_or_else(|| Error::NotFound("access", id.to_string()))?;
    let access = lifecycle::at(&access, call.app().now());
    let etag = conditional::etag(access.version);
    if conditional::client_has(call.headers(), &etag) {
        return Ok(Reply::empty(StatusCode::NOT_MODIFIED).with(header::ETAG, &etag));
    }
    Ok(reply(&call, StatusCode::OK, IssuedAccess { access, password: None }))
}

async fn update(call: Call) -> Result<Reply, Problem> {
    let id: AccessId = call.param("accessId", "access")?;
    let update = call.object(read_update)?;
    let precondition = Precondition::of(call.headers());
    let allowed = move |version| precondition.allows(version);
    let issued = call.app().update_access(call.requester(), id, update, allowed).await?;
    Ok(reply(&call, StatusCode::OK, issued))
}

/// Parses the change of one access, or of each in a batch.
pub(in crate::http) fn read_update(mut body: Reader<'_>) -> AccessUpdate {
    if body.is_empty() {
        body.fault_of_whole(
            "must hold at least one of `status`, `password`, `rotatePassword` and `labels`",
        );
    }
    let status = body.optional(access::TARGET_STATUS);
    let is_chosen = body.holds(access::PASSWORD.name);
    let chosen = body.optional(access::PASSWORD);
    let rotate = body.optional(access::ROTATE_PASSWORD);
    let labels = label::optional_patch(&mut body);
    if is_chosen && rotate.is_some() {
        let reason = "can't be combined with `password`; send one of them";
        body.fault(access::ROTATE_PASSWORD.name, reason);
    }
    let fixed = [
        access::CONTRACT_ID.name,
        access::USERNAME.name,
        access::OFFERING_ID.name,
        access::DEVICE_NAME.name,
    ];
    for fixed in fixed {
        let reason = "can't be changed; an update may hold `status`, `labels`, and `password` or \
            `rotatePassword`";
        body.forbid(fixed, reason);
    }
    body.finish();
    let generated = rotate.map(|()| NewPassword::Generated);
    AccessUpdate { status, password: chosen.map(NewPassword::Chosen).or(generated), labels }
}

fn reply(
    call: &Call,
    status: StatusCode,
    IssuedAccess { access, password }: IssuedAccess,
) -> Reply {
    let etag = conditional::etag(access.version);
    let mut json = Json::with_capacity(ACCESS_BYTES);
    let mut writer = AccessWriter::new(&call.address, call.tenant());
    writer.write(&mut json, &access.shown(), password.as_ref());
    let reply = Reply::whole(status, JSON, json.finish()).with(header::ETAG, &etag);
    if password.is_some() { reply.with(header::CACHE_CONTROL, "no-store") } else { reply }
}
