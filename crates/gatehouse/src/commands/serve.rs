//! `gatehouse serve`.

use std::path::PathBuf;
use std::sync::{Arc, OnceLock};
use std::time::{Duration, Instant};

use clap::Args;
use gatehouse_server::config::Config;
use gatehouse_server::estate::Estate;
use gatehouse_server::http::OptionalFeatures;
use gatehouse_server::serve::{STOP_TIMEOUT, Server, forbid_core_dumps, raise_open_files};
use tokio::signal::unix::{SignalKind, signal};

use crate::failure::Failure;
use crate::host::demo::Demo;
use crate::host::{disk_failure, logging};
use crate::terminal::text_input::secret_or_file;

/// Ticks of a busy thread between two polls for new requests; in one tick the runtime polls up to four tasks. The
/// runtime's default of 61 ticks would make a request wait for up to four times as many others.
const TICKS_BETWEEN_EVENTS: u32 = 8;

/// Sources of the settings; shared by the commands that read them.
#[derive(Args)]
pub(crate) struct Settings {
    /// Settings file (TOML); see gatehouse.example.toml
    #[arg(long, value_name = "FILE")]
    config: Option<PathBuf>,
    /// Directory of the embedded store and its keys [default: gatehouse-data]
    #[arg(long, value_name = "DIR")]
    data_dir: Option<String>,
    /// PostgreSQL database, instead of the embedded store; @FILE reads the URL from a file, or set
    /// GATEHOUSE_DATABASE_URL: neither shows its password in the process list
    #[arg(long, value_name = "URL")]
    database_url: Option<String>,
}

impl Settings {
    /// The settings of an embedded store in this directory.
    pub(crate) fn of_data_dir(config: Option<PathBuf>, data_dir: &str) -> Self {
        Self { config, data_dir: Some(data_dir.to_owned()), database_url: None }
    }

    /// Merges file, environment and flags.
    pub(crate) fn load(&self, more: &[(&'static str, Option<&String>)]) -> Result<Config, String> {
        let database_url = self.database_url.as_deref().map(secret_or_file).transpose();
        let database_url =
            database_url.map_err(|why| format!("--database-url: {}", why.message()))?;
        let mut flags =
            vec![("data_dir", self.data_dir.as_ref()), ("database_url", database_url.as_ref())];
        flags.extend(more);
        let flags: Vec<(&str, String)> =
            flags.into_iter().filter_map(|(name, value)| Some((name, value?.clone()))).collect();
        let mut environment = Vec::new();
        for (name, value) in std::env::vars_os() {
            // Our variables have UTF-8 names.
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
    /// Address to listen on; port 0 picks a free one [default: 127.0.0.1:8080]
    #[arg(long, value_name = "ADDRESS")]
    listen: Option<String>,
    /// Apply an estate file at start
    #[arg(long, value_name = "FILE")]
    estate: Option<PathBuf>,
    /// Add a demo tenant with contracts and simulated platforms, and print a token and commands to try
    #[arg(long)]
    demo: bool,
    /// Start with an empty store even if keys or other files show that there was one, and it is gone
    #[arg(long)]
    start_empty: bool,
    /// Show the settings without secrets, and exit
    #[arg(long)]
    print_config: bool,
    /// Also answer requests that do no work, as a baseline for the bench
    #[arg(long, hide = true)]
    yardsticks: bool,
    /// Write no change to the journals, as a baseline for the bench
    #[arg(long, hide = true, requires = "yardsticks")]
    without_journal: bool,
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
        let stop_requested_at = Arc::new(OnceLock::new());
        let served = runtime.block_on(self.serve(&config, Arc::clone(&stop_requested_at)));
        // The rest of the time for stopping.
        let passed = stop_requested_at.get().map_or(Duration::ZERO, Instant::elapsed);
        telemetry.finish(STOP_TIMEOUT.saturating_sub(passed));
        // Unfinished work has had its time, and is not waited for again.
        runtime.shutdown_background();
        served
    }

    /// Serves until the process is asked to end; `asked` gets the time of that.
    async fn serve(
        self,
        config: &Config,
        stop_requested_at: Arc<OnceLock<Instant>>,
    ) -> Result<(), Failure> {
        let mut estate = match &self.estate {
            Some(path) => Some(Estate::load(path).map_err(|bad| bad.to_string())?),
            None => None,
        };
        let demo = if self.demo {
            Some(Demo::add_to(estate.get_or_insert_with(|| Estate { tenants: Vec::new() }))?)
        } else {
            None
        };
        // Before the first response: an early signal must not be lost.
        let stop = stop_signal().map_err(|cause| format!("signals can't be caught: {cause}"))?;
        let features = OptionalFeatures {
            has_yardsticks: self.yardsticks,
            is_without_journal: self.without_journal,
            demo: demo.is_some().then(Demo::grant),
            platforms: demo.iter().flat_map(Demo::platforms).collect(),
        };
        let mut config = config.clone();
        if demo.is_some() {
            config.events.callback_networks.push(Demo::callback_network());
        }
        let server = Server::start(&config, estate.as_ref(), features, self.start_empty).await;
        let server = server.map_err(|why| match why.is_disk_failure() {
            true => disk_failure::disk_failed(&why.to_string()),
            false => Failure::from(why.to_string()),
        })?;
        let disk = server.disk();
        disk_failure::exit_on_failure(&disk)?;
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
                // An unspecified address can be listened on, but not connected to.
                reached.set_ip(std::net::Ipv4Addr::LOCALHOST.into());
            }
            let url = format!("{scheme}://{reached}{}", config.base_path.as_str());
            println!("{}", demo.invitation(&server, &url));
        }
        let stop = async move {
            stop.await;
            let _ = stop_requested_at.set(Instant::now());
        };
        server.run(Box::pin(stop)).await;
        if let Some(demo) = demo {
            demo.stop().await;
        }
        // The disk may also have failed while the store was closed.
        disk.failure().map_or(Ok(()), |why| Err(disk_failure::disk_failed(&why)))
    }
}

/// Resolves when the process is asked to end.
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
