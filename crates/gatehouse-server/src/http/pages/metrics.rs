//! `/-/metrics`: the server's metrics, for Prometheus.

use http::StatusCode;

use crate::http::answer::problem::Problem;
use crate::http::answer::reply::Reply;
use crate::http::route::call::Call;
use crate::http::route::resource::{Need, Operation, ResponseSpec};
use crate::metrics::MEDIA_TYPE;

pub(in crate::http) const READ: Operation = Operation {
    method: "GET",
    id: "metrics",
    summary: "The server's metrics, in Prometheus' text format",
    need: Need::AdminOfAll,
    responses: &[ResponseSpec {
        status: 200,
        description: "All metrics",
        media_type: MEDIA_TYPE,
        schema: Some("Text"),
        ..ResponseSpec::BASE
    }],
    run: |call| Box::pin(read(call)),
    ..Operation::BASE
};

async fn read(call: Call) -> Result<Reply, Problem> {
    let body = call.server.metrics.render().into();
    Ok(Reply::whole(StatusCode::OK, call.media_type, body))
}
