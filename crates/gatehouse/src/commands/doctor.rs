//! `gatehouse doctor`: checks settings, keys, store, clock and issuers, changes nothing, and advises.

mod embedded;

use std::sync::Arc;

use clap::Args;
use gatehouse_connectors::Platforms;
use gatehouse_core::{PageRequest, Timestamp};
use gatehouse_server::app::{App, Error};
use gatehouse_server::auth::{Issuer, IssuerStatus};
use gatehouse_server::config::Config;
use gatehouse_server::keys::{self, journal_key};
use gatehouse_server::restore::refuse_unfinished;
use gatehouse_server::serve::{Validity, check_tls};
use gatehouse_server::transfer::refuse_moved;
use gatehouse_store::{
    Clock, DatabaseUrl, LiveReplica, Replica, Store, StoreError, UnbuiltSets, UsernameReuse,
};

use crate::commands::audit::verify::check_journals;
use crate::commands::serve::Settings;
use crate::runtime;

/// Check settings, keys, store, clock and issuers, and advise on what is wrong
#[derive(Args)]
pub(crate) struct Doctor {
    /// Also check every page of the embedded store and every journal, compare all counts with the accesses, and open
    /// every account; takes a while
    #[arg(long)]
    deep: bool,
    #[command(flatten)]
    settings: Settings,
}

/// Largest allowed difference between two clocks.
const CLOCK_SECONDS_MAX: i64 = 30;

/// Prints the findings, and counts the faults.
#[derive(Default)]
struct Findings {
    n_wrong: usize,
}

impl Findings {
    fn good(&self, what: &str) {
        println!("ok     {what}");
    }

    fn wrong(&mut self, what: &str) {
        println!("WRONG  {what}");
        self.n_wrong += 1;
    }
}

impl Doctor {
    pub(crate) fn run(self) -> Result<(), String> {
        let config = self.settings.load(&[])?;
        let mut findings = Findings::default();
        findings.good("the settings can be read");
        runtime::single_threaded()?.block_on(self.examine(&config, &mut findings));
        match findings.n_wrong {
            0 => Ok(()),
            1 => Err("1 fault".into()),
            n => Err(format!("{n} faults")),
        }
    }

    async fn examine(&self, config: &Config, findings: &mut Findings) {
        match check_tls(config) {
            Ok(Some(Validity { begins, ends })) => {
                let now = Clock::machine().now();
                if now < begins {
                    findings.wrong(&format!(
                        "tls.certificate is valid only from {begins} on: set the clock, or put another in \
                         its place"
                    ));
                } else if ends <= now {
                    findings.wrong(&format!(
                        "tls.certificate has expired at {ends}: put a new one in its place, which the server \
                         loads without a restart"
                    ));
                } else {
                    findings.good(&format!(
                        "the certificate and its key belong together; it is valid until {ends}"
                    ));
                }
            }
            Ok(None) => {}
            Err(why) => findings.wrong(&why.to_string()),
        }
        examine_connectors(config, findings);
        let clock = Clock::machine();
        examine_issuers(config, &clock, findings).await;
        if let Err(why) = refuse_moved(config) {
            findings.wrong(&why.to_string());
        }
        if let Err(why) = refuse_unfinished(config) {
            findings.wrong(&why.to_string());
        }
        let location = location(config);
        if config.database_url.is_none() && !embedded::examine(config, self.deep, findings) {
            return;
        }
        let store = match &config.database_url {
            Some(url) => Store::attach_postgres(url, clock.clone()).await,
            None => Store::attach_sqlite(&config.database_file(), clock.clone()).await,
        };
        if config.database_url.is_none() || store.is_ok() {
            // With PostgreSQL the key is in the store.
            match keys::open_token_key(config, clock.clone()).await {
                Ok(_) => findings.good("the key that signs tokens can be read"),
                Err(why) => findings.wrong(&why.to_string()),
            }
        }
        for path in keys::readable_by_others(config) {
            let path = path.display();
            findings
                .wrong(&format!("{path} can be read by others than its owner: chmod 600 {path}"));
        }
        let store = match store {
            Ok(Some(store)) => store,
            Ok(None) => {
                findings.wrong(&format!(
                    "there is no store in {location}: if that is the wrong place, give the right one with \
                     --data-dir or --database-url; else `gatehouse serve` creates one"
                ));
                return;
            }
            Err(why) => return findings.wrong(&advice(&location, &why)),
        };
        match keys::checked_master_keys(config, &store).await {
            Ok(_) => findings.good("the master key is the one that the store was written with"),
            Err(why) => findings.wrong(&why.to_string()),
        }
        let examined = async {
            if let Some(url) = &config.database_url {
                report_encryption(url, &store, findings).await?;
            }
            self.examine_store(&store, &location, findings).await
        };
        if let Err(why) = examined.await {
            findings.wrong(&advice(&location, &why));
        }
        if self.deep
            && let Err(why) = examine_sealed(config, clock, &store, findings).await
        {
            findings.wrong(&advice(&location, &why));
        }
        store.close().await;
    }

