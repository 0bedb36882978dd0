//! What is kept of a session, in a file of its own that nobody else may read.

use std::fs::File;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use gatehouse_core::Timestamp;
use serde::{Deserialize, Serialize};

use super::renewal::Renewal;
use crate::client::home_file;
use crate::client::oauth::Granted;
use crate::client::profile::{self, ProfileName};
use crate::failure::{Failure, Kind};
use crate::terminal::screen::remark;
use crate::terminal::secret::Secret;

/// How long another command may have the lock, and how often it is looked at.
const LOCK_PATIENCE: Duration = Duration::from_secs(90);
const LOCK_PAUSE: Duration = Duration::from_millis(250);

/// From when on it is worth a word.
const LOCK_REMARK: Duration = Duration::from_secs(1);

/// What is kept of a session.
#[derive(Clone, Debug, Deserialize, Serialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct Kept {
    /// The server that the token is for, and the only one that ever gets it.
    pub(crate) url: String,
    pub(crate) access_token: Secret,
    /// Until when it is good, if that is known.
    #[serde(default, with = "as_text", skip_serializing_if = "Option::is_none")]
    pub(crate) expires_at: Option<Timestamp>,
    /// How the next token is got.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) renewal: Option<Renewal>,
}

/// Why a session can't be changed alone.
pub(crate) enum LockTrouble {
    /// Another command has it.
    Held(Failure),
    /// Nothing can be written there.
    Unwritable(Failure),
}

impl From<LockTrouble> for Failure {
    fn from(trouble: LockTrouble) -> Self {
        match trouble {
            LockTrouble::Held(why) | LockTrouble::Unwritable(why) => why,
        }
    }
}

/// Where a profile's session is kept.
pub(crate) struct SessionFile {
    path: PathBuf,
    lock_path: PathBuf,
}

impl Kept {
    /// What is kept of a token that was just got.
    pub(crate) fn new(url: &str, granted: Granted, renewal: Option<Renewal>) -> Self {
        let Granted { access_token, expires_at, .. } = granted;
        Self { url: url.to_owned(), access_token, expires_at, renewal }
    }

    /// Whether the token is good now, and for so many seconds more.
    pub(crate) fn is_good(&self, now: Timestamp, more_seconds: i64) -> bool {
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

    /// What is kept there, if anything, and if nobody else can have read it.
    pub(crate) fn read(&self) -> Result<Option<Kept>, Failure> {
        let path = self.path.display();
        let Some((text, mode)) = self.read_text()? else { return Ok(None) };
        if mode & 0o077 != 0 {
            let said = format!(
                "{path} has the permissions {mode:04o}, so that others may have its token: it is not used"
            );
            return Err(Failure::new(Kind::NotAllowed, said).advise(format!(
                "let go of it with `gatehouse logout`, and sign in again; if nobody else can have read it, `chmod 600 {path}`"
            )));
        }
        self.parse(&text).map(Some)
    }

    /// What is kept there, whoever may have read it: to be let go of.
    pub(crate) fn read_to_let_go(&self) -> Result<Option<Kept>, Failure> {
        self.read_text()?.map(|(text, _)| self.parse(&text)).transpose()
    }

    fn read_text(&self) -> Result<Option<(String, u32)>, Failure> {
        let path = self.path.display();
        let read = home_file::read(&self.path);
        read.map_err(|why| Failure::input(format!("{path} can't be read: {why}")))
    }

    fn parse(&self, text: &str) -> Result<Kept, Failure> {
        let path = self.path.display();
        // What the reader says may repeat what stands there, so it is not shown.
        serde_json::from_str(text).map_err(|_| {
            Failure::input(format!("{path} is not what `gatehouse login` wrote"))
                .advise("remove it with `gatehouse logout`, and sign in again")
        })
    }

    /// Writes it in place of what is there.
    pub(crate) fn write(&self, kept: &Kept) -> Result<(), Failure> {
        let text = serde_json::to_string_pretty(kept);
        let text = text.map_err(|why| format!("a session can't be written as JSON: {why}"))?;
        self.make_directory()?;
        home_file::write(&self.path, (text + "\n").as_bytes())
    }

    /// Removes it, and tells whether it was there.
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

    /// Waits until no other process changes it, for a while. Whoever has the lock reads the file again: a refresh token
    /// that was used once may be worth nothing the second time.
    pub(crate) async fn lock(&self) -> Result<File, LockTrouble> {
        self.make_directory().map_err(LockTrouble::Unwritable)?;
        let path = self.lock_path.display();
        let began = Instant::now();
        let mut is_told = false;
        loop {
            match home_file::try_lock(&self.lock_path) {
                Ok(Some(file)) => return Ok(file),
                Ok(None) if began.elapsed() < LOCK_PATIENCE => {
                    if began.elapsed() > LOCK_REMARK && !std::mem::replace(&mut is_told, true) {
                        remark(&format!("another command has {path}; waiting for it"));
                    }
                    tokio::time::sleep(LOCK_PAUSE).await;
                }
                Ok(None) => {
                    let said = format!("another command has {path} and doesn't let go of it");
                    let advice = "is there one that was stopped with Ctrl-Z?";
                    return Err(LockTrouble::Held(Failure::from(said).advise(advice)));
                }
                Err(why) => {
                    let said = format!("{path} can't be locked: {why}");
                    return Err(LockTrouble::Unwritable(Failure::from(said)));
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

/// The profiles of which something is kept, by name.
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

/// Times as the API writes them.
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
