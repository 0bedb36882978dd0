//! `gatehouse serve`.

use std::path::PathBuf;
use std::sync::{Arc, OnceLock};
use std::time::{Duration, Instant};

use clap::Args;
use gatehouse_server::config::Config;
use gatehouse_server::estate::Estate;
use gatehouse_server::http::Offer;
use gatehouse_server::serve::{STOP_TIMEOUT, Server, forbid_core_dumps, raise_open_files};
use tokio::signal::unix::{SignalKind, signal};

use crate::failure::Failure;
use crate::host::demo::Demo;
use crate::host::{disk_failure, logging};
use crate::terminal::text_input::given_secret;

/// Ticks of a busy thread between two looks for new requests; in one tick the runtime polls up to four tasks. The runtime's
/// own 61 ticks would make a request wait for up to four times as many others.
const TICKS_BETWEEN_EVENTS: u32 = 8;

/// Where the settings come from; shared by the commands that read them.
#[derive(Args)]
pub(crate) struct Settings {
    /// A file of settings (TOML); see gatehouse.example.toml
    #[arg(long, value_name = "FILE")]
    config: Option<PathBuf>,
    /// Where the embedded store and its keys are [default: gatehouse-data]
    #[arg(long, value_name = "DIR")]
    data_dir: Option<String>,
    /// A PostgreSQL database, instead of the embedded store; its password is better in a file (@FILE) or in
    /// GATEHOUSE_DATABASE_URL, where no list of processes shows it
    #[arg(long, value_name = "URL")]
    database_url: Option<String>,
}

impl Settings {
    /// Those of the embedded store in this directory.
    pub(crate) fn of_data_dir(config: Option<PathBuf>, data_dir: &str) -> Self {
        Self { config, data_dir: Some(data_dir.to_owned()), database_url: None }
    }

    /// Puts file, environment and flags together.
    pub(crate) fn load(&self, more: &[(&'static str, Option<&String>)]) -> Result<Config, String> {
        let database_url = self.database_url.as_deref().map(given_secret).transpose();
        let database_url = database_url.map_err(|why| format!("--database-url: {}", why.said()))?;
        let mut flags =
            vec![("data_dir", self.data_dir.as_ref()), ("database_url", database_url.as_ref())];
        flags.extend(more);
        let flags: Vec<(&str, String)> =
            flags.into_iter().filter_map(|(name, value)| Some((name, value?.clone()))).collect();
        let mut environment = Vec::new();
        for (name, value) in std::env::vars_os() {
            // A name that is no text can't be one of ours.
            let Ok(name) = name.into_string() else { continue };
            match value.into_string() {
                Ok(value) => environment.push((name, value)),
                Err(_) if name.starts_with("GATEHOUSE_") => {
                    return Err(format!("{name}: must be UTF-8"));
                }
                Err(_) => {}
            }
        }
        Config::load(self.config.as_deref(), environment, &flags).map_err(|bad| bad.to_string())
    }
}

/// Run the server
#[derive(Args)]
pub(crate) struct Serve {
    #[command(flatten)]
    settings: Settings,
    /// Where to listen; port 0 picks a free one [default: 127.0.0.1:8080]
    #[arg(long, value_name = "ADDRESS")]
    listen: Option<String>,
    /// Apply an estate file at start
    #[arg(long, value_name = "FILE")]
    estate: Option<PathBuf>,
    /// Add a demo tenant with contracts and simulated platforms, and print a token and what to try
    #[arg(long)]
    demo: bool,
    /// Begin with an empty store also where keys or other files say that there was one, and it is gone
    #[arg(long)]
    start_empty: bool,
    /// Show the settings without secrets, and stop
    #[arg(long)]
    print_config: bool,
    /// Also answer requests that need no work, which the bench compares others with
    #[arg(long, hide = true)]
    yardsticks: bool,
}

impl Serve {
    pub(crate) fn run(self) -> Result<(), Failure> {
        let config = self.settings.load(&[("listen", self.listen.as_ref())])?;
        if self.print_config {
            print!("{}", config.show());
            return Ok(());
        }
        let telemetry = logging::start(&config.log, &config.traces)?;
        if !config.core_dumps {
            forbid_core_dumps();
        }
        raise_open_files();
        let mut runtime = tokio::runtime::Builder::new_multi_thread();
        let runtime = runtime.enable_all().event_interval(TICKS_BETWEEN_EVENTS).build();
        let runtime = runtime.map_err(|cause| format!("no threads to run on: {cause}"))?;
        let asked = Arc::new(OnceLock::new());
        let served = runtime.block_on(self.serve(&config, Arc::clone(&asked)));
        // What is left of the time that stopping may take.
        let passed = asked.get().map_or(Duration::ZERO, Instant::elapsed);
        telemetry.finish(STOP_TIMEOUT.saturating_sub(passed));
        // What did not finish in time is not waited for once more.
        runtime.shutdown_background();
        served
    }

    /// Serves until the process is asked to end, and tells when that was.
    async fn serve(self, config: &Config, asked: Arc<OnceLock<Instant>>) -> Result<(), Failure> {
        let mut estate = match &self.estate {
            Some(path) => Some(Estate::load(path).map_err(|bad| bad.to_string())?),
            None => None,
        };
        let demo = if self.demo {
            Some(Demo::add_to(estate.get_or_insert_with(|| Estate { tenants: Vec::new() }))?)
        } else {
            None
        };
        // Before anything is answered: a signal that comes early must not be lost.
        let stop = stop_signal().map_err(|cause| format!("signals can't be caught: {cause}"))?;
        let offer = Offer {
            has_yardsticks: self.yardsticks,
            demo: demo.is_some().then(Demo::grant),
            platforms: demo.iter().flat_map(Demo::platforms).collect(),
        };
        let server = Server::start(config, estate.as_ref(), offer, self.start_empty).await;
        let server = server.map_err(|why| match why.is_disk_failure() {
            true => disk_failure::of_disk(&why.to_string()),
            false => Failure::from(why.to_string()),
        })?;
        let disk = server.disk();
        disk_failure::end_with(&disk)?;
        let address = server.address().map_err(|cause| cause.to_string())?;
        let scheme = server.scheme();
        println!("listening on {scheme}://{address}");
        if let Some(address) = server.operator_address() {
            let address = address.map_err(|cause| cause.to_string())?;
            println!("operator listening on http://{address}");
        }
        if let Some(demo) = &demo {
            let mut reached = address;
            if reached.ip().is_unspecified() {
                // Everywhere is a place to listen, not one to connect to.
                reached.set_ip(std::net::Ipv4Addr::LOCALHOST.into());
            }
            let url = format!("{scheme}://{reached}{}", config.base_path.as_str());
            println!("{}", demo.invitation(&server, &url));
        }
        let stop = async move {
            stop.await;
            let _ = asked.set(Instant::now());
        };
        server.run(Box::pin(stop)).await;
        if let Some(demo) = demo {
            demo.stop().await;
        }
        // Also while it closed the store.
        disk.failure().map_or(Ok(()), |why| Err(disk_failure::of_disk(&why)))
    }
}

/// Comes when the process is asked to end.
pub(crate) fn stop_signal() -> std::io::Result<impl Future<Output = ()>> {
    let mut terminate = signal(SignalKind::terminate())?;
    let mut interrupt = signal(SignalKind::interrupt())?;
    Ok(async move {
        tokio::select! {
            _ = terminate.recv() => {}
            _ = interrupt.recv() => {}
        }
    })
}
