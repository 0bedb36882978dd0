//! The connections of one account, computed.
//!
//! An account has a number below a million, drawn from the platform and the token, and a connection has a
//! place below a million. The two together are a number below 10¹², which is permuted, differently for each
//! kind of identifier, and written down as such an identifier. Looking one up reads the number, turns it
//! back and sees whether account and place are right. The permutations are the same everywhere, so two
//! accounts never have an identifier in common unless their numbers are the same.

use gatehouse_core::IdentifierKind;
use gatehouse_core::product::Connectivity;
use serde::Serialize;

use super::draw::{draw, draw_for};
use super::permutation::Permutation;
use super::platform::Platform;
use crate::check_digit::with_check_digit;

/// How many accounts can be told apart, and how many places each has.
const ACCOUNTS: u64 = 1_000_000;
const PLACES: u64 = 1_000_000;

/// Accounts whose cards belong to the same network.
const ACCOUNTS_OF_NETWORK: u64 = 10_000;

const IDS: Permutation = Permutation::new(1_000_000, 0x1d);
const ICCIDS: Permutation = Permutation::new(1_000_000, 0x1cc1d);
const MSISDNS: Permutation = Permutation::new(1_000_000, 0x3515d);
const SERIALS: Permutation = Permutation::new(1_000_000, 0x5e41a1);
const CURSORS: Permutation = Permutation::new(1_000_000, 0xc045);
/// Within a network: an IMSI has only ten digits behind it.
const SUBSCRIBERS: Permutation = Permutation::new(100_000, 0x1351);
/// Devices of one model: an IMEI has six digits for them, which is too few to tell accounts apart.
const DEVICES_BASE: u64 = 1000;

/// What serial numbers begin with, and what their two check digits are the rest by.
const SERIAL_PREFIX: &str = "SL-DF-";
const SERIAL_CHECK: u64 = 97;

/// Country codes of telephone numbers and cards, and those of mobile networks there.
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

/// What the numbers of mobile telephones begin with, behind the country.
const MOBILE: &str = "7";

/// What the numbers of devices begin with: one for each model.
const MODELS: [&str; 5] = ["35284110", "35693803", "86475204", "86183105", "01516100"];

/// The platform's words for statuses, and up to which of a hundred they reach.
const STATES: [(&str, u64); 5] =
    [("in-use", 80), ("paused", 88), ("stock", 94), ("retired", 99), ("test-ready", 100)];

const FLEETS: [&str; 6] = ["north", "south", "harbour", "cold-chain", "metering", "spare"];
const SITES: [&str; 5] = ["Hamburg", "Málaga", "Rotterdam", "Gdańsk", "Leeds"];
const TAGS: [&str; 4] = ["pilot", "eu-only", "night", "roaming"];

/// A connection as the platform shows it.
#[derive(Debug, PartialEq, Eq, Serialize)]
pub(super) struct Shown {
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
    pub(super) properties: Vec<ShownProperty>,
}

/// A custom property as the platform shows it.
#[derive(Debug, PartialEq, Eq, Serialize)]
pub(super) struct ShownProperty {
    pub(super) name: &'static str,
    pub(super) value: String,
}

/// The connections of one account.
#[derive(Clone, Debug)]
pub(super) struct Fleet<'a> {
    platform: &'a Platform,
    /// What is drawn for the whole platform.
    origin: u64,
    account: u64,
    /// What its ICCIDs, IMSIs and MSISDNs begin with.
    card: String,
    network: String,
    telephone: String,
}

impl<'a> Fleet<'a> {
    /// Those that a token shows: always the same.
    pub(super) fn of(platform: &'a Platform, token: &str) -> Self {
        let origin = platform.origin();
        let account = draw_for(origin, token) % ACCOUNTS;
        let (country, mobile_country) =
            COUNTRIES[(draw(origin, 1) % COUNTRIES.len() as u64) as usize];
        Self {
            platform,
            origin,
            account,
            card: format!("89{country}{:03}", draw(origin, 2) % 1000),
            network: format!("{mobile_country}{:02}", account / ACCOUNTS_OF_NETWORK),
            telephone: format!("{country}{MOBILE}"),
        }
    }

    /// How many there are.
    pub(super) fn len(&self) -> u64 {
        u64::from(self.platform.n_connections)
    }

    /// The one at a place.
    pub(super) fn at(&self, place: u64) -> Shown {
        let number = self.number(place);
        let chance = draw(self.origin, number);
        let state = state(chance);
        let mut shown = Shown {
            id: format!("{:010x}", IDS.apply(number)),
            state,
            connectivity: "cellular",
            iccid: None,
            imsi: None,
            msisdn: None,
            imei: None,
            serial: None,
            properties: properties(draw(chance, 1)),
        };
        match self.platform.connectivity {
            Connectivity::Cellular => {
                shown.iccid = Some(self.iccid(number));
                shown.imsi = Some(self.imsi(place));
                shown.msisdn = self.has_msisdn(place).then(|| self.msisdn(number));
                shown.imei = (state != "stock").then(|| self.imei(place, draw(chance, 2)));
            }
            Connectivity::Satellite => {
                shown.connectivity = "satellite";
                shown.serial = Some(serial(number));
            }
        }
        shown
    }

