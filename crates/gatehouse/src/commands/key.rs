//! `gatehouse key`: changes the master key and the token key. Works on the data directory or the database itself, also
//! while servers run. docs/operating.md has the steps.

use std::collections::BTreeMap;

use clap::{Args, Subcommand};
use gatehouse_server::app::App;
use gatehouse_server::app::reseal::{KeyShares, Resealed};
use gatehouse_server::config::Config;
use gatehouse_server::keys::{self, KeysInUse, TokenKeyStore, journal_key};
use gatehouse_store::{Clock, KeyUseKind};

use crate::commands::serve::Settings;
use crate::commands::token::read_seconds;
use crate::host::open_store::{self, Intent};
use crate::runtime;

/// Change the master key and the token key, and show what still depends on each
#[derive(Args)]
pub(crate) struct KeyCommand {
    #[command(subcommand)]
    verb: Verb,
}

#[derive(Subcommand)]
enum Verb {
    /// Show the master keys, and how much depends on each; reads every access
    Status(Status),
    /// Seal under the first master key whatever another one seals; can be repeated
    Reseal(Reseal),
    /// Retire a master key that nothing depends on: servers then start without it
    Retire(Retire),
    /// Create a new signing key for the tokens of the built-in issuer; servers load it within a minute
    RotateToken(RotateToken),
}

#[derive(Args)]
struct Status {
    #[command(flatten)]
    settings: Settings,
}

#[derive(Args)]
struct Reseal {
    #[command(flatten)]
    settings: Settings,
}

#[derive(Args)]
struct Retire {
    /// Fingerprint of the key, or its beginning, as `gatehouse key status` shows it
    #[arg(value_name = "FINGERPRINT")]
    fingerprint: String,
    /// Retire it even if something depends on it: those passwords and secrets are refused, and sealed data is lost
    #[arg(long)]
    force: bool,
    #[command(flatten)]
    settings: Settings,
}

#[derive(Args)]
struct RotateToken {
    /// Longest time to trust tokens that former keys have signed, such as 1h or 30d; 0s refuses them at once
    #[arg(long, value_name = "DURATION", default_value = "3660d")]
    former_for: String,
    #[command(flatten)]
    settings: Settings,
}

impl KeyCommand {
    pub(crate) fn run(self) -> Result<(), String> {
        runtime::run(async {
            match self.verb {
                Verb::Status(status) => status.run().await,
                Verb::Reseal(reseal) => reseal.run().await,
                Verb::Retire(retire) => retire.run().await,
                Verb::RotateToken(rotate) => rotate.run().await,
            }
        })
    }
}

/// The opened store, and its keys.
struct KeyContext {
    app: App,
    /// Fingerprints of the configured master keys, in their order.
    given: Vec<String>,
    token_store: TokenKeyStore,
}

impl KeyContext {
    async fn open(config: &Config, intent: Intent) -> Result<Self, String> {
        let app = open_store::open(config, intent).await?;
        let masters = keys::checked_master_keys(config, &app.store).await;
        let masters = masters.map_err(|why| why.to_string())?;
        let given = masters.map_or_else(Vec::new, |it| it.fingerprints());
        let token_store = TokenKeyStore::new(config, &app.store, &app.vault);
        Ok(Self { app, given, token_store })
    }

    /// Counts of what depends on each key, by the key's short name.
    async fn shares(&self) -> Result<Shares, String> {
        let mut all = Shares::default();
        let tenants = self.app.store.every_tenant().await.map_err(|why| why.explained())?;
        for tenant in tenants {
            let name = &tenant.name;
            let shares = self.app.key_shares(name).await;
            for (key, kinds) in shares.map_err(|why| format!("tenant {name}: {why}"))? {
                let sum = all.of_tenants.entry(key).or_default();
                for (kind, n) in kinds {
                    *sum.entry(kind).or_default() += n;
                }
            }
        }
        all.of_token_key = self.token_store.sealing_key().await.map_err(|why| why.to_string())?;
        let journal = journal_key::sealing_key(&self.app.store).await;
        all.of_journal_key = journal.map_err(|why| why.to_string())?;
        Ok(all)
    }

