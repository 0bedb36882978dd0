//! Waiting for a Task, with a progress bar, until it ends or the user interrupts.
//!
//! An unreachable server is waited for, too: the batch continues when it is back.

use std::cell::Cell;
use std::time::{Duration, Instant};

use indicatif::{HumanDuration, ProgressBar, ProgressDrawTarget, ProgressState, ProgressStyle};
use reqwest::Method;
use tokio::signal::unix::{Signal, SignalKind, signal};

use super::task::Task;
use crate::client::api::TenantServer;
use crate::failure::{Failure, FailureKind};
use crate::terminal::question::{ask, is_interactive};

/// Pause between two polls: the first, and the longest.
const FIRST_PAUSE: Duration = Duration::from_millis(100);
const LONGEST_PAUSE: Duration = Duration::from_secs(1);

/// Longest time for which a server may be unreachable.
const UNREACHABLE_MAX: Duration = Duration::from_secs(120);

/// Timeout of a poll.
const POLL_TIMEOUT: Duration = Duration::from_secs(20);

pub(crate) enum Ending {
    Ended(Task),
    /// The user pressed Ctrl-C and stopped the Task.
    Stopped(Task),
}

/// Waits until a Task ends or the user interrupts. `resume` is the command that waits again; `seen` is when the server
/// last responded.
pub(crate) async fn watch(
    server: &TenantServer,
    id: &str,
    resume: &str,
    mut seen_at: Option<Instant>,
    interrupts: &mut Interrupts,
) -> Result<Ending, Failure> {
    loop {
        let bar = Bar::new();
        tokio::select! {
            end = until_end(server, id, &bar, &mut seen_at) => {
                bar.clear();
                let advice = format!("the batch goes on without you; `{resume}` waits for it again");
                let was_seen = seen_at.is_some();
                return end.map(Ending::Ended).map_err(|why| match was_seen {
                    true => why.advise_also(advice),
                    false => why,
                });
            }
            () = interrupts.next() => {}
        }
        bar.clear();
        match ask_for_choice(id, interrupts).await? {
            // The time that the question took doesn't count.
            Choice::Wait => seen_at = seen_at.map(|_| Instant::now()),
            Choice::Leave => {
                let message = format!("{id} goes on without you");
                return Err(Failure::new(FailureKind::Interrupted, message)
                    .advise(format!("`{resume}` waits for it again")));
            }
            Choice::Stop => {
                let stopped = async {
                    stop(server, id).await?;
                    Task::fetch(server, id).await
                };
                return interrupts.or(stopped).await.map(Ending::Stopped);
            }
        }
    }
}

/// Stops a Task. One that has ended stays as it is.
async fn stop(server: &TenantServer, id: &str) -> Result<(), Failure> {
    let request = server.request(Method::DELETE, &["access", "batch", id]).repeatable();
    let answer = request.response().await?;
    if answer.is_success() || answer.status == 409 { Ok(()) } else { Err(answer.failure()) }
}

async fn until_end(
    server: &TenantServer,
    id: &str,
    bar: &Bar,
    seen_at: &mut Option<Instant>,
) -> Result<Task, Failure> {
    let mut pause = FIRST_PAUSE;
    loop {
        // Renewing a token has its own timeout.
        server.server.token().await?;
        let polled = tokio::time::timeout(POLL_TIMEOUT, Task::fetch(server, id)).await;
        match polled
            .unwrap_or_else(|_| Err(Failure::new(FailureKind::Unreachable, "no answer in time")))
        {
            Ok(task) if task.has_ended() => return Ok(task),
            Ok(task) => {
                *seen_at = Some(Instant::now());
                bar.show(&task);
            }
            // Only a server that responded before is waited for.
            Err(why) => match *seen_at {
                Some(seen_at)
                    if why.kind == FailureKind::Unreachable
                        && seen_at.elapsed() < UNREACHABLE_MAX =>
                {
                    bar.show_unreachable();
                }
                _ => return Err(why),
            },
        }
        tokio::time::sleep(pause).await;
        pause = (pause * 3 / 2).min(LONGEST_PAUSE);
    }
}

