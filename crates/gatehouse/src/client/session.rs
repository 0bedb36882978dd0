//! Sessions: a token from the command line, or one that `gatehouse login` stored and that is renewed before it expires.
//!
//! | file | contents |
//! |---|---|
//! | `file` | the stored session, and its file |
//! | `renewal` | getting the next token |

mod file;
mod renewal;

use file::LockFailure;
pub(crate) use file::{SessionFile, StoredSession, profiles};
pub(crate) use renewal::{ClientCredentials, RefreshToken, Renewal, TokenSpec, revoke};

use std::time::Duration;

use tokio::sync::Mutex;

use crate::client::oauth::{self, TokenError};
use crate::client::profile::ProfileName;
use crate::client::wire::{Verbose, http_client};
use crate::failure::{Failure, FailureKind};
use crate::runtime;
use crate::terminal::screen::print_notice;
use crate::terminal::secret::Secret;

/// Remaining lifetime that a token must have, so that it is still valid when the request arrives.
const LIFETIME_SECONDS_MIN: i64 = 30;

/// Timeout of a renewal, which can't be interrupted.
const EXCHANGE_TIMEOUT: Duration = Duration::from_secs(45);

const NOT_RENEWABLE: &str = "its token has expired and can't be renewed";

/// Credentials of requests.
pub(crate) enum Session {
    Given(Secret),
    Stored(Box<FileSession>),
}

/// A session in a file, which is renewed there.
pub(crate) struct FileSession {
    profile: ProfileName,
    file: SessionFile,
    url: String,
    /// Locked, because a long wait for a batch outlives many tokens.
    latest: Mutex<Latest>,
}

/// The newest known token.
struct Latest {
    stored: StoredSession,
    /// The file's token, where the newer one could not be written and exists only here.
    file_token: Option<Secret>,
}

impl Session {
    /// A token from the command line.
    pub(crate) fn given(token: &str) -> Result<Self, Failure> {
        if token.is_empty() {
            return Err(Failure::input("the token that was given is empty"));
        }
        Ok(Self::Given(Secret::new(token)))
    }

    /// The session stored for a profile.
    pub(crate) fn stored(profile: &str) -> Result<Option<Self>, Failure> {
        let profile: ProfileName = profile.parse()?;
        // Without a home directory nothing can be stored.
        let Ok(file) = SessionFile::of(&profile) else { return Ok(None) };
        let stored = file.read()?.map(|stored| {
            let url = stored.url.clone();
            Self::Stored(Box::new(FileSession {
                profile,
                file,
                url,
                latest: Mutex::new(Latest { stored, file_token: None }),
            }))
        });
        Ok(stored)
    }

    /// The session's server; `None` for a token from the command line, which is for any.
    pub(crate) fn url(&self) -> Option<&str> {
        match self {
            Self::Given(_) => None,
            Self::Stored(stored) => Some(&stored.url),
        }
    }

    /// A token that has not expired by this machine's clock.
    pub(crate) async fn token(&self, verbose: Verbose) -> Result<String, Failure> {
        match self {
            Self::Given(token) => Ok(token.reveal().to_owned()),
            Self::Stored(stored) => stored.token(verbose).await,
        }
    }

    /// Replaces a token that the server refused; returns whether there is a new one.
    pub(crate) async fn renew(&self, refused: &str, verbose: Verbose) -> Result<bool, Failure> {
        match self {
            Self::Given(_) => Ok(false),
            Self::Stored(stored) => stored.renew(refused, verbose).await,
        }
    }
}

impl FileSession {
    async fn token(&self, verbose: Verbose) -> Result<String, Failure> {
        let mut latest = self.latest.lock().await;
        if !latest.stored.is_valid_for(oauth::now(), LIFETIME_SECONDS_MIN) {
            match self.renewed(&latest, None, verbose).await {
                Ok(renewed) => *latest = renewed,
                // The old token's last seconds may suffice.
                Err(why) if latest.stored.is_valid_for(oauth::now(), 0) => {
                    verbose.note(&format!("the token is not renewed: {}", why.message()));
                }
                Err(why) => return Err(why),
            }
        }
        Ok(latest.stored.access_token.reveal().to_owned())
    }

    async fn renew(&self, refused: &str, verbose: Verbose) -> Result<bool, Failure> {
        let mut latest = self.latest.lock().await;
        if latest.stored.access_token.reveal() == refused {
            if latest.stored.renewal.is_none() {
                return Ok(false);
            }
            *latest = self.renewed(&latest, Some(refused), verbose).await?;
        }
        Ok(true)
    }

