//! Requests to a replayed platform, read with their bodies, and its responses.

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

/// A request with its body.
pub(crate) struct ReceivedRequest {
    pub(crate) method: Method,
    pub(crate) path: String,
    pub(crate) query: String,
    pub(crate) headers: HeaderMap,
    pub(crate) body: Bytes,
}

/// A response.
#[derive(Clone, Debug, Default)]
pub(crate) struct ReplayResponse {
    pub(crate) status: u16,
    pub(crate) headers: Vec<(String, String)>,
    pub(crate) body: Bytes,
}

impl ReceivedRequest {
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

    /// Decoded names and values of the query.
    pub(crate) fn pairs(&self) -> Vec<(String, String)> {
        pairs(&self.query)
    }

    /// Path and query.
    pub(crate) fn target(&self) -> String {
        if self.query.is_empty() {
            self.path.clone()
        } else {
            format!("{}?{}", self.path, self.query)
        }
    }
}

/// Decoded names and values of a query or a form.
pub(crate) fn pairs(text: &str) -> Vec<(String, String)> {
    let decoded = |text: &str| {
        let text = text.replace('+', " ");
        percent_decode_str(&text).decode_utf8_lossy().into_owned()
    };
    let pairs = text.split('&').filter(|it| !it.is_empty());
    let pairs = pairs.map(|pair| pair.split_once('=').unwrap_or((pair, "")));
    pairs.map(|(name, value)| (decoded(name), decoded(value))).collect()
}

impl ReplayResponse {
    /// A JSON response.
    pub(crate) fn json(status: u16, body: &Value) -> Self {
        let headers = vec![("content-type".to_owned(), "application/json".to_owned())];
        Self { status, headers, body: body.to_string().into() }
    }
}

impl From<ReplayResponse> for Reply {
    fn from(replayed: ReplayResponse) -> Self {
        let mut response = Response::new(replayed.body);
        *response.status_mut() =
            StatusCode::from_u16(replayed.status).unwrap_or(StatusCode::INTERNAL_SERVER_ERROR);
        for (name, value) in replayed.headers {
            let name = HeaderName::from_bytes(name.as_bytes());
            if let (Ok(name), Ok(value)) = (name, HeaderValue::from_str(&value)) {
                response.headers_mut().append(name, value);
            }
        }
        response.into()
    }
}

/// Serves requests on a free local port.
pub(crate) fn serve(
    handler: impl Fn(&ReceivedRequest) -> Reply + Send + Sync + 'static,
) -> io::Result<PlatformServer> {
    let handler = Arc::new(handler);
    PlatformServer::start((Ipv4Addr::LOCALHOST, 0).into(), move |request| {
        let handler = Arc::clone(&handler);
        async move { handler(&ReceivedRequest::read(request).await) }
    })
}