    async fn close(&self) {
        self.app.store.close().await;
    }
}

/// Counts of what depends on each key, by the key's short name.
#[derive(Default)]
struct Shares {
    of_tenants: KeyShares,
    /// The key that seals the token key.
    of_token_key: Option<String>,
    /// The key that seals the journal key.
    of_journal_key: Option<String>,
}

/// Columns of the table, each with its kind of use.
const COLUMNS: [(&str, KeyUseKind); 7] = [
    ("ACCESSES", KeyUseKind::Access),
    ("CLIENTS", KeyUseKind::Client),
    ("CHANGES", KeyUseKind::Change),
    ("ACCOUNTS", KeyUseKind::Account),
    ("TASKS", KeyUseKind::Task),
    ("ANSWERS", KeyUseKind::Response),
    ("HUBS", KeyUseKind::Hub),
];

impl Shares {
    /// The counts of the key with this fingerprint or short name.
    fn row(&self, fingerprint: &str) -> Vec<u64> {
        let none = BTreeMap::new();
        let is_it = |(key, _): &(&String, _)| fingerprint.starts_with(key.as_str());
        let kinds = self.of_tenants.iter().find(is_it).map_or(&none, |(_, kinds)| kinds);
        let mut row: Vec<u64> =
            COLUMNS.iter().map(|(_, kind)| kinds.get(kind).copied().unwrap_or_default()).collect();
        for sealing in [&self.of_token_key, &self.of_journal_key] {
            let is_it = sealing.as_ref().is_some_and(|it| fingerprint.starts_with(it));
            row.push(u64::from(is_it));
        }
        row
    }

    fn show_line(&self, key: &str, is: &str) {
        let figures: String = self.row(key).iter().map(|n| format!("  {n:>9}")).collect();
        println!("{key:32}  {is:8}{figures}");
    }
}

impl Status {
    async fn run(self) -> Result<(), String> {
        let config = self.settings.load(&[])?;
        let context = KeyContext::open(&config, Intent::Read).await?;
        let shares = context.shares().await?;
        let in_use = KeysInUse::read(&context.app.store).await.map_err(|why| why.to_string())?;
        context.close().await;
        let titles: String = COLUMNS.iter().map(|(title, _)| format!("  {title:>9}")).collect();
        println!("{:32}  {:8}{titles}  {:>9}  {:>9}", "MASTER KEY", "IS", "TOKEN KEY", "JOURNAL");
        let given = &context.given;
        for (n, fingerprint) in given.iter().enumerate() {
            let is_used = in_use.as_ref().is_some_and(|it| it.contains(fingerprint));
            let is = match (n, is_used) {
                (0, _) => "first",
                (_, true) => "in use",
                (_, false) => "not used",
            };
            shares.show_line(fingerprint, is);
        }
        let is_given = |key: &str| given.iter().any(|it| it.starts_with(key));
        for key in shares.of_tenants.keys().filter(|key| !is_given(key)) {
            shares.show_line(key, "missing");
        }
        for further in given.iter().skip(1) {
            if !in_use.as_ref().is_some_and(|it| it.contains(further)) {
                continue;
            }
            let n_left: u64 = shares.row(further).iter().sum();
            if n_left == 0 {
                println!(
                    "nothing depends on {further}: `gatehouse key retire {further}` retires it"
                );
            }
        }
        Ok(())
    }
}

impl Reseal {
    async fn run(self) -> Result<(), String> {
        let config = self.settings.load(&[])?;
        let context = KeyContext::open(&config, Intent::Write).await?;
        let mut sum = Resealed::default();
        let token = context.token_store.reseal().await.map_err(|why| why.to_string())?;
        sum.n_done += u64::from(token);
        let journal = journal_key::reseal(&context.app.store, &context.app.vault).await;
        sum.n_done += u64::from(journal.map_err(|why| why.to_string())?);
        for tenant in context.app.store.every_tenant().await.map_err(|why| why.explained())? {
            let name = &tenant.name;
            let resealed = context.app.reseal(name).await;
            let resealed = resealed.map_err(|why| format!("tenant {name}: {why}"))?;
            if resealed.n_failed > 0 {
                let n = resealed.n_failed;
                eprintln!("tenant {name}: {n} can't be opened with the configured keys");
            }
            sum.n_done += resealed.n_done;
            sum.n_failed += resealed.n_failed;
        }
        context.close().await;
        println!("{} resealed", sum.n_done);
        match sum.n_failed {
            0 => Ok(()),
            n => Err(format!(
                "{n} could not be resealed; `gatehouse key status` shows which key they need"
            )),
        }
    }
}