    async fn examine_store(
        &self,
        store: &Store,
        location: &str,
        findings: &mut Findings,
    ) -> Result<(), StoreError> {
        let (found, newest) = store.schema_versions().await?;
        if found < newest {
            findings.wrong(&format!(
                "the store in {location} has schema version {found}, and this gatehouse works with \
                 {newest}: start `gatehouse serve` there, which brings it up to date"
            ));
            return Ok(());
        }
        findings.good(&format!("the store in {location} answers, with schema version {found}"));
        examine_clock(store, findings).await?;
        if store.is_shared() {
            report_servers(store, findings).await?;
            report_username_reuse(store, findings).await?;
        }
        report_unbuilt_sets(store, findings).await?;
        if !self.deep {
            return Ok(());
        }
        for tenant in store.every_tenant().await? {
            let name = &tenant.name;
            let recount = match store.recount(name).await {
                Ok(recount) => recount,
                Err(why) => {
                    findings.wrong(&format!("tenant {name}: {}", why.explained()));
                    continue;
                }
            };
            if recount.discrepancies.is_empty() {
                let (n_figures, n_accesses) = (recount.n_figures, recount.n_accesses);
                findings.good(&format!(
                    "tenant {name}: all {n_figures} figures agree with its {n_accesses} accesses"
                ));
            }
            for discrepancy in recount.discrepancies {
                findings.wrong(&format!("tenant {name}: {discrepancy}"));
            }
        }
        Ok(())
    }
}

/// Reports whether connections to PostgreSQL are encrypted. No fault: the network may be private.
async fn report_encryption(
    url: &DatabaseUrl,
    store: &Store,
    findings: &mut Findings,
) -> Result<(), StoreError> {
    match store.encryption().await? {
        Some(protocol) if url.checks_server() => findings.good(&format!(
            "connections to PostgreSQL are encrypted ({protocol}), and its certificate is checked"
        )),
        Some(protocol) => findings.good(&format!(
            "connections to PostgreSQL are encrypted ({protocol}); the server's certificate is not checked, which \
             sslmode=verify-full would do"
        )),
        None => findings.good(
            "connections to PostgreSQL are not encrypted, which sslmode=verify-full would do",
        ),
    }
    Ok(())
}

/// Checks the operator's own connectors, if there are any.
fn examine_connectors(config: &Config, findings: &mut Findings) {
    let Some(dir) = &config.platforms.connectors_dir else { return };
    let dir = dir.display();
    match config.platforms.manifests() {
        Ok((_, own)) => {
            let names: Vec<_> = own.iter().map(|it| it.manifest.name().as_str()).collect();
            let names = if names.is_empty() { "none".to_owned() } else { names.join(", ") };
            findings.good(&format!("the connectors in {dir} can be read: {names}"));
        }
        Err(bad) => bad.each().iter().for_each(|it| findings.wrong(&it.to_string())),
    }
}

const PAGE_SIZE: u64 = 100;

