//! What a seed has in store. Each seed leaves out some kinds of trouble: what hides behind one kind is found without it.

use gatehouse_core::Timestamp;
use gatehouse_testing::SeededRandom;

/// How often what happens. Chances are "once in so many", and 0 is never.
#[derive(Clone, Debug)]
pub(super) struct Plan {
    /// Servers at the beginning, and again whenever there are fewer.
    pub(super) n_servers: u64,
    /// Places of each for batches.
    pub(super) n_workers: u64,
    /// When it begins: shortly before a month is over in the tenants' time zone.
    pub(super) begin: Timestamp,
    /// How long the clients ask, in milliseconds.
    pub(super) load_milliseconds: u64,
    /// How far servers' clocks are from the database's, at most, in milliseconds.
    pub(super) skew_milliseconds: u64,
    /// Calls that don't arrive.
    pub(super) unavailable: u64,
    /// Writes whose commit nobody hears of.
    pub(super) unsure: u64,
    /// Calls that take seconds.
    pub(super) slow: u64,
    /// Calls at which a server dies, before or after them.
    pub(super) death: u64,
    /// Points of a worker's step at which a server dies.
    pub(super) death_at_point: u64,
    /// Calls at which a server stops for a while.
    pub(super) stop: u64,
    /// Points of a worker's step at which its server stops for longer than a lease.
    pub(super) stop_at_point: u64,
    /// For how long it stops, at most, in milliseconds.
    pub(super) stop_milliseconds_max: u64,
    /// Rounds of trouble at which a server leaves in order.
    pub(super) leave: u64,
    /// Rounds of trouble at which one more joins.
    pub(super) join: u64,
    /// Rounds of trouble at which every tenant sends a batch.
    pub(super) burst: u64,
    /// Rounds of trouble at which nobody reaches the database for a while.
    pub(super) outage: u64,
    /// For how long servers are watched when all is calm, from the last trouble on, in milliseconds.
    pub(super) calm_milliseconds: u64,
    /// Looks of a stretch at its watch at which it has taken long.
    pub(super) long: u64,
}

/// When November 2026 is over in Berlin.
const DECEMBER: &str = "2026-11-30T23:00:00Z";

impl Plan {
    pub(super) fn draw(dice: &mut SeededRandom) -> Self {
        let month_end: Timestamp = DECEMBER.parse().unwrap();
        // Mostly short. What a stopped server can do wrong when others have gone on takes longer than its leases.
        let load_milliseconds = match dice.roll(4) {
            0 => 25_000 + dice.roll(20_000),
            _ => 3000 + dice.roll(7000),
        };
        let is_long = load_milliseconds > 20_000;
        let before = 2000 + dice.roll(load_milliseconds);
        let mut sometimes = |often: u64, seldom: u64| match dice.roll(4) {
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
            n_servers: 2 + dice.roll(2),
            calm_milliseconds: if dice.roll(3) == 0 { 12_000 } else { 0 },
            n_workers: 1 + dice.roll(2),
        }
    }
}
