//! `gatehouse event tail`: follows events until Ctrl-C, over any number of connections.

use std::io::{self, IsTerminal, Write};
use std::str::FromStr;
use std::time::Duration;

use clap::Args;
use serde_json::Value;

use super::columns::{COLUMNS, line};
use super::conditions::Conditions;
use crate::client::api::{TenantArgs, TenantServer};
use crate::failure::{Failure, FailureKind};
use crate::terminal::output::{OutputFormat, csv};
use crate::terminal::screen::{Screen, harmless, print_notice};

/// Pause before a connection is made again: the first, and the longest.
const PAUSE_FIRST: Duration = Duration::from_secs(1);
const PAUSE_MAX: Duration = Duration::from_secs(30);

/// Follow what changes, as it happens, until Ctrl-C
///
/// A line of text for each event; with --output json a JSON object on each line. A lost connection is made again and
/// misses nothing. Ctrl-C ends with the number to go on behind, and with exit code 0.
#[derive(Args)]
#[command(after_help = "\
Examples:
  gatehouse event tail
  gatehouse event tail --contract C-PAYG --type AccessStateChangeEvent
  gatehouse event tail --after 4711 --output json >> events.jsonl
  gatehouse event tail --after 0")]
pub(crate) struct Tail {
    /// Begin behind the event with this number; 0 is the oldest one that is kept, `last` is now
    #[arg(long, value_name = "N", default_value = "last")]
    after: Position,
    #[command(flatten)]
    conditions: Conditions,
}

/// Where to begin.
#[derive(Clone, Copy)]
enum Position {
    Oldest,
    Behind(u64),
    Last,
}

impl FromStr for Position {
    type Err = &'static str;

    fn from_str(text: &str) -> Result<Self, &'static str> {
        match (text, text.parse()) {
            ("last", _) => Ok(Self::Last),
            (_, Ok(0)) => Ok(Self::Oldest),
            (_, Ok(number)) => Ok(Self::Behind(number)),
            _ => Err("must be the number of an event, 0, or `last`"),
        }
    }
}

impl Tail {
    pub(crate) async fn run(self, tenant_args: &TenantArgs) -> Result<(), Failure> {
        let mut parameters = self.conditions.parameters()?;
        let (server, format) = tenant_args.open().await?;
        parameters.extend(match self.after {
            Position::Oldest => None,
            Position::Behind(number) => Some(format!("after={number}")),
            Position::Last => Some("after=last".to_owned()),
        });
        let mut follower = Follower {
            server: &server,
            query: parameters.join("&"),
            printer: Printer { format, screen: Screen::stdout(), has_head: false },
            seen_to: None,
        };
        let ended = tokio::select! {
            ended = follower.run() => ended,
            _ = tokio::signal::ctrl_c() => Ok(()),
        };
        let Some(seen_to) = follower.seen_to else { return ended };
        let go_on = server.command(&format!("event tail --after {seen_to}"));
        let advice = format!("`{go_on}` goes on behind the last event");
        match ended {
            Ok(()) => {
                if io::stderr().is_terminal() {
                    // Behind the `^C`.
                    eprintln!();
                }
                eprintln!("up to event {seen_to}; {advice}");
                Ok(())
            }
            // It lies before the oldest event, or the store doesn't have it.
            Err(why) if why.kind == FailureKind::Refused => Err(why),
            Err(why) => Err(why.advise_also(advice)),
        }
    }
}

struct Follower<'s> {
    server: &'s TenantServer,
    query: String,
    printer: Printer,
    /// Number up to which the server has looked for this command; `None` before it says so.
    seen_to: Option<u64>,
}

/// State of the connections.
struct Attempts {
    pause: Duration,
    /// Whether a server has ever answered: only such a server is waited for.
    has_connected: bool,
    /// Whether the user knows that the connection is lost.
    is_lost: bool,
}

impl Follower<'_> {
    /// Follows the events; returns only with a failure.
    async fn run(&mut self) -> Result<(), Failure> {
        let mut attempts = Attempts { pause: PAUSE_FIRST, has_connected: false, is_lost: false };
        loop {
            match self.follow(&mut attempts).await {
                // The server stops, or the token is replaced: the next connection tells.
                Ok(()) => {}
                Err(why) if attempts.has_connected && why.kind == FailureKind::Unreachable => {
                    let seconds = attempts.pause.as_secs();
                    print_notice(&format!("{}; trying again in {seconds} s", why.message()));
                    attempts.is_lost = true;
                }
                Err(why) => return Err(why),
            }
            tokio::time::sleep(attempts.pause).await;
            attempts.pause = (attempts.pause * 2).min(PAUSE_MAX);
        }
    }

    /// Follows the events over one connection, until its end.
    async fn follow(&mut self, attempts: &mut Attempts) -> Result<(), Failure> {
        let mut stream = self.server.follow(&["event"], &self.query, self.seen_to).await?;
        attempts.has_connected = true;
        if std::mem::take(&mut attempts.is_lost) {
            eprintln!("connected again");
        }
        while let Some(block) = stream.next().await? {
            attempts.pause = PAUSE_FIRST;
            if let Some(event) = &block.data {
                self.printer.print(event)?;
            }
            self.seen_to = block.id.or(self.seen_to);
        }
        Ok(())
    }
}

struct Printer {
    format: OutputFormat,
    screen: Screen,
    has_head: bool,
}

impl Printer {
    fn print(&mut self, event: &Value) -> Result<(), Failure> {
        let mut out = io::stdout().lock();
        match self.format {
            OutputFormat::Table => writeln!(out, "{}", harmless(&line(event)))?,
            OutputFormat::Json => writeln!(out, "{}", self.screen.json(&event.to_string()))?,
            OutputFormat::Csv => {
                if !std::mem::replace(&mut self.has_head, true) {
                    csv::write_head(&mut out, COLUMNS)?;
                }
                csv::show_row(&mut out, COLUMNS, event, self.screen)?;
            }
        }
        out.flush()?;
        Ok(())
    }
}
