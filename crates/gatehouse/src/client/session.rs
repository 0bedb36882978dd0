//! Who asks: a token that was given, or one that `gatehouse login` got and keeps, and renews when it is old.
//!
//! | file | what it has |
//! |---|---|
//! | `file` | what is kept, and where |
//! | `renewal` | how the next token is got |

mod file;
mod renewal;

use file::LockTrouble;
pub(crate) use file::{Kept, SessionFile, profiles};
pub(crate) use renewal::{ClientCredentials, RefreshToken, Renewal, Wish, let_go};

use std::time::Duration;

use tokio::sync::Mutex;

use crate::client::oauth::{self, Refusal};
use crate::client::profile::ProfileName;
use crate::client::wire::{self, Talk, http_client};
use crate::failure::{Failure, Kind};
use crate::terminal::screen::remark;
use crate::terminal::secret::Secret;

/// How long a token must be good for, so that it is still good where the request arrives.
const LEFT_SECONDS_MIN: i64 = 30;

/// How long it may take to get the next one. Nobody can interrupt it.
const EXCHANGE_TIMEOUT: Duration = Duration::from_secs(45);

/// Why a session is over that has no way to go on.
const NOT_RENEWABLE: &str = "its token has expired and can't be renewed";

/// What requests go out with.
pub(crate) enum Session {
    Given(Secret),
    Kept(Box<KeptSession>),
}

/// A session that is kept in a file, and goes on there.
pub(crate) struct KeptSession {
    profile: ProfileName,
    file: SessionFile,
    url: String,
    /// Waiting for a long batch outlives many tokens.
    latest: Mutex<Latest>,
}

/// The token as it is known here.
struct Latest {
    kept: Kept,
    /// What the file has instead, where this could not be written: then this is the only place that has it.
    unsaved_beside: Option<Secret>,
}

impl Session {
    /// A token that was given with the command.
    pub(crate) fn given(token: &str) -> Result<Self, Failure> {
        if token.is_empty() {
            return Err(Failure::input("the token that was given is empty"));
        }
        Ok(Self::Given(Secret::new(token)))
    }

    /// What was kept for a profile.
    pub(crate) fn kept(profile: &str) -> Result<Option<Self>, Failure> {
        let profile: ProfileName = profile.parse()?;
        // Who has no place for such things has kept nothing there.
        let Ok(file) = SessionFile::of(&profile) else { return Ok(None) };
        let kept = file.read()?.map(|kept| {
            let url = kept.url.clone();
            Self::Kept(Box::new(KeptSession {
                profile,
                file,
                url,
                latest: Mutex::new(Latest { kept, unsaved_beside: None }),
            }))
        });
        Ok(kept)
    }

    /// The server that it is for; any, if it was given.
    pub(crate) fn url(&self) -> Option<&str> {
        match self {
            Self::Given(_) => None,
            Self::Kept(kept) => Some(&kept.url),
        }
    }

    /// A token that is good now, as far as is known here.
    pub(crate) async fn token(&self, talk: Talk) -> Result<String, Failure> {
        match self {
            Self::Given(token) => Ok(token.reveal().to_owned()),
            Self::Kept(kept) => kept.token(talk).await,
        }
    }

    /// Gets another token in place of one that a server refused, and tells whether there is one.
    pub(crate) async fn renew(&self, refused: &str, talk: Talk) -> Result<bool, Failure> {
        match self {
            Self::Given(_) => Ok(false),
            Self::Kept(kept) => kept.renew(refused, talk).await,
        }
    }
}

impl KeptSession {
    async fn token(&self, talk: Talk) -> Result<String, Failure> {
        let mut latest = self.latest.lock().await;
        if !latest.kept.is_good(oauth::now(), LEFT_SECONDS_MIN) {
            match self.renewed(&latest, None, talk).await {
                Ok(renewed) => *latest = renewed,
                // The last seconds may do.
                Err(why) if latest.kept.is_good(oauth::now(), 0) => {
                    talk.says(&format!("the token is not renewed: {}", why.said()));
                }
                Err(why) => return Err(why),
            }
        }
        Ok(latest.kept.access_token.reveal().to_owned())
    }

    async fn renew(&self, refused: &str, talk: Talk) -> Result<bool, Failure> {
        let mut latest = self.latest.lock().await;
        if latest.kept.access_token.reveal() == refused {
            if latest.kept.renewal.is_none() {
                return Ok(false);
            }
            *latest = self.renewed(&latest, Some(refused), talk).await?;
        }
        Ok(true)
    }

