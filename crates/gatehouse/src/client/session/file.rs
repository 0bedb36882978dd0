//! The stored session, in a file that only its owner may read.

use std::fs::File;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use gatehouse_core::Timestamp;
use serde::{Deserialize, Serialize};

use super::renewal::Renewal;
use crate::client::home_file;
use crate::client::oauth::TokenResponse;
use crate::client::profile::{self, ProfileName};
use crate::failure::{Failure, FailureKind};
use crate::terminal::screen::print_notice;
use crate::terminal::secret::Secret;

/// Time to wait for another command's lock, and the pause between attempts.
const LOCK_TIMEOUT: Duration = Duration::from_secs(90);
const LOCK_PAUSE: Duration = Duration::from_millis(250);

/// Time after which the wait is shown.
const LOCK_NOTICE_AFTER: Duration = Duration::from_secs(1);

#[derive(Clone, Debug, Deserialize, Serialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct StoredSession {
    /// The token's server; no other server gets the token.
    pub(crate) url: String,
    pub(crate) access_token: Secret,
    /// The token's expiry, if known.
    #[serde(default, with = "as_text", skip_serializing_if = "Option::is_none")]
    pub(crate) expires_at: Option<Timestamp>,
    /// Credentials for the next token; `None` where there are none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) renewal: Option<Renewal>,
}

/// Why a session's file is not locked.
pub(crate) enum LockFailure {
    /// Another command holds the lock.
    Held(Failure),
    /// The directory can't be written.
    Unwritable(Failure),
}

impl From<LockFailure> for Failure {
    fn from(failure: LockFailure) -> Self {
        match failure {
            LockFailure::Held(why) | LockFailure::Unwritable(why) => why,
        }
    }
}

/// A profile's session file, and its lock.
pub(crate) struct SessionFile {
    path: PathBuf,
    lock_path: PathBuf,
}

impl StoredSession {
    /// The session to store for a new token.
    pub(crate) fn new(url: &str, granted: TokenResponse, renewal: Option<Renewal>) -> Self {
        let TokenResponse { access_token, expires_at, .. } = granted;
        Self { url: url.to_owned(), access_token, expires_at, renewal }
    }

    /// Whether the token is valid now and for `more_seconds`.
    pub(crate) fn is_valid_for(&self, now: Timestamp, more_seconds: i64) -> bool {
        self.expires_at.is_none_or(|end| end > now.plus_milliseconds(more_seconds * 1000))
    }
}

impl SessionFile {
    pub(crate) fn of(profile: &ProfileName) -> Result<Self, Failure> {
        Ok(Self::at(&directory()?, profile))
    }

    fn at(directory: &Path, profile: &ProfileName) -> Self {
        let at = |ending| directory.join(format!("{profile}.{ending}"));
        Self { path: at("json"), lock_path: at("lock") }
    }

    pub(crate) fn path(&self) -> &Path {
        &self.path
    }

    /// The stored session, if other users can't have read it.
    pub(crate) fn read(&self) -> Result<Option<StoredSession>, Failure> {
        let path = self.path.display();
        let Some((text, mode)) = self.read_text()? else { return Ok(None) };
        if mode & 0o077 != 0 {
            let message = format!(
                "{path} has the permissions {mode:04o}, so other users may have read its token: it is not used"
            );
            return Err(Failure::new(FailureKind::NotAllowed, message).advise(format!(
                "remove it with `gatehouse logout`, and sign in again; if no other user can have read it, `chmod 600 {path}`"
            )));
        }
        self.parse(&text).map(Some)
    }

    /// The stored session, whatever its permissions: to sign out.
    pub(crate) fn read_for_logout(&self) -> Result<Option<StoredSession>, Failure> {
        self.read_text()?.map(|(text, _)| self.parse(&text)).transpose()
    }

    fn read_text(&self) -> Result<Option<(String, u32)>, Failure> {
        let path = self.path.display();
        let read = home_file::read(&self.path);
        read.map_err(|why| Failure::input(format!("{path} can't be read: {why}")))
    }

