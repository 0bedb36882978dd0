//! Waiting for a Task: with a bar that shows how far it is, until it is over or somebody has waited long enough.
//!
//! A server that is away for a while is waited for, too: the batch is none the worse for it.

use std::cell::Cell;
use std::time::{Duration, Instant};

use indicatif::{HumanDuration, ProgressBar, ProgressDrawTarget, ProgressState, ProgressStyle};
use reqwest::Method;
use tokio::signal::unix::{Signal, SignalKind, signal};

use super::task::Task;
use crate::client::api::TenantServer;
use crate::failure::{Failure, Kind};
use crate::terminal::question::{ask, can_be_asked};

/// Between two looks: at first, and at most.
const FIRST_PAUSE: Duration = Duration::from_millis(100);
const LONGEST_PAUSE: Duration = Duration::from_secs(1);

/// How long a server may be away.
const PATIENCE: Duration = Duration::from_secs(120);

/// How long one look may take.
const LOOK_TIMEOUT: Duration = Duration::from_secs(20);

/// How the waiting ended.
pub(crate) enum Ending {
    /// The Task is over.
    Over(Task),
    /// Somebody pressed Ctrl-C, and had it stopped.
    Stopped(Task),
}

/// Waits until a Task is over, or somebody no longer wants to. `resume` is the command that waits for it
/// again, `seen` is when the server was there last.
pub(crate) async fn watch(
    server: &TenantServer,
    id: &str,
    resume: &str,
    mut seen: Option<Instant>,
    interrupts: &mut Interrupts,
) -> Result<Ending, Failure> {
    loop {
        let bar = Bar::new();
        tokio::select! {
            over = until_over(server, id, &bar, &mut seen) => {
                bar.clear();
                let advice = format!("the batch goes on without you; `{resume}` waits for it again");
                let was_there = seen.is_some();
                return over.map(Ending::Over).map_err(|why| match was_there {
                    true => why.advise_also(advice),
                    false => why,
                });
            }
            () = interrupts.next() => {}
        }
        bar.clear();
        match ask_what_to_do(id, interrupts).await? {
            // Nobody looked meanwhile.
            Wish::Wait => seen = seen.map(|_| Instant::now()),
            Wish::Leave => {
                let said = format!("{id} goes on without you");
                return Err(Failure::new(Kind::Interrupted, said)
                    .advise(format!("`{resume}` waits for it again")));
            }
            Wish::Stop => {
                let stopped = async {
                    stop(server, id).await?;
                    Task::look(server, id).await
                };
                return interrupts.or(stopped).await.map(Ending::Stopped);
            }
        }
    }
}

/// Stops a Task. One that was over already is left as it is.
async fn stop(server: &TenantServer, id: &str) -> Result<(), Failure> {
    let ask = server.ask(Method::DELETE, &["access", "batch", id]).repeatable();
    let answer = ask.answer().await?;
    if answer.is_success() || answer.status == 409 { Ok(()) } else { Err(answer.failure()) }
}

async fn until_over(
    server: &TenantServer,
    id: &str,
    bar: &Bar,
    seen: &mut Option<Instant>,
) -> Result<Task, Failure> {
    let mut pause = FIRST_PAUSE;
    loop {
        // A token that is renewed has its own time.
        server.server.token().await?;
        let looked = tokio::time::timeout(LOOK_TIMEOUT, Task::look(server, id)).await;
        match looked.unwrap_or_else(|_| Err(Failure::new(Kind::Unreachable, "no answer in time"))) {
            Ok(task) if task.is_over() => return Ok(task),
            Ok(task) => {
                *seen = Some(Instant::now());
                bar.show(&task);
            }
            // A server that goes away comes back; one that was never there does not.
            Err(why) => match *seen {
                Some(seen) if why.kind == Kind::Unreachable && seen.elapsed() < PATIENCE => {
                    bar.tell_away();
                }
                _ => return Err(why),
            },
        }
        tokio::time::sleep(pause).await;
        pause = (pause * 3 / 2).min(LONGEST_PAUSE);
    }
}

/// Every Ctrl-C from now on. Without anyone who asks for the next one, it does nothing any more.
pub(crate) struct Interrupts(Signal);

impl Interrupts {
    pub(crate) fn catch() -> Result<Self, Failure> {
        let caught = signal(SignalKind::interrupt());
        Ok(Self(caught.map_err(|cause| format!("Ctrl-C can't be caught: {cause}"))?))
    }

    async fn next(&mut self) {
        self.0.recv().await;
    }

    /// Does something that Ctrl-C ends.
    pub(crate) async fn or<T>(
        &mut self,
        work: impl Future<Output = Result<T, Failure>>,
    ) -> Result<T, Failure> {
        tokio::select! {
            done = work => done,
            () = self.next() => Err(Failure::new(Kind::Interrupted, "interrupted")),
        }
    }
}

/// What whoever pressed Ctrl-C wants.
enum Wish {
    Stop,
    Leave,
    Wait,
}

/// Asks what Ctrl-C was meant to say. Another one means: just let me go.
async fn ask_what_to_do(id: &str, interrupts: &mut Interrupts) -> Result<Wish, Failure> {
    if !can_be_asked() {
        return Ok(Wish::Leave);
    }
    loop {
        let question =
            format!("\n{id}:\nstop it (s), leave it running (l), or go on waiting (w)? ");
        let answer = tokio::task::spawn_blocking(move || ask(&question));
        let answer = tokio::select! {
            answer = answer => answer.map_err(|_| "nobody can be asked".to_owned())?,
            () = interrupts.next() => {
                eprintln!();
                return Ok(Wish::Leave);
            }
        };
        match answer.ok().flatten().as_deref() {
            Some("s" | "stop") => return Ok(Wish::Stop),
            Some("w" | "wait") => return Ok(Wish::Wait),
            // At the end of what can be typed, nobody is there any more.
            Some("l" | "leave") | None => return Ok(Wish::Leave),
            Some(_) => {}
        }
    }
}

/// How far a Task is, on a terminal; nothing elsewhere.
struct Bar {
    bar: ProgressBar,
    /// Until it is known how much there is, there is nothing to see.
    is_seen: Cell<bool>,
    has_told: Cell<bool>,
}

const TEMPLATE: &str = "{prefix} {wide_bar} {human_pos}/{human_len}{pace}{msg}";

impl Bar {
    fn new() -> Self {
        let bar = ProgressBar::with_draw_target(Some(0), ProgressDrawTarget::hidden());
        let style = ProgressStyle::with_template(TEMPLATE).expect("the template is a constant");
        bar.set_style(style.progress_chars("=> ").with_key("pace", pace));
        Self { bar, is_seen: Cell::new(false), has_told: Cell::new(false) }
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
            // What was done before says nothing about how fast it goes.
            self.bar.reset_eta();
            self.bar.set_draw_target(ProgressDrawTarget::stderr());
            self.bar.tick();
        }
    }

    /// The server is away. Where there is no bar yet, it is said once.
    fn tell_away(&self) {
        const AWAY: &str = "the server can't be reached; trying again";
        self.say(AWAY);
        if !self.is_seen.get() && !self.has_told.replace(true) {
            eprintln!("{AWAY}");
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