impl Retire {
    async fn run(self) -> Result<(), String> {
        let config = self.settings.load(&[])?;
        let context = KeyContext::open(&config, Intent::Read).await?;
        let retired = self.retire(&context).await;
        context.close().await;
        let fingerprint = retired?;
        println!("{fingerprint} is retired: servers start without it from now on");
        Ok(())
    }

    async fn retire(&self, context: &KeyContext) -> Result<String, String> {
        let given = &context.given;
        if given[0].starts_with(&self.fingerprint) {
            return Err(format!(
                "{} is the first of the configured keys, which seals new data: put another \
                 before it, and restart the servers with that",
                given[0]
            ));
        }
        let fingerprint = self.fingerprint_among(given);
        let token_key = context.token_store.sealing_key().await.map_err(|why| why.to_string())?;
        let journal_key = journal_key::sealing_key(&context.app.store).await;
        let journal_key = journal_key.map_err(|why| why.to_string())?;
        for (what, sealed) in [("token", token_key), ("journal", journal_key)] {
            if sealed.is_some_and(|name| fingerprint.starts_with(&name)) {
                return Err(format!(
                    "the {what} key is sealed with it, and no server could start without it: reseal it \
                     with `gatehouse key reseal`"
                ));
            }
        }
        if !self.force {
            if let Some(server) = self.server_with(context, &fingerprint).await? {
                return Err(format!(
                    "the server {server} seals new data with it: put another before it there, and restart \
                     that server"
                ));
            }
            let n_left: u64 = context.shares().await?.row(&fingerprint).iter().sum();
            if n_left > 0 {
                return Err(format!(
                    "{n_left} objects still depend on it, which `gatehouse key status` shows: \
                     reseal them with `gatehouse key reseal`, and wait for the passwords, or use --force"
                ));
            }
        }
        keys::retire(&context.app.store, &self.fingerprint).await.map_err(|why| why.to_string())
    }

    /// A running server whose first key is this one.
    async fn server_with(
        &self,
        context: &KeyContext,
        fingerprint: &str,
    ) -> Result<Option<String>, String> {
        let store = &context.app.store;
        let replicas = store.replicas().await.map_err(|why| why.explained())?;
        let mut servers = replicas.iter().map(|it| &it.replica);
        let found = servers.find(|it| fingerprint.starts_with(&it.key_name));
        Ok(found.map(|it| format!("{} at {}", it.host, it.listen)))
    }

    /// The full fingerprint, if it belongs to a configured key.
    fn fingerprint_among(&self, given: &[String]) -> String {
        let found = given.iter().find(|it| it.starts_with(&self.fingerprint));
        found.unwrap_or(&self.fingerprint).clone()
    }
}

impl RotateToken {
    async fn run(self) -> Result<(), String> {
        let seconds = read_seconds("--former-for", &self.former_for, 0)?;
        let config = self.settings.load(&[])?;
        let clock = Clock::machine();
        let token_keys = keys::join_token_key(&config, clock.clone()).await;
        let token_keys = token_keys.map_err(|why| why.to_string())?;
        let now = clock.now();
        let until = now.plus_milliseconds(seconds.saturating_mul(1000));
        let made = token_keys.rotate(until, now).await.map_err(|why| why.to_string())?;
        println!("tokens are signed with the key {} from now on", made.id());
        if seconds == 0 {
            println!("those that former keys have signed are refused");
        } else {
            println!(
                "those that the former key has signed are trusted until {until}, or until they expire"
            );
        }
        println!("running servers load it within a minute");
        Ok(())
    }
}