    /// Gets the next token, unless another process has done so meanwhile, and keeps it.
    async fn renewed(
        &self,
        latest: &Latest,
        refused: Option<&str>,
        talk: Talk,
    ) -> Result<Latest, Failure> {
        let Some(earlier) = &latest.kept.renewal else {
            return Err(self.over(NOT_RENEWABLE, None));
        };
        let lock = match self.file.lock().await {
            Ok(lock) => Some(lock),
            // As in many containers: what can be got at any time need not be kept.
            Err(LockTrouble::Unwritable(_)) if earlier.is_repeatable() => None,
            Err(trouble) => return Err(trouble.into()),
        };
        if let Some(beside) = &latest.unsaved_beside {
            // Somebody may have signed in or out meanwhile: theirs is not written over.
            let now = self.file.read().ok().flatten();
            let may_write = now.is_some_and(|it| it.access_token == *beside);
            let keeper = may_write.then_some(beside);
            return see_through(self.exchange(earlier, keeper, talk));
        }
        let kept = match self.file.read()? {
            None => return Err(self.over("somebody has signed out meanwhile", Some(earlier))),
            Some(kept) if kept.url != self.url => {
                let why = format!("meanwhile it is signed in at {}", kept.url);
                return Err(self.over(&why, Some(earlier)));
            }
            Some(kept) => kept,
        };
        let is_refused = refused == Some(kept.access_token.reveal());
        if !is_refused && kept.is_good(oauth::now(), LEFT_SECONDS_MIN) {
            talk.says("the token was renewed by another process");
            return Ok(Latest { kept, unsaved_beside: None });
        }
        let Some(renewal) = &kept.renewal else { return Err(self.over(NOT_RENEWABLE, None)) };
        talk.says("the token is old, so the next one is asked for");
        let keeper = lock.is_some().then_some(&kept.access_token);
        see_through(self.exchange(renewal, keeper, talk))
    }

    /// Gets the next token and writes it down in place of the one that the file has, if that may be.
    async fn exchange(
        &self,
        renewal: &Renewal,
        in_place_of: Option<&Secret>,
        talk: Talk,
    ) -> Result<Latest, Failure> {
        let client = http_client()?;
        let renewed = tokio::time::timeout(EXCHANGE_TIMEOUT, renewal.renew(&client, talk)).await;
        let renewed = renewed.map_err(|_| {
            Failure::new(Kind::Unreachable, "whoever renews the token doesn't answer in time")
        })?;
        let (granted, next) = renewed.map_err(|refusal| self.not_renewed(refusal, renewal))?;
        let kept = Kept::new(&self.url, granted, Some(next));
        let Some(beside) = in_place_of else {
            let unsaved_beside = Some(Secret::new(""));
            return Ok(Latest { kept, unsaved_beside });
        };
        match self.file.write(&kept) {
            Ok(()) => Ok(Latest { kept, unsaved_beside: None }),
            Err(why) => {
                if !renewal.is_repeatable() {
                    // It is good for this command. The next one can't go on without it.
                    let said = why.said();
                    remark(&format!("gatehouse: note: the renewed token is not kept: {said}"));
                }
                Ok(Latest { kept, unsaved_beside: Some(beside.clone()) })
            }
        }
    }

    fn not_renewed(&self, refusal: Refusal, renewal: &Renewal) -> Failure {
        if refusal.error().is_none() {
            return refusal.into_failure().about("the token can't be renewed");
        }
        let why = refusal.into_failure();
        let why = format!("its token has expired and is not renewed: {}", why.said());
        self.over(&why, Some(renewal))
    }

    /// It can't go on without whoever it is for.
    fn over(&self, why: &str, renewal: Option<&Renewal>) -> Failure {
        let profile = &self.profile;
        let how = match renewal {
            Some(Renewal::RefreshToken(token)) => format!(" --issuer {}", token.issuer),
            Some(Renewal::ClientCredentials(it)) => format!(" --client-id {}", it.client_id),
            None => " --with-token".to_owned(),
        };
        Failure::new(Kind::NotAllowed, format!("the profile `{profile}` is signed out: {why}"))
            .advise(format!("sign in again with `gatehouse login --profile {profile}{how}`"))
    }
}

/// Does something that must not be left half-way when whoever waits for it no longer does: a refresh token that was used and
/// whose successor is lost ends the session. So it has a thread of its own, and the one that asks stands still. (What ends the
/// process ends this, too.)
fn see_through<T: Send>(
    work: impl Future<Output = Result<T, Failure>> + Send,
) -> Result<T, Failure> {
    std::thread::scope(|scope| {
        let worker = scope.spawn(|| wire::run(work));
        worker.join().unwrap_or_else(|_| Err("the token could not be renewed".to_owned().into()))
    })
}
