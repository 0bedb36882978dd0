//! What an outage was like, in figures.

use std::fmt;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use super::history::call::{Answer, Call, Moment, Request};
use super::history::{Fleet, Replicas};

/// Between two looks at whether a replica is ready.
const PAUSE: Duration = Duration::from_millis(100);

/// A primary that was killed.
pub(crate) struct Kill {
    pub(crate) at: Moment,
    /// When it was over: everything that is said about it was said before.
    pub(crate) over: Moment,
    /// When another was known to be the primary.
    pub(crate) new_primary: Moment,
}

/// What a replica said about itself.
pub(crate) struct Look {
    replica: usize,
    /// When it was heard.
    at: Moment,
    status: Option<u16>,
}

/// What it was like.
pub(crate) struct Figures {
    pub(crate) phase: String,
    pub(crate) kills: Vec<Kill>,
    pub(crate) looks: Vec<Look>,
    pub(crate) history: Vec<Call>,
    pub(crate) n_lost: usize,
}

/// Somebody who asks every replica all the time whether it is ready.
pub(crate) struct Watch {
    watchers: Vec<tokio::task::JoinHandle<Vec<Look>>>,
    is_over: Arc<AtomicBool>,
}

pub(crate) fn watch(fleet: &Arc<Fleet>) -> Watch {
    let is_over = Arc::new(AtomicBool::new(false));
    let watcher = |replica| {
        let (fleet, is_over) = (Arc::clone(fleet), Arc::clone(&is_over));
        tokio::spawn(async move {
            let mut looks = Vec::new();
            while !is_over.load(Ordering::Relaxed) {
                let status = fleet.get(replica, "/-/ready").await.map(|it| it.status().as_u16());
                looks.push(Look { replica, at: fleet.now(), status });
                tokio::time::sleep(PAUSE).await;
            }
            looks
        })
    };
    Watch { watchers: fleet.running().into_iter().map(watcher).collect(), is_over }
}

impl Watch {
    pub(crate) async fn end(self) -> Vec<Look> {
        self.is_over.store(true, Ordering::Relaxed);
        let mut looks = Vec::new();
        for watcher in self.watchers {
            looks.extend(watcher.await.unwrap());
        }
        looks
    }
}

/// When a replica had first done a write that began after this.
pub(crate) fn first_write(history: &[Call], replica: usize, after: Moment) -> Option<Moment> {
    let later = history.iter().filter(|it| it.replica == replica && it.begin > after);
    later.filter(|it| is_answered_write(it)).map(|it| it.end).min()
}

/// How many writes that began after this have been answered.
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
        0..self.looks.iter().map(|it| it.replica + 1).max().unwrap_or(0)
    }

    /// When a replica first said that its database is gone.
    fn gone(&self, replica: usize, kill: &Kill) -> Option<Moment> {
        self.first_look(replica, (kill.at, kill.over), 503)
    }

    /// When a replica then said that it is there again.
    fn back(&self, replica: usize, kill: &Kill) -> Option<Moment> {
        self.first_look(replica, (self.gone(replica, kill)?, kill.over), 200)
    }

    fn first_look(
        &self,
        replica: usize,
        (after, before): (Moment, Moment),
        status: u16,
    ) -> Option<Moment> {
        let looks = self.looks.iter().filter(|it| it.replica == replica);
        let looks = looks.filter(|it| it.at > after && it.at < before);
        looks.filter(|it| it.status == Some(status)).map(|it| it.at).min()
    }

    /// How long each replica took to say that its database is gone, for each kill; None where it never said so.
    pub(crate) fn blindness(&self) -> Vec<(usize, Option<Duration>)> {
        let mut all = Vec::new();
        for kill in &self.kills {
            for replica in self.replicas() {
                let said = self.gone(replica, kill);
                all.push((replica, said.map(|it| between(kill.at, it))));
            }
        }
        all
    }

    /// The longest of what is known of each replica.
    fn longest(&self, of: impl Fn(usize) -> Option<Duration>) -> String {
        let all: Option<Vec<Duration>> = self.replicas().map(of).collect();
        let longest = all.and_then(|it| it.into_iter().max());
        longest.map_or("never".to_owned(), |it| format!("{:.1} s", it.as_secs_f64()))
    }
}

/// As Markdown.
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
