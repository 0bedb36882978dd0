//! `gatehouse logout`: lets go of what `gatehouse login` kept.

use clap::Args;

use crate::client::environment::told;
use crate::client::profile::{Profile, ProfileName};
use crate::client::session::{self, SessionFile};
use crate::client::wire::{self, Talk};
use crate::failure::Failure;
use crate::terminal::screen::remark;

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
        wire::run(async {
            let mut failed = None;
            for profile in &profiles {
                // The others are let go of all the same.
                if let Err(why) = sign_out(profile, talk).await {
                    let why = why.about(&format!("profile `{profile}`"));
                    if let Some(earlier) = failed.replace(why) {
                        remark(&format!("gatehouse: {earlier}"));
                    }
                }
            }
            failed.map_or(Ok(()), Err)
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
    // What can't be understood can be let go of all the same.
    let renewal = file.read_to_let_go().ok().flatten().and_then(|kept| kept.renewal);
    file.remove()?;
    drop(lock);
    if let Some(renewal) = &renewal {
        session::let_go(renewal, talk).await?;
    }
    println!("profile `{profile}`: signed out, and {} is removed", file.path().display());
    Ok(())
}
