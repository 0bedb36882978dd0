//! `/-/metrics`: the figures of the server, for Prometheus.

use http::StatusCode;

use super::call::Call;
use super::problem::Problem;
use super::reply::Reply;
use super::resource::{Answer, Need, Operation};
use crate::metrics::MEDIA_TYPE;

pub(super) const READ: Operation = Operation {
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
    let body = call.site.metrics.render().into();
    Ok(Reply::whole(StatusCode::OK, call.media_type, body))
}
