//! `gatehouse profile`: lists profiles, and sets the default.

use std::collections::BTreeSet;

use clap::{Args, Subcommand};
use serde_json::{Value, json};

use crate::client::profile::edit::{ProfilesEdit, shown_path};
use crate::client::profile::{ProfileName, Profiles};
use crate::client::session::{self, SessionFile, StoredSession};
use crate::client::{environment, oauth};
use crate::failure::Failure;
use crate::terminal::output::{Column, Fit, Listing, OutputFormat, minute, text};

/// List profiles, and choose the default
#[derive(Args)]
pub(crate) struct ProfileCommand {
    #[command(subcommand)]
    verb: Verb,
}

#[derive(Subcommand)]
enum Verb {
    /// List profiles, and whether each is signed in
    List(List),
    /// Make a profile the default
    Use(Use),
}

#[derive(Args)]
struct List {
    /// Output format, or GATEHOUSE_OUTPUT [default: table]
    #[arg(short, long, value_name = "FORMAT")]
    output: Option<OutputFormat>,
}

#[derive(Args)]
struct Use {
    /// The profile
    #[arg(value_name = "NAME")]
    name: String,
}

const COLUMNS: &[Column] = &[
    Column::text("NAME", "name", Fit::Whole),
    Column::computed("DEFAULT", "isDefault", mark, Fit::Whole),
    Column::text("URL", "url", Fit::Whole),
    Column::text("TENANT", "tenant", Fit::Whole),
    Column::computed("SIGNED IN", "signedIn", signed_in, Fit::Cut(24)),
    Column::text("UNTIL", "signedInUntil", Fit::CsvOnly),
];

impl ProfileCommand {
    pub(crate) fn run(self) -> Result<(), Failure> {
        match self.verb {
            Verb::List(list) => list.run(),
            Verb::Use(chosen) => chosen.run(),
        }
    }
}

impl List {
    fn run(self) -> Result<(), Failure> {
        let format = environment::output_format(self.output)?.unwrap_or(OutputFormat::Table);
        let profiles = Profiles::load()?;
        let stored = session::profiles().unwrap_or_default();
        // Sessions without a profile in the file are listed, too.
        let stored = stored.iter().map(ProfileName::as_str);
        let names: BTreeSet<&str> =
            profiles.profiles.keys().map(String::as_str).chain(stored).collect();
        let items: Vec<Value> = names.iter().map(|name| described(&profiles, name)).collect();
        if items.is_empty() && format == OutputFormat::Table {
            eprintln!("there is no profile; `gatehouse login` creates one");
        }
        let mut listing = Listing::new(format, COLUMNS);
        listing.show(&items)?;
        listing.finish()
    }
}

impl Use {
    fn run(self) -> Result<(), Failure> {
        let profiles = Profiles::load()?;
        let Some(profile) = profiles.profile(&self.name) else {
            return Err(profiles.no_profile(&self.name));
        };
        let name: ProfileName = profile.name.parse()?;
        let mut edit = ProfilesEdit::begin()?;
        edit.set_default(&name);
        edit.finish()?;
        println!("`{name}` is the default now, in {}", shown_path());
        Ok(())
    }
}

fn described(profiles: &Profiles, name: &str) -> Value {
    let (stored, failure) = match stored(name) {
        Ok(stored) => (stored, None),
        Err(why) => (None, Some(why.message().to_owned())),
    };
    let fields = profiles.profiles.get(name).cloned().unwrap_or_default();
    let url = fields.url.or_else(|| stored.as_ref().map(|it| it.url.clone()));
    let now = oauth::now();
    json!({
        "name": name,
        "isDefault": profiles.selected(None) == name,
        "url": url,
        "tenant": fields.tenant,
        "isSignedIn": stored.as_ref().is_some_and(|it| it.renewal.is_some() || it.is_valid_for(now, 0)),
        "signedInUntil": stored.as_ref().and_then(|it| it.expires_at).map(|it| it.to_string()),
        "isRenewed": stored.as_ref().is_some_and(|it| it.renewal.is_some()),
        "trouble": failure,
    })
}

fn stored(name: &str) -> Result<Option<StoredSession>, Failure> {
    SessionFile::of(&name.parse()?)?.read()
}

/// The mark of the default profile.
fn mark(item: &Value) -> String {
    if item["isDefault"] == true { "*".into() } else { String::new() }
}

/// The session's end, or that it is renewed.
fn signed_in(item: &Value) -> String {
    let is = |name: &str| item[name] == true;
    let until = minute(&text(item, "signedInUntil"));
    if item["trouble"].is_string() {
        format!("no: {}", text(item, "trouble"))
    } else if is("isRenewed") {
        "yes, renewed by itself".into()
    } else if is("isSignedIn") && until.is_empty() {
        "yes".into()
    } else if is("isSignedIn") {
        format!("until {until}")
    } else if until.is_empty() {
        "—".into()
    } else {
        format!("no longer, since {until}")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_state_of_a_session_is_shown() {
        let until = "2026-11-16T17:20:00Z";
        for (item, expected) in [
            (json!({}), "—"),
            (json!({"isSignedIn": true}), "yes"),
            (json!({"isSignedIn": true, "signedInUntil": until}), "until 2026-11-16 17:20"),
            (json!({"signedInUntil": until}), "no longer, since 2026-11-16 17:20"),
            (json!({"isRenewed": true, "signedInUntil": until}), "yes, renewed by itself"),
            (json!({"trouble": "0644"}), "no: 0644"),
        ] {
            assert_eq!(signed_in(&item), expected, "{item}");
        }
    }
}
