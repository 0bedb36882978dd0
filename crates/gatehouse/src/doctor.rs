//! `gatehouse doctor`: looks at settings, keys and store, changes nothing, and says what to do.

use clap::Args;
use gatehouse_server::config::Config;
use gatehouse_server::keys;
use gatehouse_server::serve::check_tls;
use gatehouse_store::{Clock, Store};

use crate::serve::Settings;

/// Check settings, keys and store, and say what to do about what is wrong
#[derive(Args)]
pub(crate) struct Doctor {
    /// Also count every access anew and compare with what is written down; takes a while
    #[arg(long)]
    deep: bool,
    #[command(flatten)]
    settings: Settings,
}

/// What has been found, line by line.
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
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
        let runtime = runtime.map_err(|cause| format!("no thread to run on: {cause}"))?;
        let mut findings = Findings::default();
        findings.good("the settings can be read");
        runtime.block_on(self.examine(&config, &mut findings));
        match findings.n_wrong {
            0 => Ok(()),
            1 => Err("1 thing is wrong".into()),
            n => Err(format!("{n} things are wrong")),
        }
    }

    async fn examine(&self, config: &Config, findings: &mut Findings) {
        match check_tls(config) {
            Ok(true) => findings.good("the certificate and its key belong together"),
            Ok(false) => {}
            Err(why) => findings.wrong(&why.to_string()),
        }
        let clock = Clock::machine();
        match keys::open_token_key(config, clock.clone()).await {
            Ok(_) => findings.good("the key that signs tokens can be read"),
            Err(why) => findings.wrong(&why.to_string()),
        }
        let place = place(config);
        let store = match &config.database_url {
            Some(url) => Store::attach_postgres(url, clock).await,
            None => Store::attach_sqlite(&config.database_file(), clock).await,
        };
        let store = match store {
            Ok(Some(store)) => store,
            Ok(None) => {
                findings.wrong(&format!(
                    "there is no store in {place}: if that is the wrong place, say the right one with \
                     --data-dir or --database-url; else `gatehouse serve` makes one"
                ));
                return;
            }
            Err(why) => {
                findings.wrong(&format!("{place}: {}", why.explained()));
                return;
            }
        };
        match keys::check_master_key(config, &store).await {
            Ok(()) => findings.good("the master key is the one that the store was written with"),
            Err(why) => findings.wrong(&why.to_string()),
        }
        if let Err(why) = self.examine_store(&store, &place, findings).await {
            findings.wrong(&format!("{place}: {}", why.explained()));
        }
        store.close().await;
    }

    async fn examine_store(
        &self,
        store: &Store,
        place: &str,
        findings: &mut Findings,
    ) -> Result<(), gatehouse_store::StoreError> {
        let (found, newest) = store.schema_versions().await?;
        if found < newest {
            findings.wrong(&format!(
                "the store in {place} has schema version {found}, and this gatehouse works with \
                 {newest}: start `gatehouse serve` there, which brings it up to date"
            ));
            return Ok(());
        }
        findings.good(&format!("the store in {place} answers, with schema version {found}"));
        if !self.deep {
            return Ok(());
        }
        for tenant in store.every_tenant().await? {
            let name = &tenant.name;
            let audit = match store.audit(name).await {
                Ok(audit) => audit,
                Err(why) => {
                    findings.wrong(&format!("tenant {name}: {}", why.explained()));
                    continue;
                }
            };
            if audit.discrepancies.is_empty() {
                let (n_figures, n_accesses) = (audit.n_figures, audit.n_accesses);
                findings.good(&format!(
                    "tenant {name}: all {n_figures} figures agree with its {n_accesses} accesses"
                ));
            }
            for discrepancy in audit.discrepancies {
                findings.wrong(&format!("tenant {name}: {discrepancy}"));
            }
        }
        Ok(())
    }
}

fn place(config: &Config) -> String {
    match &config.database_url {
        Some(url) => url.to_string(),
        None => {
            let dir = std::path::absolute(&config.data_dir);
            dir.unwrap_or_else(|_| config.data_dir.clone()).display().to_string()
        }
    }
}
