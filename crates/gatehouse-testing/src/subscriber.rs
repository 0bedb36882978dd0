//! A subscriber of events: it keeps every message, and answers as a test wants.

use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use http::header::{HeaderValue, LOCATION};
use http::{HeaderMap, Request, Response, StatusCode};
use http_body_util::{BodyExt, Empty};
use hyper::body::Incoming;
use hyper::service::service_fn;
use hyper_util::rt::TokioIo;
use parking_lot::Mutex;
use serde_json::Value;
use tokio::net::TcpListener;
use tokio::sync::watch;
use tokio::task::JoinSet;
use tokio::time::timeout;

/// Longest wait for messages that don't come.
const HANGING: Duration = Duration::from_secs(60);

/// A message that a subscriber got.
#[derive(Clone, Debug)]
pub struct Message {
    /// The request's headers.
    pub headers: HeaderMap,
    /// The request's body.
    pub body: Bytes,
    /// The status that the subscriber has answered.
    pub status: u16,
}

/// Decides on the status of the response to a message; with 0 there is no response.
type Decide = dyn FnMut(&Message) -> u16 + Send;

/// A subscriber on this machine, until it is dropped.
pub struct Subscriber {
    url: String,
    messages: watch::Receiver<Vec<Message>>,
    decide: Arc<Mutex<Box<Decide>>>,
    _tasks: JoinSet<()>,
}

impl Message {
    /// A header's value; empty if it is missing.
    pub fn header(&self, name: &str) -> &str {
        self.headers.get(name).and_then(|it| it.to_str().ok()).unwrap_or_default()
    }

    /// The body as JSON.
    ///
    /// # Panics
    ///
    /// When it is none.
    pub fn json(&self) -> Value {
        serde_json::from_slice(&self.body).expect("a message is JSON")
    }
}

impl Subscriber {
    /// Starts a subscriber that decides on each message.
    ///
    /// # Panics
    ///
    /// When no port is free.
    pub async fn start(decide: impl FnMut(&Message) -> u16 + Send + 'static) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.expect("a port is free");
        let address = listener.local_addr().expect("a listener has an address");
        let (sender, messages) = watch::channel(Vec::new());
        let sender = Arc::new(sender);
        let decide: Arc<Mutex<Box<Decide>>> = Arc::new(Mutex::new(Box::new(decide)));
        let mut tasks = JoinSet::new();
        let decides = Arc::clone(&decide);
        tasks.spawn(async move {
            let mut connections = JoinSet::new();
            while let Ok((stream, _)) = listener.accept().await {
                let (sender, decide) = (Arc::clone(&sender), Arc::clone(&decides));
                connections.spawn(async move {
                    let answer =
                        service_fn(async |request| answer(&sender, &decide, request).await);
                    let http = hyper::server::conn::http1::Builder::new();
                    // An error is the end of a connection that the test or the sender has closed.
                    let _ = http.serve_connection(TokioIo::new(stream), answer).await;
                });
            }
        });
        Self { url: format!("http://{address}/events"), messages, decide, _tasks: tasks }
    }

    /// A subscriber that takes every message.
    pub async fn willing() -> Self {
        Self::start(|_| 204).await
    }

    /// The address to subscribe with.
    pub fn url(&self) -> &str {
        &self.url
    }

    /// Decides otherwise from now on.
    pub fn answer(&self, decide: impl FnMut(&Message) -> u16 + Send + 'static) {
        *self.decide.lock() = Box::new(decide);
    }

    /// All messages so far.
    pub fn messages(&self) -> Vec<Message> {
        self.messages.borrow().clone()
    }

    /// All messages, as soon as they are as a test wants them.
    ///
    /// # Panics
    ///
    /// When that takes a minute.
    pub async fn until(&self, is_enough: impl Fn(&[Message]) -> bool) -> Vec<Message> {
        let mut messages = self.messages.clone();
        let enough = timeout(HANGING, messages.wait_for(|it| is_enough(it))).await;
        match enough {
            Ok(enough) => enough.expect("the subscriber is there").clone(),
            Err(_) => panic!("no more messages than {:#?}", self.messages()),
        }
    }
}

async fn answer(
    sender: &watch::Sender<Vec<Message>>,
    decide: &Mutex<Box<Decide>>,
    request: Request<Incoming>,
) -> Result<Response<Empty<Bytes>>, hyper::Error> {
    let (parts, body) = request.into_parts();
    let body = body.collect().await?.to_bytes();
    let mut message = Message { headers: parts.headers, body, status: 0 };
    message.status = decide.lock()(&message);
    let status = message.status;
    sender.send_modify(|all| all.push(message));
    match StatusCode::from_u16(status) {
        Ok(status) => {
            let mut response = Response::new(Empty::new());
            *response.status_mut() = status;
            if status.is_redirection() {
                // To where a message would be taken.
                let elsewhere = HeaderValue::from_static("/elsewhere");
                response.headers_mut().insert(LOCATION, elsewhere);
            }
            Ok(response)
        }
        // Never answered: the sender gives up, or the connection ends with the subscriber.
        Err(_) => std::future::pending().await,
    }
}