/// Checks the journals' chains, and that every account's credentials can be opened and satisfy its connector. Sends no
/// requests to platforms.
async fn examine_sealed(
    config: &Config,
    clock: Clock,
    store: &Store,
    findings: &mut Findings,
) -> Result<(), StoreError> {
    let (found, newest) = store.schema_versions().await?;
    // Faults of the schema and the master key are reported already.
    let Ok(vault) = keys::open_vault(config, store).await else { return Ok(()) };
    if found < newest {
        return Ok(());
    }
    // Faults of connectors are reported already.
    let Ok((manifests, _)) = config.platforms.manifests() else { return Ok(()) };
    let platforms = match Platforms::new(config.platforms.options(manifests)) {
        Ok(platforms) => Arc::new(platforms),
        Err(why) => {
            findings.wrong(&why.to_string());
            return Ok(());
        }
    };
    let vault = Arc::new(vault);
    let journal_key = match journal_key::find(store, &vault).await {
        Ok(key) => key,
        Err(why) => {
            findings.wrong(&why.to_string());
            None
        }
    };
    let app = App::new(store.clone(), vault, clock, config.tasks.clone(), platforms);
    let heads = store.journal_heads().await?;
    if journal_key.is_none() && heads.iter().any(|head| head.number > 0) {
        findings.wrong("the key of the journals is gone, so they can't be checked");
    }
    if let Some(key) = journal_key {
        let app = app.clone().with_journal_key(key);
        let tell = &mut |line: Result<String, String>| match line {
            Ok(good) => findings.good(&good),
            Err(wrong) => findings.wrong(&wrong),
        };
        check_journals(&app, &[], tell).await?;
    }
    for tenant in store.every_tenant().await? {
        let name = &tenant.name;
        let (mut n_accounts, mut n_wrong) = (0, 0);
        for number in 1.. {
            let request = PageRequest { number, size: PAGE_SIZE };
            let Some(page) = store.accounts_page(name, request).await? else { break };
            for stored in &page.items {
                n_accounts += 1;
                if let Err(why) = app.check_account(name, stored) {
                    n_wrong += 1;
                    let (account, why) = (&stored.account.name, explained(&why));
                    findings.wrong(&format!("tenant {name}, account {account}: {why}"));
                }
            }
            if number >= request.last(page.total) {
                break;
            }
        }
        if n_accounts > 0 && n_wrong == 0 {
            let s = if n_accounts == 1 { "" } else { "s" };
            findings.good(&format!("tenant {name}: {n_accounts} account{s} can be opened"));
        }
    }
    Ok(())
}

/// Why an account can't be used, and what to do.
fn explained(why: &Error) -> String {
    match why {
        Error::InvalidAccount(_) => why.to_string(),
        _ => "its stored settings or credentials can't be read: put it again, with its credentials"
            .to_owned(),
    }
}

/// Checks this machine's clock: passwords, tokens and accesses expire by it.
async fn examine_clock(store: &Store, findings: &mut Findings) -> Result<(), StoreError> {
    let before = Clock::machine().now();
    let (database_time, latest) = store.times().await?;
    let (behind, ahead) =
        (seconds(before, database_time), seconds(database_time, Clock::machine().now()));
    if behind.max(ahead) > CLOCK_SECONDS_MAX {
        let off = behind.max(ahead);
        findings.wrong(&format!(
            "the clocks of this machine and of the database are {off} s apart: synchronise both, for example \
             by NTP"
        ));
    } else if let Some(latest) = latest.filter(|it| seconds(before, *it) > CLOCK_SECONDS_MAX) {
        findings.wrong(&format!(
            "the latest access was made at {latest}, which is still to come: set this machine's clock"
        ));
    } else {
        findings.good("the clock agrees with the store's");
    }
    Ok(())
}

