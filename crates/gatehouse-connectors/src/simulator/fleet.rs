//! The connections of one account, computed.
//!
//! An account has a pseudo-random number below a million, from platform and token; a connection has an index below a
//! million. Both together are a number below 10¹². Each kind of identifier has its own permutation of these numbers,
//! and the permuted number is written as the identifier. A look-up inverts the permutation and checks the account.
//! All accounts use the same permutations, so two accounts share an identifier only if their numbers are equal.

use gatehouse_core::IdentifierKind;
use gatehouse_core::product::Connectivity;
use serde::Serialize;

use super::permutation::Permutation;
use super::platform::Platform;
use super::pseudo_random::{pseudo_random, pseudo_random_from_text};
use crate::check_digit::with_check_digit;

/// Number of distinct accounts, and of indexes in each.
const ACCOUNTS: u64 = 1_000_000;
const INDEX_LIMIT: u64 = 1_000_000;

/// Accounts that share a mobile network.
const ACCOUNTS_PER_NETWORK: u64 = 10_000;

const IDS: Permutation = Permutation::new(1_000_000, 0x1d);
const ICCIDS: Permutation = Permutation::new(1_000_000, 0x1cc1d);
const MSISDNS: Permutation = Permutation::new(1_000_000, 0x3515d);
const SERIALS: Permutation = Permutation::new(1_000_000, 0x5e41a1);
const CURSORS: Permutation = Permutation::new(1_000_000, 0xc045);
/// Permutes within a network: an IMSI has ten digits for subscribers.
const SUBSCRIBERS: Permutation = Permutation::new(100_000, 0x1351);
/// Base of device numbers: an IMEI has six digits for them, too few to be unique across accounts.
const DEVICES_BASE: u64 = 1000;

/// Prefix of serial numbers, and modulus of their two check digits.
const SERIAL_PREFIX: &str = "SL-DF-";
const SERIAL_CHECK: u64 = 97;

/// Country codes of MSISDNs and ICCIDs, with the mobile country codes of IMSIs.
const COUNTRIES: [(&str, &str); 8] = [
    ("49", "262"),
    ("44", "234"),
    ("34", "214"),
    ("31", "204"),
    ("46", "240"),
    ("33", "208"),
    ("39", "222"),
    ("48", "260"),
];

/// Prefix of mobile numbers, after the country code.
const MOBILE_PREFIX: &str = "7";

/// Type allocation codes: the first digits of an IMEI, one code for each model.
const MODELS: [&str; 5] = ["35284110", "35693803", "86475204", "86183105", "01516100"];

/// The platform's states, with cumulative percentages.
const STATES: [(&str, u64); 5] =
    [("in-use", 80), ("paused", 88), ("stock", 94), ("retired", 99), ("test-ready", 100)];

const FLEETS: [&str; 6] = ["north", "south", "harbour", "cold-chain", "metering", "spare"];
const SITES: [&str; 5] = ["Hamburg", "Málaga", "Rotterdam", "Gdańsk", "Leeds"];
const TAGS: [&str; 4] = ["pilot", "eu-only", "night", "roaming"];

/// A connection in the platform's JSON.
#[derive(Debug, PartialEq, Eq, Serialize)]
pub(super) struct ConnectionJson {
    pub(super) id: String,
    pub(super) state: &'static str,
    pub(super) connectivity: &'static str,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) iccid: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) imsi: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) msisdn: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) imei: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) serial: Option<String>,
    pub(super) properties: Vec<PropertyJson>,
}

/// A custom property in the platform's JSON.
#[derive(Debug, PartialEq, Eq, Serialize)]
pub(super) struct PropertyJson {
    pub(super) name: &'static str,
    pub(super) value: String,
}

/// The connections of one account.
#[derive(Clone, Debug)]
pub(super) struct Fleet<'a> {
    platform: &'a Platform,
    platform_seed: u64,
    account: u64,
    iccid_prefix: String,
    imsi_prefix: String,
    msisdn_prefix: String,
}

