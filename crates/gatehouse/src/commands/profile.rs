//! `gatehouse profile`: which profiles there are, and which one is meant.

use std::collections::BTreeSet;

use clap::{Args, Subcommand};
use serde_json::{Value, json};

use crate::client::profile::edit::{Edit, shown_path};
use crate::client::profile::{ProfileName, Profiles};
use crate::client::session::{self, Kept, SessionFile};
use crate::client::{environment, oauth};
use crate::failure::Failure;
use crate::terminal::output::{Column, Form, Listing, Room, minute, text};

/// List profiles, and choose the one that is meant where none is named
#[derive(Args)]
pub(crate) struct ProfileCommand {
    #[command(subcommand)]
    verb: Verb,
}

#[derive(Subcommand)]
enum Verb {
    /// List profiles, and where each is signed in
    List(List),
    /// Make a profile the one that is meant where none is named
    Use(Use),
}

#[derive(Args)]
struct List {
    /// In what form to show them, or GATEHOUSE_OUTPUT [default: table]
    #[arg(short, long, value_name = "FORM")]
    output: Option<Form>,
}

#[derive(Args)]
struct Use {
    /// The profile
    #[arg(value_name = "NAME")]
    name: String,
}

const COLUMNS: &[Column] = &[
    Column::text("NAME", "name", Room::Whole),
    Column::made("DEFAULT", "isDefault", mark, Room::Whole),
    Column::text("URL", "url", Room::Whole),
    Column::text("TENANT", "tenant", Room::Whole),
    Column::made("SIGNED IN", "signedIn", signed_in, Room::Cut(24)),
    Column::text("UNTIL", "signedInUntil", Room::Never),
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
        let form = environment::form(self.output)?.unwrap_or(Form::Table);
        let profiles = Profiles::load()?;
        let kept = session::profiles().unwrap_or_default();
        // Who has signed in without any profile is to see that, too.
        let kept = kept.iter().map(ProfileName::as_str);
        let names: BTreeSet<&str> =
            profiles.profiles.keys().map(String::as_str).chain(kept).collect();
        let items: Vec<Value> = names.iter().map(|name| described(&profiles, name)).collect();
        if items.is_empty() && form == Form::Table {
            eprintln!("there is no profile; `gatehouse login` makes one");
        }
        let mut listing = Listing::new(form, COLUMNS);
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
        let mut edit = Edit::begin()?;
        edit.set_default(&name);
        edit.finish()?;
        println!("`{name}` is the default now, in {}", shown_path());
        Ok(())
    }
}

fn described(profiles: &Profiles, name: &str) -> Value {
    let (kept, trouble) = match kept(name) {
        Ok(kept) => (kept, None),
        Err(why) => (None, Some(why.said().to_owned())),
    };
    let fields = profiles.profiles.get(name).cloned().unwrap_or_default();
    let url = fields.url.or_else(|| kept.as_ref().map(|it| it.url.clone()));
    let now = oauth::now();
    json!({
        "name": name,
        "isDefault": profiles.meant(None) == name,
        "url": url,
        "tenant": fields.tenant,
        "isSignedIn": kept.as_ref().is_some_and(|it| it.renewal.is_some() || it.is_good(now, 0)),
        "signedInUntil": kept.as_ref().and_then(|it| it.expires_at).map(|it| it.to_string()),
        "isRenewed": kept.as_ref().is_some_and(|it| it.renewal.is_some()),
        "trouble": trouble,
    })
}

fn kept(name: &str) -> Result<Option<Kept>, Failure> {
    SessionFile::of(&name.parse()?)?.read()
}

/// The one that is meant without a name.
fn mark(item: &Value) -> String {
    if item["isDefault"] == true { "*".into() } else { String::new() }
}

/// Until when, or that it goes on by itself.
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
    fn how_long_somebody_is_signed_in_is_told() {
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