/// Reports the running servers. No server is no fault.
async fn report_servers(store: &Store, findings: &Findings) -> Result<(), StoreError> {
    let replicas = store.replicas().await?;
    if replicas.is_empty() {
        findings.good("no server is running on the store");
    }
    for (rank, LiveReplica { replica, joined_at, .. }) in (1..).zip(&replicas) {
        let (n, Replica { version, host, listen, key_name, .. }) = (replicas.len(), replica);
        findings.good(&format!(
            "server {rank} of {n}: {host}, {listen}, version {version}, master key {key_name}, there since \
             {joined_at}"
        ));
    }
    Ok(())
}

/// Reports whether usernames can be reused. "Not yet" is no fault: that changes once every server has this version.
async fn report_username_reuse(store: &Store, findings: &Findings) -> Result<(), StoreError> {
    findings.good(match store.username_reuse().await? {
        UsernameReuse::Allowed => "usernames of TERMINATED accesses can be reused",
        UsernameReuse::BuildingIndexes => {
            "usernames of TERMINATED accesses can't be reused yet: a server of this version has to \
             build indexes for it, which it does while it runs"
        }
        UsernameReuse::OlderServer => {
            "usernames of TERMINATED accesses can't be reused yet: a server of an older version is \
             there, or was a minute ago"
        }
    });
    Ok(())
}

/// Reports sets that are still being built. No fault: lists are right without them, only slower.
async fn report_unbuilt_sets(store: &Store, findings: &Findings) -> Result<(), StoreError> {
    for UnbuiltSets { tenant, label, n_built, n_accesses } in store.unbuilt_sets().await? {
        let by = label.map_or("status".to_owned(), |key| format!("label.{key}"));
        findings.good(&format!(
            "tenant {tenant}: lists by {by} are slow until a running server has built their sets: \
             {n_built} of {n_accesses} accesses are in them"
        ));
    }
    Ok(())
}

/// Whole seconds between two instants.
fn seconds(from: Timestamp, to: Timestamp) -> i64 {
    (to.as_millisecond() - from.as_millisecond()) / 1000
}

/// Checks that the keys of every issuer can be fetched, and compares the clocks.
async fn examine_issuers(config: &Config, clock: &Clock, findings: &mut Findings) {
    let issuers = match Issuer::all(&config.auth) {
        Ok(issuers) => issuers,
        Err(why) => return findings.wrong(&why.to_string()),
    };
    for issuer in issuers {
        let name = issuer.name();
        let IssuerStatus { n_keys, time } = match issuer.examine().await {
            Ok(examined) => examined,
            Err(why) => {
                findings.wrong(&format!("issuer {name}: {why}"));
                continue;
            }
        };
        if n_keys == 0 {
            findings.wrong(&format!(
                "issuer {name} has no key that can check signatures (RSA, P-256, P-384 or Ed25519)"
            ));
            continue;
        }
        let off = time.map_or(0, |time| seconds(clock.now(), time).abs());
        if off > CLOCK_SECONDS_MAX {
            findings.wrong(&format!(
                "issuer {name}: its clock and this machine's are {off} s apart, so its tokens may seem \
                 expired or not valid yet: synchronise both, for example by NTP"
            ));
        } else {
            let s = if n_keys == 1 { "" } else { "s" };
            findings.good(&format!("issuer {name} has {n_keys} key{s}"));
        }
    }
}

/// A store error, with advice.
fn advice(location: &str, why: &StoreError) -> String {
    let what = why.explained();
    match why {
        StoreError::Unavailable(_) | StoreError::Locked(_) => {
            format!("{location}: {what}: is it up, and may you use it?")
        }
        StoreError::Unexpected(_)
        | StoreError::Taken(_)
        | StoreError::OutcomeUnknown(_)
        | StoreError::Disk(_) => {
            format!(
                "{location}: {what}: may your role use it? if it is damaged, stop the server and restore a backup"
            )
        }
        _ => format!("{location}: {what}"),
    }
}

fn location(config: &Config) -> String {
    match &config.database_url {
        Some(url) => url.to_string(),
        None => {
            let dir = std::path::absolute(&config.data_dir);
            dir.unwrap_or_else(|_| config.data_dir.clone()).display().to_string()
        }
    }
}
