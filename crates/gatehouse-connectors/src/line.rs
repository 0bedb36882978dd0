//! The way out to one account's platform.

use bytes::Bytes;
use http::{HeaderMap, StatusCode};

use crate::connector::{Ask, Limits};
use crate::failure::Failure;

/// What all lines share.
#[derive(Clone, Debug)]
pub struct Outside {}

/// The way out to one account's platform.
#[derive(Debug)]
pub struct Line {}

/// What a platform answered, with whatever status.
#[derive(Clone, Debug)]
pub struct Answer {
    /// Its status.
    pub status: StatusCode,
    /// Its headers.
    pub headers: HeaderMap,
    /// All of its body.
    pub body: Bytes,
}

impl Line {
    /// Asks for what is at `target`: a path and perhaps a query, behind the base URL.
    pub async fn get(&self, ask: Ask, target: &str, headers: HeaderMap) -> Result<Answer, Failure> {
        let _ = (ask, target, headers, None::<Limits>);
        todo!()
    }
}
