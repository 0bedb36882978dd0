//! `gatehouse logout`: removes and revokes stored sessions.

use clap::Args;

use crate::client::environment::flag_or_variable;
use crate::client::profile::{Profile, ProfileName};
use crate::client::session::{self, SessionFile};
use crate::client::wire::Verbose;
use crate::failure::Failure;
use crate::runtime;
use crate::terminal::screen::print_notice;

/// Sign out: remove the token that `gatehouse login` stored
#[derive(Args)]
pub(crate) struct Logout {
    /// Profile, or GATEHOUSE_PROFILE [default: the file's default, or `default`]
    #[arg(long, value_name = "NAME")]
    profile: Option<String>,
    /// Sign out of every profile
    #[arg(long)]
    all: bool,
    /// Show every request and its response, without secrets
    #[arg(short, long)]
    verbose: bool,
}

impl Logout {
    pub(crate) fn run(self) -> Result<(), Failure> {
        let verbose = Verbose::new(self.verbose);
        let profiles = if self.all { session::profiles()? } else { vec![self.named()?] };
        if profiles.is_empty() {
            println!("no profile is signed in");
        }
        runtime::run(async {
            let mut failed = None;
            for profile in &profiles {
                // A failure doesn't stop the others.
                if let Err(why) = sign_out(profile, verbose).await {
                    let why = why.with_context(&format!("profile `{profile}`"));
                    if let Some(earlier) = failed.replace(why) {
                        print_notice(&format!("gatehouse: {earlier}"));
                    }
                }
            }
            failed.map_or(Ok(()), Err)
        })
    }

    /// The selected profile, also if it is no longer in the file.
    fn named(&self) -> Result<ProfileName, Failure> {
        match flag_or_variable(self.profile.as_deref(), "GATEHOUSE_PROFILE")? {
            Some(name) => name.parse(),
            None => Profile::load(None)?.name.parse(),
        }
    }
}

async fn sign_out(profile: &ProfileName, verbose: Verbose) -> Result<(), Failure> {
    let file = SessionFile::of(profile)?;
    if !file.path().exists() {
        println!("profile `{profile}`: not signed in");
        return Ok(());
    }
    let lock = file.lock().await?;
    // An unreadable session is removed, too.
    let renewal = file.read_for_logout().ok().flatten().and_then(|stored| stored.renewal);
    file.remove()?;
    drop(lock);
    if let Some(renewal) = &renewal {
        session::revoke(renewal, verbose).await?;
    }
    println!("profile `{profile}`: signed out, and {} is removed", file.path().display());
    Ok(())
}
