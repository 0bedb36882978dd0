//! `/{tenantName}/yardstick`: responses that cost nothing, for the bench. Only a server started for it has them.
//!
//! They pass all layers (connection, token, log, metrics) but don't use the store. So the difference to another
//! operation is the cost of that operation's work.

use bytes::Bytes;
use gatehouse_core::rights::Scope;
use http::{StatusCode, header};

use super::verify;
use crate::http::answer::media::JSON;
use crate::http::answer::problem::Problem;
use crate::http::answer::reply::Reply;
use crate::http::answer::stream::CHUNK_BYTES;
use crate::http::route::call::Call;
use crate::http::route::conditional;
use crate::http::route::resource::{
    BodyKind, Need, Operation, PathObject, Resource, ResponseSpec, Served,
};
use crate::reader::shortened;

/// The bytes of a response. They are sent as JSON, so that a request passes the same negotiation as others.
static BLOCK: [u8; CHUNK_BYTES] = [b'x'; CHUNK_BYTES];

/// Longer responses are streamed, as in other operations.
const WHOLE_BYTES_MAX: usize = 32 << 10;

/// Longer than any Task.
const STREAMED_BYTES_MAX: usize = 1 << 30;

const BYTES: &str = "bytes";

pub(in crate::http) fn table() -> Vec<Resource> {
    vec![Resource {
        path: "/{tenantName}/yardstick",
        object: PathObject::Tenant,
        served: Served::Main,
        operations: vec![SEND, CHECK],
    }]
}

const SEND: Operation = Operation {
    method: "GET",
    id: "sendBytes",
    summary: "Sends as many bytes as are asked for",
    is_listed: false,
    need: Need::Scope(Scope::AccessRead),
    query: &[BYTES],
    responses: &[ResponseSpec {
        description: "The bytes",
        schema: Some("Access"),
        ..ResponseSpec::BASE
    }],
    run: |call| Box::pin(send(call)),
    ..Operation::BASE
};

const CHECK: Operation = Operation {
    method: "POST",
    id: "readCredentials",
    summary: "Reads credentials and looks nothing up",
    is_listed: false,
    need: Need::Scope(Scope::AccessVerify),
    query: &[BYTES],
    body: Some(BodyKind { schema: "Credentials", ..BodyKind::BASE }),
    responses: &[ResponseSpec {
        description: "The bytes",
        schema: Some("Verified"),
        ..ResponseSpec::BASE
    }],
    run: |call| Box::pin(check(call)),
    ..Operation::BASE
};

async fn send(mut call: Call) -> Result<Reply, Problem> {
    let n_bytes = requested_bytes(&mut call, STREAMED_BYTES_MAX)?;
    if n_bytes <= WHOLE_BYTES_MAX {
        let reply = Reply::whole(StatusCode::OK, JSON, Bytes::from_static(&BLOCK[..n_bytes]));
        return Ok(reply.with(header::ETAG, &conditional::etag(1)));
    }
    Ok(Reply::streamed(StatusCode::OK, JSON, async move |mut sink| {
        for sent in (0..n_bytes).step_by(BLOCK.len()) {
            sink.send_static(&BLOCK[..BLOCK.len().min(n_bytes - sent)]).await?;
        }
        sink.finish().await
    }))
}

async fn check(mut call: Call) -> Result<Reply, Problem> {
    let credentials = call.object(verify::read_credentials)?;
    let _read = credentials();
    let n_bytes = requested_bytes(&mut call, WHOLE_BYTES_MAX)?;
    Ok(Reply::whole(StatusCode::OK, JSON, Bytes::from_static(&BLOCK[..n_bytes])))
}

fn requested_bytes(call: &mut Call, max: usize) -> Result<usize, Problem> {
    let text = call.query.value(BYTES).unwrap_or_default().to_owned();
    let n_bytes = text.parse().ok().filter(|n| (1..=max).contains(n));
    if n_bytes.is_none() {
        let reason = format!("must be from 1 to {max}, not `{}`", shortened(&text));
        call.query.fault(BYTES, reason);
    }
    call.query.check()?;
    Ok(n_bytes.unwrap_or_default())
}
