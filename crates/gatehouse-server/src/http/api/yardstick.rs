//! `/{tenantName}/yardstick`: answers that are there already. Only a server that was asked for it has them.
//!
//! They pass through everything that others do (connection, token, log, figures) and need nothing from the store,
//! so what another operation costs beside them is its own work. The bench compares with them.

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
    Answer, BodyKind, Need, Operation, PathObject, Resource, Served,
};
use crate::reader::shortened;

/// What is sent, again and again. It is called JSON, so that a request passes the same negotiation as others do.
static BLOCK: [u8; CHUNK_BYTES] = [b'x'; CHUNK_BYTES];

/// Longer answers are sent chunk by chunk, as those of others are.
const WHOLE_BYTES_MAX: usize = 32 << 10;

/// Longer than any Task is.
const STREAMED_BYTES_MAX: usize = 1 << 30;

const BYTES: &str = "bytes";

/// What a server has that was asked for yardsticks.
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
    answers: &[Answer { what: "The bytes", schema: Some("Access"), ..Answer::BASE }],
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
    answers: &[Answer { what: "The bytes", schema: Some("Verified"), ..Answer::BASE }],
    run: |call| Box::pin(check(call)),
    ..Operation::BASE
};

async fn send(mut call: Call) -> Result<Reply, Problem> {
    let n_bytes = wanted(&mut call, STREAMED_BYTES_MAX)?;
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
    let n_bytes = wanted(&mut call, WHOLE_BYTES_MAX)?;
    Ok(Reply::whole(StatusCode::OK, JSON, Bytes::from_static(&BLOCK[..n_bytes])))
}

fn wanted(call: &mut Call, max: usize) -> Result<usize, Problem> {
    let text = call.query.value(BYTES).unwrap_or_default().to_owned();
    let wanted = text.parse().ok().filter(|wanted| (1..=max).contains(wanted));
    if wanted.is_none() {
        let reason = format!("must be from 1 to {max}, not `{}`", shortened(&text));
        call.query.fault(BYTES, reason);
    }
    call.query.check()?;
    Ok(wanted.unwrap_or_default())
}
