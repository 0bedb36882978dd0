//! Measurements of an outage.

use std::fmt;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use super::history::call::{Answer, Call, Moment, Request};
use super::history::{Fleet, Replicas};

/// Pause between two readiness polls.
const PAUSE: Duration = Duration::from_millis(100);

pub(crate) struct Kill {
    pub(crate) at: Moment,
    /// When the kill had ended: every later statement is about the time after it.
    pub(crate) over: Moment,
    /// When another node was known to be the primary.
    pub(crate) new_primary: Moment,
}

/// A replica's readiness response.
pub(crate) struct ReadinessPoll {
    replica: usize,
    /// When the response arrived.
    at: Moment,
    status: Option<u16>,
}

pub(crate) struct Figures {
    pub(crate) phase: String,
    pub(crate) kills: Vec<Kill>,
    pub(crate) polls: Vec<ReadinessPoll>,
    pub(crate) history: Vec<Call>,
    pub(crate) n_lost: usize,
}

/// Polls the readiness of every replica until `end`.
pub(crate) struct ReadinessWatch {
    watchers: Vec<tokio::task::JoinHandle<Vec<ReadinessPoll>>>,
    has_ended: Arc<AtomicBool>,
}

pub(crate) fn watch(fleet: &Arc<Fleet>) -> ReadinessWatch {
    let has_ended = Arc::new(AtomicBool::new(false));
    let watcher = |replica| {
        let (fleet, has_ended) = (Arc::clone(fleet), Arc::clone(&has_ended));
        tokio::spawn(async move {
            let mut polls = Vec::new();
            while !has_ended.load(Ordering::Relaxed) {
                let status = fleet.get(replica, "/-/ready").await.map(|it| it.status().as_u16());
                polls.push(ReadinessPoll { replica, at: fleet.now(), status });
                tokio::time::sleep(PAUSE).await;
            }
            polls
        })
    };
    ReadinessWatch { watchers: fleet.running().into_iter().map(watcher).collect(), has_ended }
}

impl ReadinessWatch {
    pub(crate) async fn end(self) -> Vec<ReadinessPoll> {
        self.has_ended.store(true, Ordering::Relaxed);
        let mut polls = Vec::new();
        for watcher in self.watchers {
            polls.extend(watcher.await.unwrap());
        }
        polls
    }
}

/// When a replica had first completed a write that began after `after`.
pub(crate) fn first_write(history: &[Call], replica: usize, after: Moment) -> Option<Moment> {
    let later = history.iter().filter(|it| it.replica == replica && it.begin > after);
    later.filter(|it| is_answered_write(it)).map(|it| it.end).min()
}

pub(crate) fn n_writes(history: &[Call], after: Moment) -> usize {
    history.iter().filter(|it| it.begin > after && is_answered_write(it)).count()
}

fn is_answered_write(call: &Call) -> bool {
    use Request::{Batch, Change, Create, Stop};
    call.answer.done().is_some()
        && matches!(call.request, Create { .. } | Change { .. } | Batch { .. } | Stop { .. })
}

fn between(from: Moment, to: Moment) -> Duration {
    Duration::from_micros(to.saturating_sub(from))
}

impl Figures {
    fn replicas(&self) -> impl Iterator<Item = usize> {
        0..self.polls.iter().map(|it| it.replica + 1).max().unwrap_or(0)
    }

    /// When a replica first reported that its database is gone.
    fn gone(&self, replica: usize, kill: &Kill) -> Option<Moment> {
        self.first_poll(replica, (kill.at, kill.over), 503)
    }

    /// When a replica reported afterwards that it is ready again.
    fn back(&self, replica: usize, kill: &Kill) -> Option<Moment> {
        self.first_poll(replica, (self.gone(replica, kill)?, kill.over), 200)
    }

    fn first_poll(
        &self,
        replica: usize,
        (after, before): (Moment, Moment),
        status: u16,
    ) -> Option<Moment> {
        let polls = self.polls.iter().filter(|it| it.replica == replica);
        let polls = polls.filter(|it| it.at > after && it.at < before);
        polls.filter(|it| it.status == Some(status)).map(|it| it.at).min()
    }

    /// Time until each replica reported the loss of its database, for each kill; `None` where it never did.
    pub(crate) fn detection_times(&self) -> Vec<(usize, Option<Duration>)> {
        let mut all = Vec::new();
        for kill in &self.kills {
            for replica in self.replicas() {
                let printed = self.gone(replica, kill);
                all.push((replica, printed.map(|it| between(kill.at, it))));
            }
        }
        all
    }

    /// The longest known time of any replica.
    fn longest(&self, of: impl Fn(usize) -> Option<Duration>) -> String {
        let all: Option<Vec<Duration>> = self.replicas().map(of).collect();
        let longest = all.and_then(|it| it.into_iter().max());
        longest.map_or("never".to_owned(), |it| format!("{:.1} s", it.as_secs_f64()))
    }
}

impl fmt::Display for Figures {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(out, "### {}\n", self.phase)?;
        let kills: Vec<String> = (1..=self.kills.len()).map(|n| format!("kill {n}")).collect();
        writeln!(out, "| time from the kill to | {} |", kills.join(" | "))?;
        writeln!(out, "|---|{}", "---:|".repeat(self.kills.len()))?;
        let mut row = |what: &str, of: &dyn Fn(&Kill) -> String| {
            let cells: Vec<String> = self.kills.iter().map(of).collect();
            writeln!(out, "| {what} | {} |", cells.join(" | "))
        };
        row("`/-/ready` 503 everywhere", &|kill| {
            self.longest(|replica| Some(between(kill.at, self.gone(replica, kill)?)))
        })?;
        row("a new primary", &|kill| {
            format!("{:.1} s", between(kill.at, kill.new_primary).as_secs_f64())
        })?;
        for replica in self.replicas() {
            row(&format!("the first write through replica {replica}"), &|kill| {
                let first = first_write(&self.history, replica, kill.at);
                first.map_or("never".to_owned(), |it| {
                    format!("{:.1} s", between(kill.at, it).as_secs_f64())
                })
            })?;
        }
        row("`/-/ready` 200 everywhere", &|kill| {
            self.longest(|replica| Some(between(kill.at, self.back(replica, kill)?)))
        })?;
        let count = |of: &dyn Fn(&Call) -> bool| self.history.iter().filter(|it| of(it)).count();
        let longest = self.history.iter().map(|it| it.end - it.begin).max().unwrap_or(0);
        writeln!(out, "\n| over the whole load | |\n|---|---:|")?;
        writeln!(out, "| requests | {} |", self.history.len())?;
        writeln!(out, "| answered writes | {} |", count(&is_answered_write))?;
        writeln!(out, "| of them lost | {} |", self.n_lost)?;
        let is_503 = |it: &Call| matches!(it.answer, Answer::Unavailable { .. });
        writeln!(out, "| 503 | {} |", count(&is_503))?;
        writeln!(out, "| connections that broke | {} |", count(&|it| it.answer == Answer::Lost))?;
        writeln!(out, "| longest request | {:.1} s |", between(0, longest).as_secs_f64())
    }
}
