//! A tenant that sends more requests than its rate limit, to all servers. The number of allowed requests and the
//! servers' shares of the limit are checked whenever no disturbance happened for a while.

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

/// Interval of requests: far above the limit, also for each of a few servers.
const REQUEST_INTERVAL: Duration = Duration::from_millis(20);

/// Time after which every server knows every other: a silent server counts for five seconds.
const CALM_AFTER: Duration = Duration::from_secs(8);

/// A client of the tenant.
pub(super) struct RateClient {
    world: Arc<World>,
    fleet: Arc<Fleet>,
    random: SeededRandom,
    tenant: TenantName,
    calm: Option<CalmPeriod>,
}

/// An undisturbed period.
struct CalmPeriod {
    /// Time of the last disturbance before it.
    after: Instant,
    since: Instant,
    n_allowed: u64,
}

impl RateClient {
    pub(super) fn new(world: &Arc<World>, fleet: &Arc<Fleet>, random: SeededRandom) -> Self {
        let (world, fleet) = (Arc::clone(world), Arc::clone(fleet));
        let tenant = LIMITED.parse().unwrap();
        Self { world, fleet, random, tenant, calm: None }
    }

    /// Sends requests for this time.
    pub(super) async fn run_for(mut self, time: Duration) {
        let until = Instant::now() + time;
        while Instant::now() < until {
            sleep(REQUEST_INTERVAL).await;
            let replica = self.fleet.anyone(&mut self.random).await;
            let server = self.fleet.server(replica);
            if server.link.is_stopped() {
                continue;
            }
            let counted = tokio::select! {
                biased;
                () = server.link.died.cancelled() => continue,
                counted = server.rates.count(&server.app.store, &self.tenant) => counted,
            };
            let is_allowed = counted.ok().flatten().is_some_and(|it| it.is_allowed);
            self.count(is_allowed);
        }
    }

    fn count(&mut self, is_allowed: bool) {
        let now = Instant::now();
        if self.fleet.running().into_iter().any(|it| self.fleet.server(it).link.is_stopped()) {
            self.world.model().record_disturbance(now);
        }
        let disturbance = self.world.model().last_disturbance();
        let Some(disturbance) = disturbance.filter(|it| now.duration_since(*it) >= CALM_AFTER)
        else {
            self.calm = None;
            return;
        };
        let new = CalmPeriod { after: disturbance, since: now, n_allowed: 0 };
        let calm = self.calm.take().filter(|calm| calm.after == disturbance).unwrap_or(new);
        let n_allowed = calm.n_allowed + u64::from(is_allowed);
        self.world.model().count("requests while calm");
        let seconds = now.duration_since(calm.since).as_secs_f64();
        // A full bucket plus its refill, plus one because the time of the first request isn't counted.
        let most = REQUESTS_PER_SECOND as f64 * (1.0 + seconds) + 1.0;
        let shares = self.shares();
        if n_allowed as f64 > most {
            self.fault(format!("{n_allowed} requests were allowed in {seconds} s: {shares:?}"));
        }
        let ranks: BTreeSet<u32> = shares.iter().map(|it| it.0).collect();
        let n = u32::try_from(shares.len()).unwrap();
        if ranks.len() != shares.len() || shares.iter().any(|it| it.1 != n) {
            self.fault(format!("the servers' shares (rank, of) are {shares:?}"));
        }
        self.calm = Some(CalmPeriod { n_allowed, ..calm });
    }

    /// The shares of the running servers.
    fn shares(&self) -> Vec<(u32, u32)> {
        let running = self.fleet.running();
        let share = |n: &usize| self.fleet.server(*n).app.share.get();
        running.iter().map(share).map(|it| (it.rank(), it.of())).collect()
    }

    fn fault(&self, what: String) {
        self.world.model().fault(what);
    }
}
