//! A simulated platform as an HTTP server of its own.

use std::io;
use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use http::header::AUTHORIZATION;
use http::{Method, Request, StatusCode};
use http_body_util::{BodyExt, LengthLimitError, Limited};
use hyper::body::Incoming;
use parking_lot::{Mutex, MutexGuard};
use tokio::time::Instant;

use super::api::{self, Answer, Question};
use super::body;
use super::platform::Platform;
use super::profile::{Misbehaviour, Profile};
use super::throttle::Throttle;
use crate::platform_server::{PlatformServer, Reply};

/// Most bytes of a request's first line.
const REQUEST_LINE_BYTES_MAX: usize = 8 << 10;

/// Most bytes of a profile, and how long it may take to arrive.
const PROFILE_BYTES_MAX: usize = 16 << 10;
const PROFILE_TIMEOUT: Duration = Duration::from_secs(10);

/// Where the profile is read and changed.
const PROFILE_PATH: &str = "/-/profile";

/// A simulated platform that listens. It ends when this is dropped; [`Server::stop`] ends it gently.
#[derive(Debug)]
pub struct Server {
    http: PlatformServer,
    responder: Arc<Responder>,
}

/// Answers the requests of all connections.
#[derive(Debug)]
struct Responder {
    platform: Platform,
    /// What is drawn for each request comes from here.
    origin: u64,
    profile: Mutex<Profile>,
    throttle: Mutex<Throttle>,
    n_requests: AtomicU64,
}

impl Server {
    /// Begins to listen; port 0 picks a free one. To be called where tasks can be spawned.
    pub fn start(platform: Platform, listen: SocketAddr) -> io::Result<Self> {
        let bad = |why| io::Error::new(io::ErrorKind::InvalidInput, why);
        platform.check().map_err(bad)?;
        let responder = Arc::new(Responder {
            profile: Mutex::new(platform.profile),
            origin: platform.origin(),
            platform,
            throttle: Mutex::default(),
            n_requests: AtomicU64::new(0),
        });
        let answering = Arc::clone(&responder);
        let http = PlatformServer::start(listen, move |request| {
            let responder = Arc::clone(&answering);
            async move { responder.respond(request).await }
        })?;
        Ok(Self { http, responder })
    }

    /// Where it listens.
    pub fn address(&self) -> SocketAddr {
        self.http.address()
    }

    /// What an account's `baseUrl` must be to reach it.
    pub fn url(&self) -> String {
        self.http.url()
    }

    /// What it is like.
    pub fn platform(&self) -> &Platform {
        &self.responder.platform
    }

    /// How it behaves now.
    pub fn profile(&self) -> Profile {
        *self.responder.profile()
    }

    /// Makes it behave otherwise, from the next request on.
    pub fn set_profile(&self, profile: Profile) {
        *self.responder.profile() = profile;
    }

    /// How many requests have come, those for the profile aside.
    pub fn requests(&self) -> u64 {
        self.responder.n_requests.load(Ordering::Relaxed)
    }

    /// Takes no more requests, finishes those that are under way if that is soon, and ends.
    pub async fn stop(self) {
        self.http.stop().await;
    }
}

impl Responder {
    async fn respond(&self, request: Request<Incoming>) -> Reply {
        if request_line_bytes(&request) > REQUEST_LINE_BYTES_MAX {
            let message = format!("the request line may have {REQUEST_LINE_BYTES_MAX} bytes");
            return api::error_reply(StatusCode::URI_TOO_LONG, &message).into();
        }
        if request.uri().path() == PROFILE_PATH {
            return self.show_profile(request).await.into();
        }
        let (arrived, n_request) =
            (Instant::now(), self.n_requests.fetch_add(1, Ordering::Relaxed));
        let profile = *self.profile();
        // What an answer costs this machine is a part of its time, not added to it.
        let reply = match profile.fault {
            Misbehaviour::Hang => Reply::Silence,
            Misbehaviour::Reset => Reply::Close,
            _ => self.answer(&request, &profile, n_request),
        };
        let latency = profile.latency(self.origin, n_request);
        if !latency.is_zero() {
            tokio::time::sleep_until(arrived + latency).await;
        }
        reply
    }

    /// What a request is answered with.
    fn answer(&self, request: &Request<Incoming>, profile: &Profile, n_request: u64) -> Reply {
        if !self.throttle.lock().take(Instant::now(), profile.throttle_per_second) {
            return api::throttled(profile).into();
        }
        if profile.fails(self.origin, n_request) {
            let message = "this request is one of those that fail";
            return api::error_reply(profile.error_status, message).into();
        }
        let authorization = request.headers().get(AUTHORIZATION);
        let question = Question {
            method: request.method(),
            path: request.uri().path(),
            query: request.uri().query().unwrap_or_default(),
            authorization: authorization.and_then(|value| value.to_str().ok()),
        };
        let answer = api::answer(&self.platform, profile, question);
        match profile.fault {
            Misbehaviour::Trickle => Reply::Response(answer.map(body::trickling)),
            Misbehaviour::Huge if answer.status().is_success() => {
                Reply::Response(answer.map(|_| body::huge()))
            }
            _ => answer.into(),
        }
    }

    /// Shows the profile, and changes it before.
    async fn show_profile(&self, request: Request<Incoming>) -> Answer {
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

fn request_line_bytes(request: &Request<Incoming>) -> usize {
    let target = request.uri().path_and_query().map_or(0, |it| it.as_str().len());
    request.method().as_str().len() + " ".len() + target + " HTTP/1.1".len()
}

#[cfg(test)]
mod tests;
