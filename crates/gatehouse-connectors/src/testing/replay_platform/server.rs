//! A small HTTP server on this machine, for whoever stands in for a platform.

use std::io;
use std::net::{Ipv4Addr, SocketAddr};
use std::sync::Arc;

use bytes::Bytes;
use http::{HeaderMap, HeaderName, HeaderValue, Method, Request, Response, StatusCode};
use http_body_util::{BodyExt, Full, Limited};
use hyper::body::Incoming;
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper_util::rt::TokioIo;
use percent_encoding::percent_decode_str;
use serde_json::Value;
use tokio::net::TcpListener;
use tokio::task::{JoinHandle, JoinSet};

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

/// What is done with it.
#[derive(Clone, Debug)]
pub(crate) enum Reply {
    /// It is answered.
    Answer(Given),
    /// It is not answered at all.
    Silence,
}

/// An answer.
#[derive(Clone, Debug, Default)]
pub(crate) struct Given {
    pub(crate) status: u16,
    pub(crate) headers: Vec<(String, String)>,
    pub(crate) body: Bytes,
}

/// A server that listens. It ends when this is dropped.
pub(crate) struct Serving {
    address: SocketAddr,
    task: JoinHandle<()>,
}

impl Asked {
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

impl Serving {
    /// Begins to listen on a free port of this machine.
    pub(crate) async fn start(
        handler: Arc<dyn Fn(Asked) -> Reply + Send + Sync>,
    ) -> io::Result<Self> {
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).await?;
        let address = listener.local_addr()?;
        let task = tokio::spawn(async move {
            let mut connections = JoinSet::new();
            while let Ok((stream, _)) = listener.accept().await {
                while connections.try_join_next().is_some() {}
                let handler = Arc::clone(&handler);
                let service = service_fn(move |request| respond(request, Arc::clone(&handler)));
                connections.spawn(async move {
                    let _ = stream.set_nodelay(true);
                    let io = TokioIo::new(stream);
                    // A client may go away at any time.
                    let _ = http1::Builder::new().serve_connection(io, service).await;
                });
            }
        });
        Ok(Self { address, task })
    }

    /// Where it listens.
    pub(crate) fn address(&self) -> SocketAddr {
        self.address
    }
}

impl Drop for Serving {
    fn drop(&mut self) {
        self.task.abort();
    }
}

async fn respond(
    request: Request<Incoming>,
    handler: Arc<dyn Fn(Asked) -> Reply + Send + Sync>,
) -> Result<Response<Full<Bytes>>, hyper::Error> {
    let (head, body) = request.into_parts();
    let body = Limited::new(body, BODY_BYTES_MAX).collect().await;
    let body = body.map(|it| it.to_bytes()).unwrap_or_default();
    let reply = handler(Asked {
        method: head.method,
        path: head.uri.path().to_owned(),
        query: head.uri.query().unwrap_or_default().to_owned(),
        headers: head.headers,
        body,
    });
    let Reply::Answer(given) = reply else { return std::future::pending().await };
    let mut response = Response::new(Full::new(given.body));
    *response.status_mut() =
        StatusCode::from_u16(given.status).unwrap_or(StatusCode::INTERNAL_SERVER_ERROR);
    for (name, value) in given.headers {
        let name = HeaderName::from_bytes(name.as_bytes());
        if let (Ok(name), Ok(value)) = (name, HeaderValue::from_str(&value)) {
            response.headers_mut().append(name, value);
        }
    }
    Ok(response)
}
