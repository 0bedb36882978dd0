//! A seed's parameters. Each seed leaves out some kinds of disturbances, because one kind may hide a fault.

use gatehouse_core::Timestamp;
use gatehouse_testing::SeededRandom;

/// Frequencies of events. A chance is "one in this many"; 0 is never.
#[derive(Clone, Debug)]
pub(super) struct Plan {
    /// Servers at the start, and whenever there are fewer.
    pub(super) n_servers: u64,
    /// Workers per server.
    pub(super) n_workers: u64,
    /// Start time: shortly before the end of a month in the tenants' time zone.
    pub(super) begin: Timestamp,
    /// Duration of the clients' load in milliseconds.
    pub(super) load_milliseconds: u64,
    /// Largest clock skew between servers and database in milliseconds.
    pub(super) skew_milliseconds: u64,
    /// Calls that fail.
    pub(super) unavailable: u64,
    /// Writes whose result is lost.
    pub(super) unsure: u64,
    /// Calls that take seconds.
    pub(super) slow: u64,
    /// Calls before or after which a server dies.
    pub(super) death: u64,
    /// Failpoints at which a server dies.
    pub(super) death_at_point: u64,
    /// Calls at which a server stops for a while.
    pub(super) stop: u64,
    /// Failpoints at which a server stops for longer than a lease.
    pub(super) stop_at_point: u64,
    /// Longest stop in milliseconds.
    pub(super) stop_milliseconds_max: u64,
    /// Rounds of disturbances in which a server leaves gracefully.
    pub(super) leave: u64,
    /// Rounds in which a server joins.
    pub(super) join: u64,
    /// Rounds in which every tenant sends a batch.
    pub(super) burst: u64,
    /// Rounds in which the database is unreachable for a while.
    pub(super) outage: u64,
    /// How long servers are observed after the last disturbance, in milliseconds.
    pub(super) calm_milliseconds: u64,
    /// Clock reads of a chunk at which it has taken long.
    pub(super) long: u64,
}

/// End of November 2026 in Berlin.
const DECEMBER: &str = "2026-11-30T23:00:00Z";

impl Plan {
    pub(super) fn draw(random: &mut SeededRandom) -> Self {
        let month_end: Timestamp = DECEMBER.parse().unwrap();
        // Mostly short. Faults of a server that was stopped while others continued need longer than its leases.
        let load_milliseconds = match random.roll(4) {
            0 => 25_000 + random.roll(20_000),
            _ => 3000 + random.roll(7000),
        };
        let is_long = load_milliseconds > 20_000;
        let before = 2000 + random.roll(load_milliseconds);
        let mut sometimes = |often: u64, seldom: u64| match random.roll(4) {
            0 => 0,
            1 => seldom,
            _ => often,
        };
        Self {
            begin: month_end.plus_milliseconds(-before.cast_signed()),
            load_milliseconds,
            unavailable: sometimes(40, 200),
            unsure: sometimes(12, 60),
            slow: sometimes(50, 300),
            death: sometimes(300, 1200),
            death_at_point: sometimes(20, 80),
            stop: sometimes(200, 800),
            stop_at_point: sometimes(15, 60),
            stop_milliseconds_max: if is_long { 40_000 } else { 20_000 },
            leave: sometimes(4, 12),
            join: sometimes(4, 12),
            burst: sometimes(2, 6),
            outage: sometimes(6, 20),
            long: sometimes(2, 4),
            skew_milliseconds: sometimes(100, 400),
            n_servers: 2 + random.roll(2),
            calm_milliseconds: if random.roll(3) == 0 { 12_000 } else { 0 },
            n_workers: 1 + random.roll(2),
        }
    }
}
