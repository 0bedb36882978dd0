//! Who asks: a token that was given, or one that `gatehouse login` got and keeps, and renews when it is old.
//!
//! | file | what it has |
//! |---|---|
//! | `file` | what is kept, and where |
//! | `renewal` | how the next token is got |

mod file;
mod renewal;

pub(crate) use file::{Kept, SessionFile, profiles};
pub(crate) use renewal::{ClientCredentials, RefreshToken, Renewal, Wish};

use reqwest::Client;
use tokio::sync::Mutex;

use crate::api::Talk;
use crate::failure::{Failure, Kind};
use crate::oauth::{self, Refusal};
use crate::profile::ProfileName;
use crate::secret::Secret;

/// How long a token must be good for, so that it is still good where the request arrives.
const LEFT_SECONDS_MIN: i64 = 30;

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
    latest: Mutex<Kept>,
}

/// A time as people read it: to the minute, in UTC.
pub(crate) fn minute(time: &str) -> String {
    time.get(..16).unwrap_or(time).replace('T', " ")
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
            Self::Kept(Box::new(KeptSession { profile, file, url, latest: Mutex::new(kept) }))
        });
        Ok(kept)
    }

    /// The server that it is for; any, if it was given.
    pub(crate) fn url(&self) -> &str {
        match self {
            Self::Given(_) => "",
            Self::Kept(kept) => &kept.url,
        }
    }

    /// A token that is good now.
    pub(crate) async fn token(&self, client: &Client, talk: Talk) -> Result<String, Failure> {
        match self {
            Self::Given(token) => Ok(token.reveal().to_owned()),
            Self::Kept(kept) => kept.token(client, talk).await,
        }
    }
}

impl KeptSession {
    async fn token(&self, client: &Client, talk: Talk) -> Result<String, Failure> {
        let mut latest = self.latest.lock().await;
        if !latest.is_good(oauth::now(), LEFT_SECONDS_MIN) {
            match self.renewed(&latest, client, talk).await {
                Ok(renewed) => *latest = renewed,
                // The last seconds may do.
                Err(why) if latest.is_good(oauth::now(), 0) => {
                    talk.says(&format!("the token is not renewed: {}", why.said()));
                }
                Err(why) => return Err(why),
            }
        }
        Ok(latest.access_token.reveal().to_owned())
    }

    /// Gets the next token, unless another process has done so meanwhile, and keeps it.
    async fn renewed(&self, earlier: &Kept, client: &Client, talk: Talk) -> Result<Kept, Failure> {
        let Some(earlier_renewal) = &earlier.renewal else {
            return Err(self.over(NOT_RENEWABLE));
        };
        let lock = match self.file.lock().await {
            Ok(lock) => Some(lock),
            // Where nothing can be written, as in many containers, nothing can be spoilt.
            Err(_) if earlier_renewal.is_repeatable() => None,
            Err(why) => return Err(why),
        };
        let kept = match self.file.read()? {
            None => return Err(self.over("somebody has signed out meanwhile")),
            Some(kept) if kept.url != self.url => {
                return Err(self.over(&format!("meanwhile it is signed in at {}", kept.url)));
            }
            Some(kept) => kept,
        };
        if kept.is_good(oauth::now(), LEFT_SECONDS_MIN) {
            talk.says("the token was renewed by another process");
            return Ok(kept);
        }
        let Some(renewal) = &kept.renewal else { return Err(self.over(NOT_RENEWABLE)) };
        talk.says("the token is old, so the next one is asked for");
        let renewed = renewal.renew(client, talk).await;
        let (granted, next) = renewed.map_err(|refusal| self.not_renewed(refusal))?;
        let renewed = Kept::new(&self.url, granted, Some(next));
        if let Err(why) = self.file.write(&renewed) {
            // The token is good for this command. Without a way to keep what follows, the next one can't go on.
            if !renewal.is_repeatable() {
                eprintln!("gatehouse: note: the renewed token is not kept: {}", why.said());
            }
        }
        drop(lock);
        Ok(renewed)
    }

    fn not_renewed(&self, refusal: Refusal) -> Failure {
        if refusal.error().is_none() {
            return refusal.into_failure().about("the token can't be renewed");
        }
        let why = refusal.into_failure();
        self.over(&format!("its token has expired and is not renewed: {}", why.said()))
    }

    /// It can't go on without whoever it is for.
    fn over(&self, why: &str) -> Failure {
        let profile = &self.profile;
        Failure::new(Kind::NotAllowed, format!("the profile `{profile}` is signed out: {why}"))
            .advise(format!("sign in again with `gatehouse login --profile {profile}`"))
    }
}
