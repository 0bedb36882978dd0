//! The HTTP API of the service.
//!
//! `routes` has every route on one screen. A request passes `dispatch`, which runs the checks that all operations share
//! in the order of the API's contract, and then the handler of its resource (one file each), which parses, calls the
//! service and renders. `answer::problem` is the body of every error, and has the only table from errors to statuses.

mod answer;
mod api;
#[cfg(any(test, fuzzing))]
pub(crate) mod fuzzing;
mod http_api;
pub(crate) mod intake;
mod openapi;
mod pages;
mod route;
mod routes;

pub(crate) use answer::answer_body::EndlessBody;
pub use answer::answer_body::{AnswerBody, TruncatedBody};
pub use answer::csv::{Cell as CsvCell, write_row as write_csv_row};
pub(crate) use api::event_body::event_json;
pub use http_api::{HttpApi, OptionalFeatures};
pub use intake::connection_info::{ConnectionInfo, ListenerKind};
pub(crate) use intake::request_headers::HEADER_BYTES_MAX;
pub use route::address::SEGMENT;
pub use route::dispatch::handle;

#[cfg(test)]
pub(crate) mod tests;
