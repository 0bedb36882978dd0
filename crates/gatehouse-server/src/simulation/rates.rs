//! A tenant that sends more requests than its rate limit allows, to all servers. What the servers allow together, and their
//! slices of the limit, are checked whenever nothing has gone wrong for a while.

use std::collections::BTreeSet;
use std::sync::Arc;
use std::time::Duration;

use gatehouse_core::TenantName;
use gatehouse_testing::SeededRandom;
use gatehouse_testing::history::Replicas;
use tokio::time::{Instant, sleep};

use super::fleet::Fleet;
use super::limits::{LIMITED, REQUESTS_PER_SECOND};
use super::world::World;

/// Between two requests: far more than the limit, also for each of few servers.
const PACE: Duration = Duration::from_millis(20);

/// After this time without trouble every server knows of every other: a silent server counts for five seconds, and servers
/// report every second.
const KNOWN_AFTER: Duration = Duration::from_secs(8);

/// A client of the tenant.
pub(super) struct RateClient {
    world: Arc<World>,
    fleet: Arc<Fleet>,
    dice: SeededRandom,
    tenant: TenantName,
    calm: Option<Calm>,
}

/// A time without trouble.
struct Calm {
    /// When the trouble before it was.
    after: Instant,
    since: Instant,
    n_allowed: u64,
}

impl RateClient {
    pub(super) fn new(world: &Arc<World>, fleet: &Arc<Fleet>, dice: SeededRandom) -> Self {
        let (world, fleet) = (Arc::clone(world), Arc::clone(fleet));
        let tenant = LIMITED.parse().unwrap();
        Self { world, fleet, dice, tenant, calm: None }
    }

    /// Sends requests for this time.
    pub(super) async fn ask_for(mut self, time: Duration) {
        let until = Instant::now() + time;
        while Instant::now() < until {
            sleep(PACE).await;
            let replica = self.fleet.anyone(&mut self.dice).await;
            let server = self.fleet.server(replica);
            if server.wire.is_stopped() {
                continue;
            }
            let counted = tokio::select! {
                biased;
                () = server.wire.died.cancelled() => continue,
                counted = server.rates.count(&server.app.store, &self.tenant) => counted,
            };
            let is_allowed = counted.ok().flatten().is_some_and(|it| it.is_allowed);
            self.count(is_allowed);
        }
    }

    fn count(&mut self, is_allowed: bool) {
        let now = Instant::now();
        if self.fleet.running().into_iter().any(|it| self.fleet.server(it).wire.is_stopped()) {
            self.world.model().is_disturbed_at(now);
        }
        let trouble = self.world.model().last_disturbance();
        let Some(trouble) = trouble.filter(|it| now.duration_since(*it) >= KNOWN_AFTER) else {
            self.calm = None;
            return;
        };
        let anew = Calm { after: trouble, since: now, n_allowed: 0 };
        let calm = self.calm.take().filter(|calm| calm.after == trouble).unwrap_or(anew);
        let n_allowed = calm.n_allowed + u64::from(is_allowed);
        self.world.model().count("requests while calm");
        let seconds = now.duration_since(calm.since).as_secs_f64();
        // A full bucket, and what was filled in since. One more, because the time of the first request is not counted.
        let most = REQUESTS_PER_SECOND as f64 * (1.0 + seconds) + 1.0;
        let shares = self.shares();
        if n_allowed as f64 > most {
            self.fault(format!("{n_allowed} requests were let through in {seconds} s: {shares:?}"));
        }
        let ranks: BTreeSet<u32> = shares.iter().map(|it| it.0).collect();
        let n = u32::try_from(shares.len()).unwrap();
        if ranks.len() != shares.len() || shares.iter().any(|it| it.1 != n) {
            self.fault(format!("the servers' slices (rank, of) are {shares:?}"));
        }
        self.calm = Some(Calm { n_allowed, ..calm });
    }

    /// The slices of the servers that run.
    fn shares(&self) -> Vec<(u32, u32)> {
        let running = self.fleet.running();
        let share = |n: &usize| self.fleet.server(*n).app.share.get();
        running.iter().map(share).map(|it| (it.rank(), it.of())).collect()
    }

    fn fault(&self, what: String) {
        self.world.model().fault(what);
    }
}
