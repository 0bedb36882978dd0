//! HTTP server of a simulated platform.

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

use super::api::{self, FullResponse, RequestHead};
use super::body;
use super::platform::Platform;
use super::profile::{Misbehaviour, Profile};
use super::throttle::Throttle;
use crate::platform_server::{PlatformServer, Reply};

/// Most bytes of a request's first line.
const REQUEST_LINE_BYTES_MAX: usize = 8 << 10;

/// Most bytes of a profile, and timeout to receive it.
const PROFILE_BYTES_MAX: usize = 16 << 10;
const PROFILE_TIMEOUT: Duration = Duration::from_secs(10);

/// Path to read and change the profile.
const PROFILE_PATH: &str = "/-/profile";

/// A running simulated platform. Dropping it stops it at once, [`Server::stop`] gracefully.
#[derive(Debug)]
pub struct Server {
    http: PlatformServer,
    responder: Arc<Responder>,
}

/// Responds to the requests of all connections.
#[derive(Debug)]
struct Responder {
    platform: Platform,
    platform_seed: u64,
    profile: Mutex<Profile>,
    throttle: Mutex<Throttle>,
    n_requests: AtomicU64,
}

impl Server {
    /// Starts to listen; port 0 picks a free port. Needs a Tokio runtime.
    pub fn start(platform: Platform, listen: SocketAddr) -> io::Result<Self> {
        let bad = |why| io::Error::new(io::ErrorKind::InvalidInput, why);
        platform.check().map_err(bad)?;
        let responder = Arc::new(Responder {
            profile: Mutex::new(platform.profile),
            platform_seed: platform.platform_seed(),
            platform,
            throttle: Mutex::default(),
            n_requests: AtomicU64::new(0),
        });
        let handler = Arc::clone(&responder);
        let http = PlatformServer::start(listen, move |request| {
            let responder = Arc::clone(&handler);
            async move { responder.respond(request).await }
        })?;
        Ok(Self { http, responder })
    }

    /// The address that the server listens on.
    pub fn address(&self) -> SocketAddr {
        self.http.address()
    }

    /// The `baseUrl` for accounts of this platform.
    pub fn url(&self) -> String {
        self.http.url()
    }

    /// The platform's configuration.
    pub fn platform(&self) -> &Platform {
        &self.responder.platform
    }

    /// The current profile.
    pub fn profile(&self) -> Profile {
        *self.responder.profile()
    }

    /// Replaces the profile, from the next request on.
    pub fn set_profile(&self, profile: Profile) {
        *self.responder.profile() = profile;
    }

    /// Number of requests, without those for the profile.
    pub fn requests(&self) -> u64 {
        self.responder.n_requests.load(Ordering::Relaxed)
    }

    /// Stops accepting requests, completes those in progress within a timeout, and ends.
    pub async fn stop(self) {
        self.http.stop().await;
    }
}

impl Responder {
    async fn respond(&self, request: Request<Incoming>) -> Reply {
        if request_line_bytes(&request) > REQUEST_LINE_BYTES_MAX {
            let message = format!("the request line may have {REQUEST_LINE_BYTES_MAX} bytes");
            return api::error_response(StatusCode::URI_TOO_LONG, &message).into();
        }
        if request.uri().path() == PROFILE_PATH {
            return self.handle_profile(request).await.into();
        }
        let (arrived, n_request) =
            (Instant::now(), self.n_requests.fetch_add(1, Ordering::Relaxed));
        let profile = *self.profile();
        // The time to make the response is part of the latency, not added to it.
        let reply = match profile.fault {
            Misbehaviour::Hang => Reply::Silence,
            Misbehaviour::Reset => Reply::Close,
            _ => self.reply(&request, &profile, n_request),
        };
        let latency = profile.latency(self.platform_seed, n_request);
        if !latency.is_zero() {
            tokio::time::sleep_until(arrived + latency).await;
        }
        reply
    }

    /// The reply to a request, before its latency.
    fn reply(&self, request: &Request<Incoming>, profile: &Profile, n_request: u64) -> Reply {
        if !self.throttle.lock().take(Instant::now(), profile.throttle_per_second) {
            return api::throttled(profile).into();
        }
        if profile.fails(self.platform_seed, n_request) {
            let message = "this request is one of those that fail";
            return api::error_response(profile.error_status, message).into();
        }
        let authorization = request.headers().get(AUTHORIZATION);
        let head = RequestHead {
            method: request.method(),
            path: request.uri().path(),
            query: request.uri().query().unwrap_or_default(),
            authorization: authorization.and_then(|value| value.to_str().ok()),
        };
        let response = api::respond(&self.platform, profile, head);
        match profile.fault {
            Misbehaviour::Trickle => Reply::Response(response.map(body::trickling)),
            Misbehaviour::Huge if response.status().is_success() => {
                Reply::Response(response.map(|_| body::huge()))
            }
            _ => response.into(),
        }
    }

    /// Handles requests to read or change the profile.
    async fn handle_profile(&self, request: Request<Incoming>) -> FullResponse {
        let method = request.method().clone();
        if method == Method::GET {
            return api::json_response(&self.profile().to_json());
        }
        if method != Method::PUT && method != Method::PATCH {
            return api::method_not_allowed("GET, PUT, PATCH");
        }
        let read = Limited::new(request.into_body(), PROFILE_BYTES_MAX).collect();
        let body = match tokio::time::timeout(PROFILE_TIMEOUT, read).await {
            Ok(Ok(collected)) => collected.to_bytes(),
            Ok(Err(cause)) if cause.is::<LengthLimitError>() => {
                let message = format!("a profile may have {PROFILE_BYTES_MAX} bytes");
                return api::error_response(StatusCode::PAYLOAD_TOO_LARGE, &message);
            }
            Ok(Err(_)) => return api::bad_request("the body broke off"),
            Err(_) => {
                let message = "the body took too long";
                return api::error_response(StatusCode::REQUEST_TIMEOUT, message);
            }
        };
        let mut profile = self.profile();
        let before = if method == Method::PUT { Profile::default() } else { *profile };
        match before.with_changes(&body) {
            Ok(changed) => {
                *profile = changed;
                api::json_response(&changed.to_json())
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
