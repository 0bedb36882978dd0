//! Waiting for a Task: with a bar that shows how far it is, until it is over or somebody has waited long enough.
//!
//! A server that is away for a while is waited for, too: the batch is none the worse for it.

use std::cell::Cell;
use std::io::{self, BufRead, Write};
use std::time::{Duration, Instant};

use indicatif::{HumanDuration, ProgressBar, ProgressDrawTarget, ProgressState, ProgressStyle};
use reqwest::Method;
use tokio::signal::unix::{Signal, SignalKind, signal};

use super::task::Task;
use crate::api::TenantServer;
use crate::failure::{Failure, Kind};
use crate::screen::has_somebody_to_ask;

/// Between two looks: at first, and at most.
const FIRST_PAUSE: Duration = Duration::from_millis(100);
const LONGEST_PAUSE: Duration = Duration::from_secs(1);

/// How long a server may be away.
const PATIENCE: Duration = Duration::from_secs(120);

/// How the waiting ended.
pub(crate) enum Ending {
    /// The Task is over.
    Over(Task),
    /// Somebody pressed Ctrl-C, and had it stopped.
    Stopped(Task),
}

/// Waits until a Task is over, or somebody no longer wants to.
pub(crate) async fn watch(server: &TenantServer, id: &str) -> Result<Ending, Failure> {
    let mut interrupts = signal(SignalKind::interrupt())
        .map_err(|cause| format!("Ctrl-C can't be caught: {cause}"))?;
    loop {
        let bar = Bar::new();
        tokio::select! {
            over = until_over(server, id, &bar) => {
                bar.clear();
                return over.map(Ending::Over);
            }
            _ = interrupts.recv() => {}
        }
        bar.clear();
        match ask_what_to_do(id, &mut interrupts).await? {
            Wish::Wait => {}
            Wish::Leave => {
                let said = format!("{id} goes on without you");
                return Err(Failure::new(Kind::Interrupted, said)
                    .advise(format!("`gatehouse batch wait {id}` waits for it again")));
            }
            Wish::Stop => {
                stop(server, id).await?;
                return Task::look(server, id).await.map(Ending::Stopped);
            }
        }
    }
}

/// Stops a Task. One that was over already is left as it is.
async fn stop(server: &TenantServer, id: &str) -> Result<(), Failure> {
    let answer = server.ask(Method::DELETE, &["access", "batch", id]).answer().await?;
    if answer.is_success() || answer.status == 409 { Ok(()) } else { Err(answer.failure()) }
}

async fn until_over(server: &TenantServer, id: &str, bar: &Bar) -> Result<Task, Failure> {
    let mut pause = FIRST_PAUSE;
    let mut away_since = None;
    loop {
        match Task::look(server, id).await {
            Ok(task) if task.is_over() => return Ok(task),
            Ok(task) => {
                away_since = None;
                bar.show(&task);
            }
            Err(why) if why.kind == Kind::Unreachable => {
                let since = *away_since.get_or_insert_with(Instant::now);
                if since.elapsed() > PATIENCE {
                    return Err(why.advise(format!(
                        "the batch goes on without you; `gatehouse batch wait {id}` waits for it again"
                    )));
                }
                bar.say("the server can't be reached; trying again");
            }
            Err(why) => return Err(why),
        }
        tokio::time::sleep(pause).await;
        pause = (pause * 3 / 2).min(LONGEST_PAUSE);
    }
}

/// What whoever pressed Ctrl-C wants.
enum Wish {
    Stop,
    Leave,
    Wait,
}

/// Asks what Ctrl-C was meant to say. Another one means: just let me go.
async fn ask_what_to_do(id: &str, interrupts: &mut Signal) -> Result<Wish, Failure> {
    if !has_somebody_to_ask() {
        return Ok(Wish::Leave);
    }
    loop {
        eprint!("\n{id}: stop it (s), leave it running (l), or go on waiting (w)? ");
        io::stderr().flush()?;
        let answer = tokio::task::spawn_blocking(|| {
            let mut line = String::new();
            io::stdin().lock().read_line(&mut line).map(|n| (n, line))
        });
        let answer = tokio::select! {
            answer = answer => answer.map_err(|_| "nobody can be asked".to_owned())?,
            _ = interrupts.recv() => {
                eprintln!();
                return Ok(Wish::Leave);
            }
        };
        // At the end of what can be typed, nobody is there any more.
        let Ok((1.., line)) = answer else { return Ok(Wish::Leave) };
        match line.trim().to_lowercase().as_str() {
            "s" | "stop" => return Ok(Wish::Stop),
            "l" | "leave" => return Ok(Wish::Leave),
            "w" | "wait" => return Ok(Wish::Wait),
            _ => {}
        }
    }
}

/// How far a Task is, on a terminal; nothing elsewhere.
struct Bar {
    bar: ProgressBar,
    /// Until it is known how much there is, there is nothing to see.
    is_seen: Cell<bool>,
}

const TEMPLATE: &str = "{prefix} {wide_bar} {human_pos}/{human_len}{pace}{msg}";

impl Bar {
    fn new() -> Self {
        let bar = ProgressBar::with_draw_target(Some(0), ProgressDrawTarget::hidden());
        let style = ProgressStyle::with_template(TEMPLATE).expect("the template is a constant");
        bar.set_style(style.progress_chars("=> ").with_key("pace", pace));
        Self { bar, is_seen: Cell::new(false) }
    }

    fn show(&self, task: &Task) {
        let progress = task.progress;
        self.bar.set_length(progress.total);
        self.bar.set_prefix(task.state.clone());
        self.say(&match progress.failed {
            0 => String::new(),
            n => format!("{n} failed"),
        });
        self.bar.set_position(progress.succeeded + progress.failed);
        if !self.is_seen.replace(true) {
            self.bar.set_draw_target(ProgressDrawTarget::stderr());
            self.bar.tick();
        }
    }

    fn say(&self, what: &str) {
        self.bar.set_message(if what.is_empty() { String::new() } else { format!("  {what}") });
    }

    fn clear(&self) {
        self.bar.finish_and_clear();
    }
}

/// How fast it goes and how long it will take, once it goes.
fn pace(state: &ProgressState, out: &mut dyn std::fmt::Write) {
    let rate = state.per_sec();
    if rate > 0.0 {
        let _ = write!(out, "  {rate:.0}/s  {:#} left", HumanDuration(state.eta()));
    }
}
