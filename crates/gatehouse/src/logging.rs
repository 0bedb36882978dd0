//! Where the log goes: to standard error, for people on a terminal and as JSON otherwise.

use std::io::IsTerminal;

use gatehouse_server::config::{Log, LogFormat, LogLevel};
use tracing::level_filters::LevelFilter;
use tracing_subscriber::layer::SubscriberExt;
use tracing_subscriber::util::SubscriberInitExt;
use tracing_subscriber::{Layer, Registry, filter, fmt};

/// Begins to write the log.
pub(crate) fn start(log: &Log) {
    let level = match log.level {
        LogLevel::Error => LevelFilter::ERROR,
        LogLevel::Warn => LevelFilter::WARN,
        LogLevel::Info => LevelFilter::INFO,
        LogLevel::Debug => LevelFilter::DEBUG,
        LogLevel::Trace => LevelFilter::TRACE,
    };
    // Libraries may say what is wrong; the level is about ourselves. A driver's debug log would hold
    // the values of statements.
    let ours = filter::Targets::new()
        .with_default(LevelFilter::WARN.min(level))
        .with_target("gatehouse", level)
        .with_target("gatehouse_server", level)
        .with_target("gatehouse_store", level)
        .with_target("gatehouse_vault", level);
    let terminal = std::io::stderr().is_terminal();
    let json = match log.format {
        LogFormat::Auto => !terminal,
        LogFormat::Text => false,
        LogFormat::Json => true,
    };
    let to_stderr = fmt::layer().with_writer(std::io::stderr);
    let layer: Box<dyn Layer<Registry> + Send + Sync> = if json {
        Box::new(to_stderr.json().flatten_event(true))
    } else {
        Box::new(to_stderr.with_ansi(terminal).with_target(false))
    };
    tracing_subscriber::registry().with(layer.with_filter(ours)).init();
}