/// Catches every Ctrl-C from now on; while nothing awaits the next one, it has no effect.
pub(crate) struct Interrupts(Signal);

impl Interrupts {
    pub(crate) fn catch() -> Result<Self, Failure> {
        let caught = signal(SignalKind::interrupt());
        Ok(Self(caught.map_err(|cause| format!("Ctrl-C can't be caught: {cause}"))?))
    }

    async fn next(&mut self) {
        self.0.recv().await;
    }

    /// Runs `work` until Ctrl-C.
    pub(crate) async fn or<T>(
        &mut self,
        work: impl Future<Output = Result<T, Failure>>,
    ) -> Result<T, Failure> {
        tokio::select! {
            done = work => done,
            () = self.next() => Err(Failure::new(FailureKind::Interrupted, "interrupted")),
        }
    }
}

/// The user's choice after Ctrl-C.
enum Choice {
    Stop,
    Leave,
    Wait,
}

/// Asks what to do after Ctrl-C. A second Ctrl-C leaves the batch running.
async fn ask_for_choice(id: &str, interrupts: &mut Interrupts) -> Result<Choice, Failure> {
    if !is_interactive() {
        return Ok(Choice::Leave);
    }
    loop {
        let question =
            format!("\n{id}:\nstop it (s), leave it running (l), or go on waiting (w)? ");
        let answer = tokio::task::spawn_blocking(move || ask(&question));
        let answer = tokio::select! {
            answer = answer => answer.map_err(|_| "the question can't be asked".to_owned())?,
            () = interrupts.next() => {
                eprintln!();
                return Ok(Choice::Leave);
            }
        };
        match answer.ok().flatten().as_deref() {
            Some("s" | "stop") => return Ok(Choice::Stop),
            Some("w" | "wait") => return Ok(Choice::Wait),
            // At the end of input there is no user to ask.
            Some("l" | "leave") | None => return Ok(Choice::Leave),
            Some(_) => {}
        }
    }
}

/// A Task's progress bar, on a terminal only.
struct Bar {
    bar: ProgressBar,
    /// Hidden until the total is known.
    is_visible: Cell<bool>,
    has_warned: Cell<bool>,
}

const TEMPLATE: &str = "{prefix} {wide_bar} {human_pos}/{human_len}{pace}{msg}";

impl Bar {
    fn new() -> Self {
        let bar = ProgressBar::with_draw_target(Some(0), ProgressDrawTarget::hidden());
        let style = ProgressStyle::with_template(TEMPLATE).expect("the template is a constant");
        bar.set_style(style.progress_chars("=> ").with_key("pace", pace));
        Self { bar, is_visible: Cell::new(false), has_warned: Cell::new(false) }
    }

    fn show(&self, task: &Task) {
        let progress = task.progress;
        self.bar.set_length(progress.total);
        self.bar.set_prefix(task.state.clone());
        self.set_message(&match progress.failed {
            0 => String::new(),
            n => format!("{n} failed"),
        });
        self.bar.set_position(progress.succeeded + progress.failed);
        if !self.is_visible.replace(true) {
            // Earlier items say nothing about the present rate.
            self.bar.reset_eta();
            self.bar.set_draw_target(ProgressDrawTarget::stderr());
            self.bar.tick();
        }
    }

    /// Shows that the server is unreachable; once as a line while there is no bar.
    fn show_unreachable(&self) {
        const UNREACHABLE: &str = "the server can't be reached; trying again";
        self.set_message(UNREACHABLE);
        if !self.is_visible.get() && !self.has_warned.replace(true) {
            eprintln!("{UNREACHABLE}");
        }
    }

    fn set_message(&self, message: &str) {
        self.bar.set_message(if message.is_empty() {
            String::new()
        } else {
            format!("  {message}")
        });
    }

    fn clear(&self) {
        self.bar.finish_and_clear();
    }
}

/// The rate and the remaining time, once there is a rate.
fn pace(state: &ProgressState, out: &mut dyn std::fmt::Write) {
    let rate = state.per_sec();
    if rate > 0.0 {
        let _ = write!(out, "  {rate:.0}/s  {:#} left", HumanDuration(state.eta()));
    }
}