impl<'a> Fleet<'a> {
    /// The connections of a token's account.
    pub(super) fn of(platform: &'a Platform, token: &str) -> Self {
        let platform_seed = platform.platform_seed();
        let account = pseudo_random_from_text(platform_seed, token) % ACCOUNTS;
        let (country, mobile_country) =
            COUNTRIES[(pseudo_random(platform_seed, 1) % COUNTRIES.len() as u64) as usize];
        Self {
            platform,
            platform_seed,
            account,
            iccid_prefix: format!("89{country}{:03}", pseudo_random(platform_seed, 2) % 1000),
            imsi_prefix: format!("{mobile_country}{:02}", account / ACCOUNTS_PER_NETWORK),
            msisdn_prefix: format!("{country}{MOBILE_PREFIX}"),
        }
    }

    /// Number of connections.
    pub(super) fn len(&self) -> u64 {
        u64::from(self.platform.n_connections)
    }

    /// The connection at an index.
    pub(super) fn at(&self, index: u64) -> ConnectionJson {
        let number = self.number(index);
        let random = pseudo_random(self.platform_seed, number);
        let state = state(random);
        let mut connection = ConnectionJson {
            id: format!("{:010x}", IDS.apply(number)),
            state,
            connectivity: "cellular",
            iccid: None,
            imsi: None,
            msisdn: None,
            imei: None,
            serial: None,
            properties: properties(pseudo_random(random, 1)),
        };
        match self.platform.connectivity {
            Connectivity::Cellular => {
                connection.iccid = Some(self.iccid(number));
                connection.imsi = Some(self.imsi(index));
                connection.msisdn = self.has_msisdn(index).then(|| self.msisdn(number));
                connection.imei =
                    (state != "stock").then(|| self.imei(index, pseudo_random(random, 2)));
            }
            Connectivity::Satellite => {
                connection.connectivity = "satellite";
                connection.serial = Some(serial(number));
            }
        }
        connection
    }

    /// Index of the connection with an identifier, in any notation.
    pub(super) fn index_of(&self, kind: IdentifierKind, value: &str) -> Option<u64> {
        let is_cellular = self.platform.connectivity == Connectivity::Cellular;
        match kind {
            IdentifierKind::Iccid if is_cellular => {
                let iccid = gatehouse_core::identifier::key(kind, value);
                let digits = iccid.strip_prefix(&self.iccid_prefix)?;
                self.own_index(ICCIDS.invert(decimal(digits, 12)?)?)
            }
            IdentifierKind::Imsi if is_cellular => {
                let digits = value.strip_prefix(&self.imsi_prefix)?;
                let number = SUBSCRIBERS.invert(decimal(digits, 10)?)?;
                let is_own = number / INDEX_LIMIT == self.account % ACCOUNTS_PER_NETWORK;
                let index = number % INDEX_LIMIT;
                (is_own && index < self.len()).then_some(index)
            }
            IdentifierKind::Msisdn if is_cellular => {
                let digits = value.strip_prefix(&self.msisdn_prefix)?;
                let index = self.own_index(MSISDNS.invert(decimal(digits, 12)?)?)?;
                self.has_msisdn(index).then_some(index)
            }
            IdentifierKind::SerialNumber if !is_cellular => {
                let (high, rest) = value.strip_prefix(SERIAL_PREFIX)?.split_once('-')?;
                let (low, check) = rest.split_once('-')?;
                let permuted = decimal(high, 7)? * 100_000 + decimal(low, 5)?;
                let is_right = decimal(check, 2)? == permuted % SERIAL_CHECK;
                self.own_index(SERIALS.invert(permuted).filter(|_| is_right)?)
            }
            _ => None,
        }
    }

    /// Index of the connection with an id of the platform.
    pub(super) fn index_of_id(&self, id: &str) -> Option<u64> {
        self.own_index(IDS.invert(hexadecimal(id)?)?)
    }

    /// Cursor of the page that begins at an index.
    pub(super) fn cursor(&self, index: u64) -> String {
        format!("{:010x}", CURSORS.apply(self.number(index)))
    }

