//! A simulated platform as an HTTP server of its own.

use std::io;
use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use http::header::AUTHORIZATION;
use http::{Method, Request, Response, StatusCode};
use http_body_util::{BodyExt, LengthLimitError, Limited};
use hyper::body::Incoming;
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper_util::rt::{TokioIo, TokioTimer};
use parking_lot::{Mutex, MutexGuard};
use tokio::net::{TcpListener, TcpSocket, TcpStream};
use tokio::sync::{OwnedSemaphorePermit, Semaphore};
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;

use super::api::{self, Question, Reply};
use super::body::{self, Body};
use super::platform::Platform;
use super::profile::{Misbehaviour, Profile};
use super::throttle::Throttle;

/// Most connections at a time; others wait to be taken in.
const CONNECTIONS_MAX: usize = 1024;

/// How many connections may wait to be taken in.
const BACKLOG: u32 = 1024;

/// Most bytes of a request's head, and of its first line.
const HEAD_BYTES_MAX: usize = 64 << 10;
const REQUEST_LINE_BYTES_MAX: usize = 8 << 10;

/// How long a client may take for a request's head; also how long it may do nothing.
const HEAD_TIMEOUT: Duration = Duration::from_secs(60);

/// Most bytes of a profile, and how long it may take to arrive.
const PROFILE_BYTES_MAX: usize = 16 << 10;
const PROFILE_TIMEOUT: Duration = Duration::from_secs(10);

/// How long answers that are under way may take when the server stops.
const STOP_TIMEOUT: Duration = Duration::from_secs(2);

/// How long a listener rests that could not take a connection in.
const ACCEPT_PAUSE: Duration = Duration::from_millis(50);

/// Where the profile is read and changed.
const PROFILE_PATH: &str = "/-/profile";

/// A simulated platform that listens. It ends when this is dropped; [`Server::stop`] ends it gently.
#[derive(Debug)]
pub struct Server {
    address: SocketAddr,
    desk: Arc<Desk>,
    tasks: TaskTracker,
}

/// What every connection shares.
#[derive(Debug)]
struct Desk {
    platform: Platform,
    /// What is drawn for each request comes from here.
    origin: u64,
    profile: Mutex<Profile>,
    throttle: Mutex<Throttle>,
    n_requests: AtomicU64,
    /// Every connection takes one.
    places: Arc<Semaphore>,
    /// No more is taken in; what is under way may finish.
    stopping: CancellationToken,
    /// Nothing may finish any more.
    ending: CancellationToken,
}

/// Why there is no answer: the connection is to be closed.
#[derive(Debug, thiserror::Error)]
#[error("the connection is closed without an answer")]
struct Closed;

impl Server {
    /// Begins to listen; port 0 picks a free one. To be called where tasks can be spawned.
    pub fn start(platform: Platform, listen: SocketAddr) -> io::Result<Self> {
        let bad = |why| io::Error::new(io::ErrorKind::InvalidInput, why);
        platform.check().map_err(bad)?;
        let socket = if listen.is_ipv4() { TcpSocket::new_v4()? } else { TcpSocket::new_v6()? };
        // A server that was stopped a moment ago doesn't keep its address.
        socket.set_reuseaddr(true)?;
        socket.bind(listen)?;
        let socket = socket.listen(BACKLOG)?;
        let address = socket.local_addr()?;
        let desk = Arc::new(Desk {
            profile: Mutex::new(platform.profile),
            origin: platform.origin(),
            platform,
            places: Arc::new(Semaphore::new(CONNECTIONS_MAX)),
            throttle: Mutex::default(),
            n_requests: AtomicU64::new(0),
            stopping: CancellationToken::new(),
            ending: CancellationToken::new(),
        });
        let tasks = TaskTracker::new();
        tasks.spawn(accept(socket, Arc::clone(&desk), tasks.clone()));
        Ok(Self { address, desk, tasks })
    }

    /// Where it listens.
    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// What an account's `baseUrl` must be to reach it.
    pub fn url(&self) -> String {
        let mut reached = self.address;
        if reached.ip().is_unspecified() {
            // Everywhere is a place to listen, not one to connect to.
            match reached {
                SocketAddr::V4(_) => reached.set_ip(std::net::Ipv4Addr::LOCALHOST.into()),
                SocketAddr::V6(_) => reached.set_ip(std::net::Ipv6Addr::LOCALHOST.into()),
            }
        }
        format!("http://{reached}")
    }

    /// What it is like.
    pub fn platform(&self) -> &Platform {
        &self.desk.platform
    }

    /// How it behaves now.
    pub fn profile(&self) -> Profile {
        *self.desk.profile()
    }

    /// Makes it behave otherwise, from the next request on.
    pub fn set_profile(&self, profile: Profile) {
        *self.desk.profile() = profile;
    }

    /// How many requests have come, those for the profile aside.
    pub fn requests(&self) -> u64 {
        self.desk.n_requests.load(Ordering::Relaxed)
    }

    /// Takes no more requests, finishes those that are under way if that is soon, and ends.
    pub async fn stop(self) {
        self.desk.stopping.cancel();
        self.tasks.close();
        if tokio::time::timeout(STOP_TIMEOUT, self.tasks.wait()).await.is_err() {
            self.desk.ending.cancel();
            self.tasks.wait().await;
        }
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        self.desk.stopping.cancel();
        self.desk.ending.cancel();
    }
}