    /// Gets and stores the next token, unless another process has done so meanwhile.
    async fn renewed(
        &self,
        latest: &Latest,
        refused: Option<&str>,
        verbose: Verbose,
    ) -> Result<Latest, Failure> {
        let Some(earlier) = &latest.stored.renewal else {
            return Err(self.signed_out(NOT_RENEWABLE, None));
        };
        let lock = match self.file.lock().await {
            Ok(lock) => Some(lock),
            // As in many containers: a token that can be requested again need not be stored.
            Err(LockFailure::Unwritable(_)) if earlier.is_repeatable() => None,
            Err(failure) => return Err(failure.into()),
        };
        if let Some(replaced) = &latest.file_token {
            // Another command may have signed in or out meanwhile: its session is not overwritten.
            let now = self.file.read().ok().flatten();
            let may_write = now.is_some_and(|it| it.access_token == *replaced);
            let replaced = may_write.then_some(replaced);
            return run_to_completion(self.exchange(earlier, replaced, verbose));
        }
        let stored = match self.file.read()? {
            None => {
                return Err(
                    self.signed_out("another command has signed out meanwhile", Some(earlier))
                );
            }
            Some(stored) if stored.url != self.url => {
                let why = format!("another command has signed in at {} meanwhile", stored.url);
                return Err(self.signed_out(&why, Some(earlier)));
            }
            Some(stored) => stored,
        };
        let is_refused = refused == Some(stored.access_token.reveal());
        if !is_refused && stored.is_valid_for(oauth::now(), LIFETIME_SECONDS_MIN) {
            verbose.note("the token was renewed by another process");
            return Ok(Latest { stored, file_token: None });
        }
        let Some(renewal) = &stored.renewal else {
            return Err(self.signed_out(NOT_RENEWABLE, None));
        };
        verbose.note("the token expires soon or was refused, so it is renewed");
        let file_token = lock.is_some().then_some(&stored.access_token);
        run_to_completion(self.exchange(renewal, file_token, verbose))
    }

    /// Gets the next token and, if allowed, replaces the file's.
    async fn exchange(
        &self,
        renewal: &Renewal,
        file_token: Option<&Secret>,
        verbose: Verbose,
    ) -> Result<Latest, Failure> {
        let client = http_client()?;
        let renewed = tokio::time::timeout(EXCHANGE_TIMEOUT, renewal.renew(&client, verbose)).await;
        let renewed = renewed.map_err(|_| {
            Failure::new(FailureKind::Unreachable, "the token endpoint doesn't answer in time")
        })?;
        let (granted, next) = renewed.map_err(|error| self.not_renewed(error, renewal))?;
        let stored = StoredSession::new(&self.url, granted, Some(next));
        let Some(file_token) = file_token else {
            // No file has this token, so the session is never written to one.
            let file_token = Some(Secret::new(""));
            return Ok(Latest { stored, file_token });
        };
        match self.file.write(&stored) {
            Ok(()) => Ok(Latest { stored, file_token: None }),
            Err(why) => {
                if !renewal.is_repeatable() {
                    // The token is valid for this command, but the next command can't renew it.
                    let message = why.message();
                    print_notice(&format!(
                        "gatehouse: note: the renewed token is not stored: {message}"
                    ));
                }
                Ok(Latest { stored, file_token: Some(file_token.clone()) })
            }
        }
    }

    fn not_renewed(&self, error: TokenError, renewal: &Renewal) -> Failure {
        if error.error().is_none() {
            return error.into_failure().with_context("the token can't be renewed");
        }
        let why = error.into_failure();
        let why = format!("its token has expired and is not renewed: {}", why.message());
        self.signed_out(&why, Some(renewal))
    }

    /// The failure of a session that can't be renewed.
    fn signed_out(&self, why: &str, renewal: Option<&Renewal>) -> Failure {
        let profile = &self.profile;
        let how = match renewal {
            Some(Renewal::RefreshToken(token)) => format!(" --issuer {}", token.issuer),
            Some(Renewal::ClientCredentials(it)) => format!(" --client-id {}", it.client_id),
            None => " --with-token".to_owned(),
        };
        Failure::new(
            FailureKind::NotAllowed,
            format!("the profile `{profile}` is signed out: {why}"),
        )
        .advise(format!("sign in again with `gatehouse login --profile {profile}{how}`"))
    }
}

/// Runs a renewal to its end even if the caller is cancelled: a used refresh token whose successor is lost ends the
/// session. So it has a thread of its own, and blocks the caller's. Ending the process still interrupts it.
fn run_to_completion<T: Send>(
    work: impl Future<Output = Result<T, Failure>> + Send,
) -> Result<T, Failure> {
    std::thread::scope(|scope| {
        let worker = scope.spawn(|| runtime::run(work));
        worker.join().unwrap_or_else(|_| Err("the token could not be renewed".to_owned().into()))
    })
}
