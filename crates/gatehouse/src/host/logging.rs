//! Where the log goes: to standard error, for people on a terminal and as JSON otherwise. Traces, where
//! they are wanted, hang on the same spans but never show in the log.

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
use crate::host::traces::{self, Exporting};

/// How long the last lines may take to be written.
const LAST_LINES_TIMEOUT: Duration = Duration::from_secs(1);

type Boxed = Box<dyn Layer<Registry> + Send + Sync>;

/// What watches the work, until it is told to finish.
pub(crate) struct Telemetry {
    log: LogQueue,
    traces: Option<Exporting>,
}

/// Begins to write the log, and to export traces where that is wanted.
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
        if json { for_programs(queue.clone()) } else { for_people(queue.clone(), terminal) };
    let mut layers = vec![written.with_filter(of_ours(log.level).and(filter_fn(is_said))).boxed()];
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
    /// Hands over what is left, within this time and a little more for the last lines.
    pub(crate) fn finish(self, within: Duration) {
        if let Some(traces) = self.traces {
            traces.finish(within);
        }
        self.log.flush(LAST_LINES_TIMEOUT);
    }
}

/// Libraries may say what is wrong; the level is about ourselves. A driver's debug log would hold the
/// values of statements.
fn of_ours(level: LogLevel) -> Targets {
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

/// What the library of traces would say every time, and we say now and then, or better.
const TOLD_BY_US: [&str; 2] =
    ["BatchSpanProcessor.ExportError", "BatchSpanProcessor.Shutdown.Timeout"];

/// Spans are for traces; everything else is said, once.
fn is_said(metadata: &Metadata<'_>) -> bool {
    metadata.is_event() && !TOLD_BY_US.contains(&metadata.name())
}

/// One JSON object a line.
fn for_programs<W>(writer: W) -> Boxed
where
    W: for<'w> layers::MakeWriter<'w> + Send + Sync + 'static,
{
    let layer = layers::layer().with_writer(writer).log_internal_errors(false);
    layer.json().flatten_event(true).with_current_span(false).with_span_list(false).boxed()
}

/// Time, level, what happened, and what there is to know about it.
fn for_people<W>(writer: W, colours: bool) -> Boxed
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

/// A text without its quotes, where nobody can mistake where it ends.
fn without_quotes(shown: &str) -> &str {
    let inner = shown.strip_prefix('"').and_then(|it| it.strip_suffix('"'));
    let is_plain = |it: &&str| {
        !it.is_empty() && it.chars().all(|c| c.is_alphanumeric() || "-._~/{}:@*".contains(c))
    };
    inner.filter(is_plain).unwrap_or(shown)
}

/// Keeps what is written on one line, and from doing anything to a terminal.
struct OneLine<'a, 'w>(&'a mut Writer<'w>);

impl Write for OneLine<'_, '_> {
    fn write_str(&mut self, text: &str) -> fmt::Result {
        for part in text.split_inclusive(is_unruly) {
            match part.chars().next_back().filter(|c| is_unruly(*c)) {
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

/// Control characters, line and paragraph separators, and what turns the direction of writing.
fn is_unruly(c: char) -> bool {
    c.is_control() || matches!(c, '\u{2028}'..='\u{202e}' | '\u{2066}'..='\u{2069}')
}

#[cfg(test)]
mod tests;
