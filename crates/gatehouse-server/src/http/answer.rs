//! From a handler's result to bytes: replies, problems, streams, negotiation.

pub(super) mod answer_body;
pub(super) mod correlation;
pub(super) mod csv;
pub(super) mod error_chain;
pub(super) mod json;
pub(super) mod media;
pub(super) mod negotiation;
pub(super) mod problem;
pub(super) mod rate;
pub(super) mod reply;
pub(super) mod stream;
