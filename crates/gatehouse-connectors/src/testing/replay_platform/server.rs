//! Requests to a platform that is made of a recording, read whole, and what they are answered with.

use std::io;
use std::net::Ipv4Addr;
use std::sync::Arc;

use bytes::Bytes;
use http::{HeaderMap, HeaderName, HeaderValue, Method, Request, Response, StatusCode};
use http_body_util::{BodyExt, Limited};
use hyper::body::Incoming;
use percent_encoding::percent_decode_str;
use serde_json::Value;

use crate::platform_server::{PlatformServer, Reply};

/// Most bytes of a request's body.
const BODY_BYTES_MAX: usize = 1 << 20;

/// A request that came.
pub(crate) struct Asked {
    pub(crate) method: Method,
    pub(crate) path: String,
    pub(crate) query: String,
    pub(crate) headers: HeaderMap,
    pub(crate) body: Bytes,
}

/// An answer.
#[derive(Clone, Debug, Default)]
pub(crate) struct Given {
    pub(crate) status: u16,
    pub(crate) headers: Vec<(String, String)>,
    pub(crate) body: Bytes,
}

impl Asked {
    async fn read(request: Request<Incoming>) -> Self {
        let (head, body) = request.into_parts();
        let body = Limited::new(body, BODY_BYTES_MAX).collect().await;
        Self {
            method: head.method,
            path: head.uri.path().to_owned(),
            query: head.uri.query().unwrap_or_default().to_owned(),
            headers: head.headers,
            body: body.map(|it| it.to_bytes()).unwrap_or_default(),
        }
    }

    /// Names and values of the query, as they are meant.
    pub(crate) fn pairs(&self) -> Vec<(String, String)> {
        pairs(&self.query)
    }

    /// Where it went, with its query.
    pub(crate) fn target(&self) -> String {
        if self.query.is_empty() {
            self.path.clone()
        } else {
            format!("{}?{}", self.path, self.query)
        }
    }
}

/// Names and values of a query or a form, as they are meant.
pub(crate) fn pairs(text: &str) -> Vec<(String, String)> {
    let decoded = |text: &str| {
        let text = text.replace('+', " ");
        percent_decode_str(&text).decode_utf8_lossy().into_owned()
    };
    let pairs = text.split('&').filter(|it| !it.is_empty());
    let pairs = pairs.map(|pair| pair.split_once('=').unwrap_or((pair, "")));
    pairs.map(|(name, value)| (decoded(name), decoded(value))).collect()
}

impl Given {
    /// An answer in JSON.
    pub(crate) fn json(status: u16, body: &Value) -> Self {
        let headers = vec![("content-type".to_owned(), "application/json".to_owned())];
        Self { status, headers, body: body.to_string().into() }
    }
}

impl From<Given> for Reply {
    fn from(given: Given) -> Self {
        let mut response = Response::new(given.body);
        *response.status_mut() =
            StatusCode::from_u16(given.status).unwrap_or(StatusCode::INTERNAL_SERVER_ERROR);
        for (name, value) in given.headers {
            let name = HeaderName::from_bytes(name.as_bytes());
            if let (Ok(name), Ok(value)) = (name, HeaderValue::from_str(&value)) {
                response.headers_mut().append(name, value);
            }
        }
        response.into()
    }
}

/// Answers requests on a free port of this machine.
pub(crate) fn serve(
    handler: impl Fn(&Asked) -> Reply + Send + Sync + 'static,
) -> io::Result<PlatformServer> {
    let handler = Arc::new(handler);
    PlatformServer::start((Ipv4Addr::LOCALHOST, 0).into(), move |request| {
        let handler = Arc::clone(&handler);
        async move { handler(&Asked::read(request).await) }
    })
}
