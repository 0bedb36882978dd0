//! `gatehouse logout`: lets go of what `gatehouse login` kept.

use clap::Args;

use crate::api::{self, Talk};
use crate::environment::told;
use crate::failure::Failure;
use crate::oauth::Refusal;
use crate::profile::{Profile, ProfileName};
use crate::session::{self, Renewal, SessionFile};

/// Sign out: let go of the token that `gatehouse login` kept
#[derive(Args)]
pub(crate) struct Logout {
    /// The profile, or GATEHOUSE_PROFILE [default: the file's own, or `default`]
    #[arg(long, value_name = "NAME")]
    profile: Option<String>,
    /// Sign out of every profile
    #[arg(long)]
    all: bool,
    /// Show every request and what came of it, without secrets
    #[arg(short, long)]
    verbose: bool,
}

impl Logout {
    pub(crate) fn run(self) -> Result<(), Failure> {
        let talk = Talk::new(self.verbose);
        let profiles = if self.all { session::profiles()? } else { vec![self.named()?] };
        if profiles.is_empty() {
            println!("nobody is signed in");
        }
        api::run(async {
            for profile in &profiles {
                sign_out(profile, talk).await?;
            }
            Ok(())
        })
    }

    /// The profile that is meant; also one that is no longer in the file.
    fn named(&self) -> Result<ProfileName, Failure> {
        match told(self.profile.as_deref(), "GATEHOUSE_PROFILE")? {
            Some(name) => name.parse(),
            None => Profile::load(None)?.name.parse(),
        }
    }
}

async fn sign_out(profile: &ProfileName, talk: Talk) -> Result<(), Failure> {
    let file = SessionFile::of(profile)?;
    if !file.path().exists() {
        println!("profile `{profile}`: nobody is signed in");
        return Ok(());
    }
    let lock = file.lock().await?;
    // What can't be read can be let go of all the same.
    let renewal = file.read().ok().flatten().and_then(|kept| kept.renewal);
    file.remove()?;
    drop(lock);
    println!("profile `{profile}`: signed out, and {} is removed", file.path().display());
    if let Some(Renewal::RefreshToken(token)) = renewal {
        match token.revoke(&api::http_client()?, talk).await {
            Ok(true) => {
                println!("profile `{profile}`: {} has been told to forget it", token.issuer)
            }
            Ok(false) => {}
            Err(why) => note_not_revoked(&token.issuer, why),
        }
    }
    Ok(())
}

/// Nothing that is here depends on it.
fn note_not_revoked(issuer: &str, why: Refusal) {
    let why = why.into_failure();
    eprintln!("gatehouse: note: {issuer} could not be told to forget it: {}", why.said());
}
