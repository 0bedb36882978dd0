//! The accesses of a filled store, as arithmetic: a number always gives the same access, so the bench knows every right
//! response.
//!
//! Two kinds of blocks alternate, each of a thousand accesses:
//!
//! ```text
//! number     1 …  1000   created singly: every ten go to the ten contracts, in changing order
//!         1001 …  2000   created by a job: all of one contract
//!         2001 …  3000   created singly
//!                  …
//! ```
//!
//! So half of a contract's accesses are scattered and the other half is contiguous, as where people and batches create
//! them. One of every twenty accesses is suspended, at another place in each twenty. Every set has a multiple of 100
//! accesses, so its last page is as full as its first and can be compared with it.

use uuid::Uuid;

pub(crate) const TENANT: &str = "bench";

/// The tenant's contracts. The first half is of the first offering.
pub(crate) const CONTRACTS: [&str; 10] =
    ["C-0", "C-1", "C-2", "C-3", "C-4", "C-5", "C-6", "C-7", "C-8", "C-9"];

/// The offerings of the contracts.
pub(crate) const OFFERINGS: [&str; 2] = ["PO-A", "PO-B"];

/// A device name that many accesses share: one of every job.
pub(crate) const SHARED_DEVICE_NAME: &str = "gateway";

/// Version of this arithmetic. A change of it makes existing stores unusable.
pub(crate) const FLEET_VERSION: u64 = 5;

/// One of so many accesses is suspended.
const SUSPENDED_EVERY: u64 = 20;

/// Accesses in a block, and so in a job.
const STRETCH: u64 = 1000;

/// The size of a fleet is a multiple of this.
pub(crate) const ROWS_STEP: u64 = 10_000;

/// Time between two creations.
const INTERVAL_MS: i64 = 3000;

pub(crate) const DAY_MS: i64 = 24 * 60 * 60 * 1000;

/// Time from the last creation to the first expiry. A store that was filled longer ago has expired accesses and is not
/// reused.
pub(crate) const NO_END_BEFORE_MS: i64 = 30 * DAY_MS;

/// All expiries are within two years.
const ENDS_SPREAD_MS: u64 = 730 * DAY_MS as u64;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Fleet {
    pub(crate) n_accesses: u64,
    /// Time of the last creation. Never in the future, or the next creation would be too.
    pub(crate) latest_at: i64,
}

/// One access. Texts are computed on demand.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Access {
    pub(crate) number: u64,
    pub(crate) offering_number: u64,
    pub(crate) contract_number: u64,
    pub(crate) made_by: Option<JobPosition>,
    /// Index into [`CONTRACTS`].
    pub(crate) contract: usize,
    pub(crate) created_at: i64,
    pub(crate) end_at: Option<i64>,
    pub(crate) is_suspended: bool,
}

/// The job that created an access.
#[derive(Clone, Copy, Debug)]
pub(crate) struct JobPosition {
    pub(crate) job: u64,
    pub(crate) job_number: u64,
}

impl Fleet {
    /// Every access, in the order of the tenant's list, with running numbers as the server assigns them.
    pub(crate) fn accesses(self) -> impl Iterator<Item = Access> {
        let mut contract_numbers = [0; CONTRACTS.len()];
        let mut offering_numbers = [0; OFFERINGS.len()];
        (1..=self.n_accesses).map(move |number| {
            let (contract, made_by) = assignment(number);
            let offering = offering_of(contract);
            contract_numbers[contract] += 1;
            offering_numbers[offering] += 1;
            Access {
                number,
                offering_number: offering_numbers[offering],
                contract_number: contract_numbers[contract],
                made_by,
                contract,
                created_at: self.created_at(number),
                end_at: number.is_multiple_of(10).then(|| self.end_of(number)),
                is_suspended: is_suspended(number),
            }
        })
    }

    /// Those whose devices may connect.
    pub(crate) fn active(self) -> impl Iterator<Item = Access> {
        self.accesses().filter(|it| !it.is_suspended)
    }

    pub(crate) fn n_active(self) -> u64 {
        self.n_accesses - self.n_accesses / SUSPENDED_EVERY
    }

    pub(crate) fn created_at(self, number: u64) -> i64 {
        self.latest_at - (self.n_accesses - number) as i64 * INTERVAL_MS
    }

    pub(crate) fn n_jobs(self) -> u64 {
        self.n_accesses / (2 * STRETCH)
    }

    /// A job's identifier, with the time of its first access.
    pub(crate) fn job_id(self, job: u64) -> Uuid {
        let first = (2 * job + 1) * STRETCH + 1;
        time_ordered(self.created_at(first), scramble(!job))
    }

