//! Conformance checks for any manifest, with a recording or a live account.
//!
//! With a recording, a [`ReplayPlatform`] plays the platform, and fails on demand. A live account gets harmless calls
//! only; checks that need a failing platform don't apply.

mod failing;
mod finding;
mod paging;

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use futures_util::future::BoxFuture;
use gatehouse_core::account::Credentials;

use crate::account_settings::Settings;
use crate::manifest::Manifest;
use crate::testing::one_account::{Access, OneAccount, Outcome};
use crate::testing::recording::Recording;
use crate::testing::replay::replay;
use crate::testing::replay_platform::ReplayPlatform;

/// Time limit of one request: to a replayed platform, and to a live one.
const TIME_LIMIT: Duration = Duration::from_secs(5);
const TIME_LIMIT_LIVE: Duration = Duration::from_secs(60);

/// A manifest with its test subject.
pub struct Suite {
    manifest: Arc<Manifest>,
    subject: Subject,
}

enum Subject {
    Recording(Recording),
    Account(Access),
}

/// A check and its verdict.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Check {
    /// The assertion.
    pub name: String,
    /// The verdict.
    pub verdict: Verdict,
}

/// Verdict of a check.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Verdict {
    /// The assertion holds.
    Passed,
    /// The assertion fails: expected and actual result.
    Failed(String),
    /// The check doesn't apply, for this reason.
    DoesNotApply(String),
}

impl Suite {
    /// Tests a manifest with a recording.
    pub fn with_recording(manifest: Arc<Manifest>, recording: Recording) -> Self {
        let manifest = manifest.for_account(&recording.settings);
        Self { manifest, subject: Subject::Recording(recording) }
    }

    /// Tests a manifest with a live account.
    pub fn with_account(
        manifest: Arc<Manifest>,
        settings: Settings,
        credentials: Credentials,
        allow_insecure_urls: bool,
    ) -> Self {
        let manifest = manifest.for_account(&settings);
        let access = Access { settings, credentials, allow_insecure_urls };
        Self { manifest, subject: Subject::Account(access) }
    }

    /// Runs all checks, or says why none can run.
    pub fn run<'a>(&'a self) -> BoxFuture<'a, Result<Vec<Check>, String>> {
        Box::pin(async move {
            let mut checks = Checks::default();
            match &self.subject {
                Subject::Recording(recording) => {
                    let faults = replay(&self.manifest, recording).await;
                    checks.add("the recorded answers give the recorded products", verdict(faults));
                    checks.add(
                        "look-ups that are said to be exact were exact",
                        finding::exactness(&self.manifest, recording),
                    );
                    match TestBench::start(&self.manifest, recording).await {
                        Ok(bench) => {
                            paging::check(&mut checks, &bench, recording).await;
                            finding::check(&mut checks, &bench).await;
                            failing::check(&mut checks, &bench, recording).await;
                            let refused = bench.platform.refused();
                            let first = refused.first().map(|it| format!("refused: {it}"));
                            checks.add(
                                "every call is as the manifest says",
                                verdict(first.into_iter().collect()),
                            );
                        }
                        Err(why) => {
                            checks.add("the platform can be replayed", Verdict::Failed(why))
                        }
                    }
                }
                Subject::Account(access) => {
                    let account = OneAccount::open(&self.manifest, access, TIME_LIMIT_LIVE, None)?;
                    paging::check_live(&mut checks, &self.manifest, &account).await;
                    finding::check_live(&mut checks, &self.manifest, &account).await;
                    let why = "needs a platform that fails on demand: test with a recording";
                    checks.add(
                        "throttling, expired sessions and errors",
                        Verdict::DoesNotApply(why.into()),
                    );
                }
            }
            Ok(checks.0)
        })
    }
}

struct TestBench {
    manifest: Arc<Manifest>,
    platform: ReplayPlatform,
}

impl TestBench {
    async fn start(manifest: &Arc<Manifest>, recording: &Recording) -> Result<Self, String> {
        let platform = ReplayPlatform::start(Arc::clone(manifest), recording).await?;
        Ok(Self { manifest: Arc::clone(manifest), platform })
    }

    /// A fresh account.
    fn account(&self) -> Result<OneAccount, String> {
        OneAccount::open(&self.manifest, self.platform.access(), TIME_LIMIT, None)
    }

    fn ids(&self) -> Vec<String> {
        self.platform.recorded().connections.iter().map(|it| it.id.clone()).collect()
    }
}

#[derive(Default)]
struct Checks(Vec<Check>);

impl Checks {
    fn add(&mut self, name: impl Into<String>, verdict: Verdict) {
        self.0.push(Check { name: name.into(), verdict });
    }

    fn take(&mut self, name: impl Into<String>, result: Result<(), String>) {
        self.add(name, result.map_or_else(Verdict::Failed, |()| Verdict::Passed));
    }
}

fn verdict(faults: Vec<String>) -> Verdict {
    if faults.is_empty() { Verdict::Passed } else { Verdict::Failed(faults.join("; ")) }
}

/// Ids of the connections, if nothing failed.
fn ids_of(outcome: Outcome) -> Result<Vec<String>, String> {
    match outcome.failures.first() {
        Some(failure) => Err(format!("it failed: {}", failure.detail)),
        None => Ok(outcome.connections.iter().map(|it| it.local_id.to_string()).collect()),
    }
}

fn same<T: PartialEq + fmt::Debug>(what: &str, expected: &T, actual: &T) -> Result<(), String> {
    if expected == actual {
        Ok(())
    } else {
        Err(format!("{what}: expected {expected:?}, {actual:?} came"))
    }
}

impl fmt::Display for Check {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let name = &self.name;
        match &self.verdict {
            Verdict::Passed => write!(f, "ok    {name}"),
            Verdict::Failed(why) => write!(f, "FAIL  {name}\n        {why}"),
            Verdict::DoesNotApply(why) => write!(f, "-     {name} ({why})"),
        }
    }
}

#[cfg(test)]
mod tests;