    /// Where the connection is that carries an identifier, however it is written.
    pub(super) fn place_of(&self, kind: IdentifierKind, value: &str) -> Option<u64> {
        let is_cellular = self.platform.connectivity == Connectivity::Cellular;
        match kind {
            IdentifierKind::Iccid if is_cellular => {
                let card = gatehouse_core::identifier::key(kind, value);
                let digits = card.strip_prefix(&self.card)?;
                self.own(ICCIDS.invert(decimal(digits, 12)?)?)
            }
            IdentifierKind::Imsi if is_cellular => {
                let digits = value.strip_prefix(&self.network)?;
                let number = SUBSCRIBERS.invert(decimal(digits, 10)?)?;
                let is_own = number / PLACES == self.account % ACCOUNTS_OF_NETWORK;
                let place = number % PLACES;
                (is_own && place < self.len()).then_some(place)
            }
            IdentifierKind::Msisdn if is_cellular => {
                let digits = value.strip_prefix(&self.telephone)?;
                let place = self.own(MSISDNS.invert(decimal(digits, 12)?)?)?;
                self.has_msisdn(place).then_some(place)
            }
            IdentifierKind::SerialNumber if !is_cellular => {
                let (high, rest) = value.strip_prefix(SERIAL_PREFIX)?.split_once('-')?;
                let (low, check) = rest.split_once('-')?;
                let permuted = decimal(high, 7)? * 100_000 + decimal(low, 5)?;
                let is_right = decimal(check, 2)? == permuted % SERIAL_CHECK;
                self.own(SERIALS.invert(permuted).filter(|_| is_right)?)
            }
            _ => None,
        }
    }

    /// Where the connection is that the platform calls so.
    pub(super) fn place_of_id(&self, id: &str) -> Option<u64> {
        self.own(IDS.invert(hexadecimal(id)?)?)
    }

    /// A mark for the page that begins at a place.
    pub(super) fn mark(&self, place: u64) -> String {
        format!("{:010x}", CURSORS.apply(self.number(place)))
    }

    /// Where the page begins that a mark stands for; nothing when it was given to another account.
    pub(super) fn place_of_mark(&self, mark: &str) -> Option<u64> {
        let number = CURSORS.invert(hexadecimal(mark)?)?;
        let place = number % PLACES;
        // An empty list may be paged through without end, so its first place can be marked too.
        let is_right = number / PLACES == self.account && place < self.len().max(1);
        is_right.then_some(place)
    }

    fn number(&self, place: u64) -> u64 {
        self.account * PLACES + place
    }

    /// The place that belongs to a number, if it is one of this account.
    fn own(&self, number: u64) -> Option<u64> {
        let place = number % PLACES;
        (number / PLACES == self.account && place < self.len()).then_some(place)
    }

    fn iccid(&self, number: u64) -> String {
        let iccid = format!("{}{:012}", self.card, ICCIDS.apply(number));
        if self.platform.shows_check_digit { with_check_digit(iccid) } else { iccid }
    }

    fn imsi(&self, place: u64) -> String {
        let number = self.account % ACCOUNTS_OF_NETWORK * PLACES + place;
        format!("{}{:010}", self.network, SUBSCRIBERS.apply(number))
    }

    fn imei(&self, place: u64, chance: u64) -> String {
        let model = MODELS[(chance % MODELS.len() as u64) as usize];
        let device = Permutation::new(DEVICES_BASE, self.account).apply(place);
        with_check_digit(format!("{model}{device:06}"))
    }

    /// Some cards carry data only.
    fn has_msisdn(&self, place: u64) -> bool {
        !draw(self.origin ^ 0x3515, self.number(place)).is_multiple_of(16)
    }

    fn msisdn(&self, number: u64) -> String {
        format!("{}{:012}", self.telephone, MSISDNS.apply(number))
    }
}

fn state(chance: u64) -> &'static str {
    let percent = chance % 100;
    let (word, _) = STATES.into_iter().find(|(_, reach)| percent < *reach).unwrap_or(STATES[0]);
    word
}

fn serial(number: u64) -> String {
    let permuted = SERIALS.apply(number);
    let check = permuted % SERIAL_CHECK;
    format!("{SERIAL_PREFIX}{:07}-{:05}-{check:02}", permuted / 100_000, permuted % 100_000)
}

/// Most have a fleet, some a site, few a label, and now and then there are two tags.
fn properties(chance: u64) -> Vec<ShownProperty> {
    let pick =
        |from: &[&str], salt| from[(draw(chance, salt) % from.len() as u64) as usize].to_owned();
    let mut properties = Vec::new();
    let mut add = |name, value| properties.push(ShownProperty { name, value });
    if chance % 100 < 85 {
        add("fleet", pick(&FLEETS, 1));
    }
    if draw(chance, 2) % 100 < 60 {
        add("site", pick(&SITES, 3));
    }
    if draw(chance, 4) % 100 < 30 {
        add("label", format!("unit {}", draw(chance, 5) % 10_000));
    }
    if draw(chance, 6) % 100 < 10 {
        add("tag", pick(&TAGS[..2], 7));
        add("tag", pick(&TAGS[2..], 8));
    }
    properties
}

/// A number of exactly so many digits.
fn decimal(digits: &str, n_digits: usize) -> Option<u64> {
    let is_number = digits.len() == n_digits && digits.bytes().all(|b| b.is_ascii_digit());
    is_number.then(|| digits.parse().ok())?
}

/// A number of ten digits to the base of 16, in lower case: there is one way to write it.
fn hexadecimal(digits: &str) -> Option<u64> {
    let is_digit = |b: u8| b.is_ascii_digit() || (b'a'..=b'f').contains(&b);
    let is_number = digits.len() == 10 && digits.bytes().all(is_digit);
    is_number.then(|| u64::from_str_radix(digits, 16).ok())?
}

#[cfg(test)]
mod tests;
