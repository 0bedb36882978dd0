//! `/-/metrics`: the figures of the server, for Prometheus.

use http::StatusCode;

use crate::http::answer::problem::Problem;
use crate::http::answer::reply::Reply;
use crate::http::route::call::Call;
use crate::http::route::resource::{Answer, Need, Operation};
use crate::metrics::MEDIA_TYPE;

pub(in crate::http) const READ: Operation = Operation {
    method: "GET",
    id: "metrics",
    summary: "The figures of the server, in Prometheus' text format",
    need: Need::AdminOfAll,
    answers: &[Answer {
        status: 200,
        what: "Every figure as it is now",
        media_type: MEDIA_TYPE,
        schema: Some("Text"),
        ..Answer::BASE
    }],
    run: |call| Box::pin(read(call)),
    ..Operation::BASE
};

async fn read(call: Call) -> Result<Reply, Problem> {
    let body = call.server.metrics.render().into();
    Ok(Reply::whole(StatusCode::OK, call.media_type, body))
}