async fn accept(socket: TcpListener, desk: Arc<Desk>, tasks: TaskTracker) {
    loop {
        let accepted = async {
            let place = Arc::clone(&desk.places).acquire_owned().await;
            let place = place.expect("nobody closes the semaphore");
            socket.accept().await.map(|(stream, _)| (stream, place))
        };
        let accepted = tokio::select! {
            accepted = accepted => accepted,
            () = desk.stopping.cancelled() => return,
        };
        match accepted {
            Ok((stream, place)) => {
                tasks.spawn(converse(stream, place, Arc::clone(&desk)));
            }
            Err(cause) => {
                tracing::warn!(%cause, "a connection could not be accepted");
                tokio::time::sleep(ACCEPT_PAUSE).await;
            }
        }
    }
}

/// Answers the requests of a connection until it ends.
async fn converse(stream: TcpStream, _place: OwnedSemaphorePermit, desk: Arc<Desk>) {
    // Answers are small and whole: waiting to fill a packet only makes them late.
    let _ = stream.set_nodelay(true);
    let service = service_fn(|request| desk.respond(request));
    let mut http = http1::Builder::new();
    http.timer(TokioTimer::new()).header_read_timeout(HEAD_TIMEOUT).max_header_size(HEAD_BYTES_MAX);
    let mut connection = std::pin::pin!(http.serve_connection(TokioIo::new(stream), service));
    let mut is_stopping = false;
    loop {
        tokio::select! {
            biased;
            ended = &mut connection => {
                if let Err(cause) = ended {
                    tracing::debug!(%cause, "a connection ended badly");
                }
                return;
            }
            () = desk.ending.cancelled() => return,
            () = desk.stopping.cancelled(), if !is_stopping => {
                is_stopping = true;
                connection.as_mut().graceful_shutdown();
            }
        }
    }
}

impl Desk {
    async fn respond(&self, request: Request<Incoming>) -> Result<Response<Body>, Closed> {
        if request_line_bytes(&request) > REQUEST_LINE_BYTES_MAX {
            let message = format!("the request line may have {REQUEST_LINE_BYTES_MAX} bytes");
            return Ok(whole(api::error_reply(StatusCode::URI_TOO_LONG, &message)));
        }
        if request.uri().path() == PROFILE_PATH {
            return Ok(whole(self.show_profile(request).await));
        }
        let (arrived, n_request) =
            (Instant::now(), self.n_requests.fetch_add(1, Ordering::Relaxed));
        let profile = *self.profile();
        // What an answer costs this machine is a part of its time, not added to it.
        let answer = match profile.fault {
            Misbehaviour::Hang | Misbehaviour::Reset => None,
            _ => Some(self.answer(&request, &profile, n_request)),
        };
        let latency = profile.latency(self.origin, n_request);
        if !latency.is_zero() {
            tokio::time::sleep_until(arrived + latency).await;
        }
        if profile.fault == Misbehaviour::Hang {
            self.stopping.cancelled().await;
        }
        answer.ok_or(Closed)
    }

    /// What a request is answered with.
    fn answer(
        &self,
        request: &Request<Incoming>,
        profile: &Profile,
        n_request: u64,
    ) -> Response<Body> {
        if !self.throttle.lock().take(Instant::now(), profile.throttle_per_second) {
            return whole(api::throttled(profile));
        }
        if profile.fails(self.origin, n_request) {
            let message = "this request is one of those that fail";
            return whole(api::error_reply(profile.error_status, message));
        }
        let authorization = request.headers().get(AUTHORIZATION);
        let question = Question {
            method: request.method(),
            path: request.uri().path(),
            query: request.uri().query().unwrap_or_default(),
            authorization: authorization.and_then(|value| value.to_str().ok()),
        };
        let reply = api::answer(&self.platform, profile, question);
        match profile.fault {
            Misbehaviour::Trickle => reply.map(body::trickling),
            Misbehaviour::Huge if reply.status().is_success() => reply.map(|_| body::huge()),
            _ => whole(reply),
        }
    }

    /// Shows the profile, and changes it before.
    async fn show_profile(&self, request: Request<Incoming>) -> Reply {
        let method = request.method().clone();
        if method == Method::GET {
            return api::json_reply(&self.profile().to_json());
        }
        if method != Method::PUT && method != Method::PATCH {
            return api::method_not_allowed("GET, PUT, PATCH");
        }
        let read = Limited::new(request.into_body(), PROFILE_BYTES_MAX).collect();
        let body = match tokio::time::timeout(PROFILE_TIMEOUT, read).await {
            Ok(Ok(collected)) => collected.to_bytes(),
            Ok(Err(cause)) if cause.is::<LengthLimitError>() => {
                let message = format!("a profile may have {PROFILE_BYTES_MAX} bytes");
                return api::error_reply(StatusCode::PAYLOAD_TOO_LARGE, &message);
            }
            Ok(Err(_)) => return api::bad_request("the body broke off"),
            Err(_) => {
                let message = "the body took too long";
                return api::error_reply(StatusCode::REQUEST_TIMEOUT, message);
            }
        };
        let mut profile = self.profile();
        let before = if method == Method::PUT { Profile::default() } else { *profile };
        match before.changed(&body) {
            Ok(changed) => {
                *profile = changed;
                api::json_reply(&changed.to_json())
            }
            Err(faults) => api::bad_request(&faults.join("; ")),
        }
    }

    fn profile(&self) -> MutexGuard<'_, Profile> {
        self.profile.lock()
    }
}

fn whole(reply: Reply) -> Response<Body> {
    reply.map(body::whole)
}

fn request_line_bytes(request: &Request<Incoming>) -> usize {
    let target = request.uri().path_and_query().map_or(0, |it| it.as_str().len());
    request.method().as_str().len() + " ".len() + target + " HTTP/1.1".len()
}

#[cfg(test)]
mod tests;