    /// The accesses of a batch that is created after all others and `n_before` more, as a job creates them: of one
    /// contract, with identifiers that rise with their numbers.
    pub(crate) fn batch(self, n_before: u64, n_accesses: u64) -> (Uuid, Vec<Access>) {
        let (first, at) = (self.n_accesses + n_before + 1, self.latest_at);
        let accesses = (first..first + n_accesses).map(|number| Access {
            number,
            offering_number: number,
            contract_number: number,
            made_by: Some(JobPosition { job: first, job_number: number - first + 1 }),
            contract: 0,
            created_at: at + (number - self.n_accesses) as i64,
            end_at: None,
            is_suspended: false,
        });
        (time_ordered(at, scramble(!first)), accesses.collect())
    }

    fn end_of(self, number: u64) -> i64 {
        self.latest_at + NO_END_BEFORE_MS + (scramble(number) % ENDS_SPREAD_MS) as i64
    }
}

impl Access {
    pub(crate) fn id(&self) -> Uuid {
        time_ordered(self.created_at, scramble(self.number))
    }

    pub(crate) fn contract_id(&self) -> &'static str {
        CONTRACTS[self.contract]
    }

    pub(crate) fn offering_id(&self) -> &'static str {
        OFFERINGS[offering_of(self.contract)]
    }

    pub(crate) fn status(&self) -> &'static str {
        if self.is_suspended { "SUSPENDED" } else { "ACTIVE" }
    }

    /// A username like the server's: `u-` and 80 bits. The first 64 are different for every number.
    pub(crate) fn username(&self) -> String {
        let bits = u128::from(scramble(self.number)) << 16 | u128::from(self.number % (1 << 16));
        let letters =
            (0..16).map(|n| letter(b"abcdefghijklmnopqrstuvwxyz234567", bits >> (75 - 5 * n)));
        ['u', '-'].into_iter().chain(letters).collect()
    }

    /// As long as the hash of a generated password, and as hard to compress.
    pub(crate) fn password_hash(&self) -> String {
        const BASE64: &[u8; 64] =
            b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
        let mut text = String::from("hmac-sha256$1a2b3c4d$");
        for n in 0..43_u64 {
            let bits = scramble(self.number * 8 + n / 10) >> (n % 10 * 6);
            text.push(letter(BASE64, bits.into()));
        }
        text
    }

    /// Every device has a name, so that pages have equal sizes; each job shares one device name with every other job.
    pub(crate) fn device_name(&self) -> String {
        if self.is_shared_name() {
            SHARED_DEVICE_NAME.to_owned()
        } else {
            format!("device-{:07}-{:06x}", self.number, scramble(self.number) >> 40)
        }
    }

    pub(crate) fn is_shared_name(&self) -> bool {
        self.made_by.is_some_and(|made_by| made_by.job_number == STRETCH / 2)
    }
}

/// The contract of an access, and the job that created it.
fn assignment(number: u64) -> (usize, Option<JobPosition>) {
    let n_before = number - 1;
    let stretch = n_before / STRETCH;
    if stretch.is_multiple_of(2) {
        // Ten consecutive accesses go to different contracts; the first contract changes.
        return (turn(number + scramble(n_before / 10) % 10), None);
    }
    let job = stretch / 2;
    (turn(job), Some(JobPosition { job, job_number: n_before % STRETCH + 1 }))
}

fn is_suspended(number: u64) -> bool {
    let n_before = number - 1;
    n_before % SUSPENDED_EVERY == scramble(n_before / SUSPENDED_EVERY) % SUSPENDED_EVERY
}

fn turn(n: u64) -> usize {
    (n * 7919 % CONTRACTS.len() as u64) as usize
}

/// Index of a contract's offering in [`OFFERINGS`].
pub(crate) fn offering_of(contract: usize) -> usize {
    contract / (CONTRACTS.len() / OFFERINGS.len())
}

/// A UUID of version 7 with these bits as its random part.
fn time_ordered(unix_ms: i64, bits: u64) -> Uuid {
    let mut random = [0; 10];
    random[..8].copy_from_slice(&bits.to_be_bytes());
    random[8..].copy_from_slice(&scramble(bits).to_be_bytes()[..2]);
    uuid::Builder::from_unix_timestamp_millis(unix_ms.unsigned_abs(), &random).into_uuid()
}

/// A one-to-one pseudo-random function: different numbers give different results (SplitMix64).
fn scramble(number: u64) -> u64 {
    let mut bits = number.wrapping_add(0x9E37_79B9_7F4A_7C15);
    bits = (bits ^ bits >> 30).wrapping_mul(0xBF58_476D_1CE4_E5B9);
    bits = (bits ^ bits >> 27).wrapping_mul(0x94D0_49BB_1331_11EB);
    bits ^ bits >> 31
}

/// Shuffles elements, the same way each time.
pub(crate) fn shuffle<T>(things: &mut [T]) {
    let n = things.len();
    for from in 0..n {
        things.swap(from, (scramble(from as u64) % n as u64) as usize);
    }
}

/// The letter of the lowest bits; an alphabet has 32 or 64.
fn letter(alphabet: &[u8], bits: u128) -> char {
    char::from(alphabet[bits as usize % alphabet.len()])
}

#[cfg(test)]
mod tests;