    fn parse(&self, text: &str) -> Result<StoredSession, Failure> {
        let path = self.path.display();
        // The parser's error may quote a secret, so it isn't shown.
        serde_json::from_str(text).map_err(|_| {
            Failure::input(format!("{path} is not what `gatehouse login` wrote"))
                .advise("remove it with `gatehouse logout`, and sign in again")
        })
    }

    /// Replaces the stored session.
    pub(crate) fn write(&self, stored: &StoredSession) -> Result<(), Failure> {
        let text = serde_json::to_string_pretty(stored);
        let text = text.map_err(|why| format!("a session can't be written as JSON: {why}"))?;
        self.make_directory()?;
        home_file::write(&self.path, (text + "\n").as_bytes())
    }

    /// Removes the file; returns whether it existed.
    pub(crate) fn remove(&self) -> Result<bool, Failure> {
        match std::fs::remove_file(&self.path) {
            Ok(()) => Ok(true),
            Err(why) if why.kind() == std::io::ErrorKind::NotFound => Ok(false),
            Err(why) => {
                let path = self.path.display();
                Err(Failure::from(format!("{path} can't be removed: {why}")))
            }
        }
    }

    /// Waits for the lock, up to a limit. Its holder reads the file again, because a refresh token may be valid only
    /// once.
    pub(crate) async fn lock(&self) -> Result<File, LockFailure> {
        self.make_directory().map_err(LockFailure::Unwritable)?;
        let path = self.lock_path.display();
        let began = Instant::now();
        let mut is_noticed = false;
        loop {
            match home_file::try_lock(&self.lock_path) {
                Ok(Some(file)) => return Ok(file),
                Ok(None) if began.elapsed() < LOCK_TIMEOUT => {
                    if began.elapsed() > LOCK_NOTICE_AFTER
                        && !std::mem::replace(&mut is_noticed, true)
                    {
                        print_notice(&format!("another command has locked {path}; waiting for it"));
                    }
                    tokio::time::sleep(LOCK_PAUSE).await;
                }
                Ok(None) => {
                    let message = format!("another command has locked {path} for too long");
                    let advice = "look for a command that was suspended with Ctrl-Z";
                    return Err(LockFailure::Held(Failure::from(message).advise(advice)));
                }
                Err(why) => {
                    let message = format!("{path} can't be locked: {why}");
                    return Err(LockFailure::Unwritable(Failure::from(message)));
                }
            }
        }
    }

    fn make_directory(&self) -> Result<(), Failure> {
        let directory = self.path.parent().unwrap_or(Path::new("."));
        home_file::make_private_directory(directory)
            .map_err(|why| Failure::from(format!("{} can't be made: {why}", directory.display())))
    }
}

/// The profiles with a stored session, sorted.
pub(crate) fn profiles() -> Result<Vec<ProfileName>, Failure> {
    let directory = directory()?;
    let entries = match std::fs::read_dir(&directory) {
        Ok(entries) => entries,
        Err(why) if why.kind() == std::io::ErrorKind::NotFound => return Ok(Vec::new()),
        Err(why) => {
            return Err(Failure::input(format!("{} can't be read: {why}", directory.display())));
        }
    };
    let mut names: Vec<ProfileName> = entries
        .flatten()
        .filter_map(|entry| entry.file_name().to_str()?.strip_suffix(".json")?.parse().ok())
        .collect();
    names.sort();
    Ok(names)
}

fn directory() -> Result<PathBuf, Failure> {
    profile::directory().map(|it| it.join("sessions")).ok_or_else(profile::no_home)
}

/// Serialises times in the API's format.
mod as_text {
    use super::*;
    use serde::de::Error;
    use serde::{Deserializer, Serializer};

    pub(in crate::client::session) fn serialize<S: Serializer>(
        time: &Option<Timestamp>,
        to: S,
    ) -> Result<S::Ok, S::Error> {
        time.map(|time| time.to_string()).serialize(to)
    }

    pub(in crate::client::session) fn deserialize<'de, D: Deserializer<'de>>(
        from: D,
    ) -> Result<Option<Timestamp>, D::Error> {
        let text = Option::<String>::deserialize(from)?;
        text.map(|text| text.parse().map_err(D::Error::custom)).transpose()
    }
}

#[cfg(test)]
mod tests;
