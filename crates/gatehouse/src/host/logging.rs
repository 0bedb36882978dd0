//! Where the log goes: to standard error, as text on a terminal and as JSON otherwise. Traces use the same spans, but
//! never show in the log.

use std::fmt::{self, Write};
use std::io::IsTerminal;
use std::time::Duration;

use gatehouse_server::config::{Log, LogFormat, LogLevel, Traces};
use tracing::Metadata;
use tracing::field::Field;
use tracing::level_filters::LevelFilter;
use tracing_subscriber::field::MakeExt;
use tracing_subscriber::filter::{FilterExt, Targets, filter_fn};
use tracing_subscriber::fmt::format::{Writer, debug_fn};
use tracing_subscriber::layer::SubscriberExt;
use tracing_subscriber::util::SubscriberInitExt;
use tracing_subscriber::{Layer, Registry, fmt as layers};

use crate::host::log_queue::LogQueue;
use crate::host::traces::{self, TraceExport};

/// Time for the last lines when the process ends.
const LAST_LINES_TIMEOUT: Duration = Duration::from_secs(1);

type BoxedLayer = Box<dyn Layer<Registry> + Send + Sync>;

/// The log and the trace export, until `finish`.
pub(crate) struct Telemetry {
    log: LogQueue,
    traces: Option<TraceExport>,
}

/// Starts the log, and the trace export if it is configured.
pub(crate) fn start(log: &Log, traces: &Traces) -> Result<Telemetry, String> {
    let terminal = std::io::stderr().is_terminal();
    let json = match log.format {
        LogFormat::Auto => !terminal,
        LogFormat::Text => false,
        LogFormat::Json => true,
    };
    let queue = LogQueue::start(std::io::stderr());
    let queue = queue.map_err(|cause| format!("no thread to write the log: {cause}"))?;
    let written =
        if json { json_layer(queue.clone()) } else { text_layer(queue.clone(), terminal) };
    let mut layers =
        vec![written.with_filter(level_filter(log.level).and(filter_fn(is_logged))).boxed()];
    let traces = traces::start(traces)?.map(|(layer, exporting)| {
        layers.push(layer);
        exporting
    });
    tracing_subscriber::registry().with(layers).init();
    std::panic::set_hook(Box::new(|panic| {
        let location = panic.location().map(ToString::to_string);
        let panic = panic.payload_as_str().unwrap_or_default();
        tracing::error!(panic, location, "a thread panicked");
    }));
    Ok(Telemetry { log: queue, traces })
}

impl Telemetry {
    /// Exports the last traces within this time, and then writes the last lines.
    pub(crate) fn finish(self, within: Duration) {
        if let Some(traces) = self.traces {
            traces.finish(within);
        }
        self.log.flush(LAST_LINES_TIMEOUT);
    }
}

/// Log levels: `level` for our crates, warnings for libraries, because a database driver's debug log holds the values
/// of statements.
fn level_filter(level: LogLevel) -> Targets {
    let level = match level {
        LogLevel::Error => LevelFilter::ERROR,
        LogLevel::Warn => LevelFilter::WARN,
        LogLevel::Info => LevelFilter::INFO,
        LogLevel::Debug => LevelFilter::DEBUG,
        LogLevel::Trace => LevelFilter::TRACE,
    };
    Targets::new()
        .with_default(LevelFilter::WARN.min(level))
        .with_target("gatehouse", level)
        .with_target("gatehouse_server", level)
        .with_target("gatehouse_store", level)
        .with_target("gatehouse_vault", level)
}

/// Events of the tracing library that we log ourselves, less often.
const REPLACED_EVENTS: [&str; 2] =
    ["BatchSpanProcessor.ExportError", "BatchSpanProcessor.Shutdown.Timeout"];

/// Spans are for traces; events are logged, except those that we replace.
fn is_logged(metadata: &Metadata<'_>) -> bool {
    metadata.is_event() && !REPLACED_EVENTS.contains(&metadata.name())
}

/// A JSON object per line.
fn json_layer<W>(writer: W) -> BoxedLayer
where
    W: for<'w> layers::MakeWriter<'w> + Send + Sync + 'static,
{
    let layer = layers::layer().with_writer(writer).log_internal_errors(false);
    layer.json().flatten_event(true).with_current_span(false).with_span_list(false).boxed()
}

/// Time, level, message and fields, as text.
fn text_layer<W>(writer: W, colours: bool) -> BoxedLayer
where
    W: for<'w> layers::MakeWriter<'w> + Send + Sync + 'static,
{
    let fields = debug_fn(move |writer: &mut Writer<'_>, field: &Field, value: &dyn fmt::Debug| {
        if field.name() == "message" {
            return write!(OneLine(writer), "{value:?}");
        }
        let (dim, plain) = if colours { ("\x1b[2m", "\x1b[0m") } else { ("", "") };
        write!(writer, "{dim}{}={plain}", field.name())?;
        let shown = format!("{value:?}");
        write!(OneLine(writer), "{}", without_quotes(&shown))
    });
    let layer = layers::layer().with_writer(writer).log_internal_errors(false);
    layer.with_ansi(colours).with_target(false).fmt_fields(fields.delimited(" ")).boxed()
}

/// A text without its quotes, where its end is clear.
fn without_quotes(shown: &str) -> &str {
    let inner = shown.strip_prefix('"').and_then(|it| it.strip_suffix('"'));
    let is_plain = |it: &&str| {
        !it.is_empty() && it.chars().all(|c| c.is_alphanumeric() || "-._~/{}:@*".contains(c))
    };
    inner.filter(is_plain).unwrap_or(shown)
}

/// Escapes line breaks and whatever controls a terminal.
struct OneLine<'a, 'w>(&'a mut Writer<'w>);

impl Write for OneLine<'_, '_> {
    fn write_str(&mut self, text: &str) -> fmt::Result {
        for part in text.split_inclusive(needs_escape) {
            match part.chars().next_back().filter(|c| needs_escape(*c)) {
                Some(last) => {
                    self.0.write_str(&part[..part.len() - last.len_utf8()])?;
                    write!(self.0, "{}", last.escape_default())?;
                }
                None => self.0.write_str(part)?,
            }
        }
        Ok(())
    }
}

/// Control characters, line and paragraph separators, and bidirectional controls.
fn needs_escape(c: char) -> bool {
    c.is_control() || matches!(c, '\u{2028}'..='\u{202e}' | '\u{2066}'..='\u{2069}')
}

#[cfg(test)]
mod tests;