    /// Index at which a cursor's page begins; `None` for a cursor of another account.
    pub(super) fn index_of_cursor(&self, cursor: &str) -> Option<u64> {
        let number = CURSORS.invert(hexadecimal(cursor)?)?;
        let index = number % INDEX_LIMIT;
        // `EndlessCursor` gives a cursor even to an empty list.
        let is_right = number / INDEX_LIMIT == self.account && index < self.len().max(1);
        is_right.then_some(index)
    }

    fn number(&self, index: u64) -> u64 {
        self.account * INDEX_LIMIT + index
    }

    /// Index of a number of this account; `None` for any other number.
    fn own_index(&self, number: u64) -> Option<u64> {
        let index = number % INDEX_LIMIT;
        (number / INDEX_LIMIT == self.account && index < self.len()).then_some(index)
    }

    fn iccid(&self, number: u64) -> String {
        let iccid = format!("{}{:012}", self.iccid_prefix, ICCIDS.apply(number));
        if self.platform.shows_check_digit { with_check_digit(iccid) } else { iccid }
    }

    fn imsi(&self, index: u64) -> String {
        let number = self.account % ACCOUNTS_PER_NETWORK * INDEX_LIMIT + index;
        format!("{}{:010}", self.imsi_prefix, SUBSCRIBERS.apply(number))
    }

    fn imei(&self, index: u64, random: u64) -> String {
        let model = MODELS[(random % MODELS.len() as u64) as usize];
        let device = Permutation::new(DEVICES_BASE, self.account).apply(index);
        with_check_digit(format!("{model}{device:06}"))
    }

    /// Some SIMs carry data only.
    fn has_msisdn(&self, index: u64) -> bool {
        !pseudo_random(self.platform_seed ^ 0x3515, self.number(index)).is_multiple_of(16)
    }

    fn msisdn(&self, number: u64) -> String {
        format!("{}{:012}", self.msisdn_prefix, MSISDNS.apply(number))
    }
}

fn state(random: u64) -> &'static str {
    let percent = random % 100;
    let (word, _) = STATES.into_iter().find(|(_, limit)| percent < *limit).unwrap_or(STATES[0]);
    word
}

fn serial(number: u64) -> String {
    let permuted = SERIALS.apply(number);
    let check = permuted % SERIAL_CHECK;
    format!("{SERIAL_PREFIX}{:07}-{:05}-{check:02}", permuted / 100_000, permuted % 100_000)
}

/// Pseudo-random properties: most connections have a fleet, some a site, few a label or two tags.
fn properties(random: u64) -> Vec<PropertyJson> {
    let pick = |from: &[&str], salt| {
        from[(pseudo_random(random, salt) % from.len() as u64) as usize].to_owned()
    };
    let mut properties = Vec::new();
    let mut add = |name, value| properties.push(PropertyJson { name, value });
    if random % 100 < 85 {
        add("fleet", pick(&FLEETS, 1));
    }
    if pseudo_random(random, 2) % 100 < 60 {
        add("site", pick(&SITES, 3));
    }
    if pseudo_random(random, 4) % 100 < 30 {
        add("label", format!("unit {}", pseudo_random(random, 5) % 10_000));
    }
    if pseudo_random(random, 6) % 100 < 10 {
        add("tag", pick(&TAGS[..2], 7));
        add("tag", pick(&TAGS[2..], 8));
    }
    properties
}

/// Parses a number of exactly `n_digits` digits.
fn decimal(digits: &str, n_digits: usize) -> Option<u64> {
    let is_number = digits.len() == n_digits && digits.bytes().all(|b| b.is_ascii_digit());
    is_number.then(|| digits.parse().ok())?
}

/// Parses ten hexadecimal digits in lower case: each number has one notation.
fn hexadecimal(digits: &str) -> Option<u64> {
    let is_digit = |b: u8| b.is_ascii_digit() || (b'a'..=b'f').contains(&b);
    let is_number = digits.len() == 10 && digits.bytes().all(is_digit);
    is_number.then(|| u64::from_str_radix(digits, 16).ok())?
}

#[cfg(test)]
mod tests;
