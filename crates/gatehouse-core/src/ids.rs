//! Names and identifiers, parsed at the door into types that can't be wrong.
//!
//! Whoever holds a [`Username`] holds one that the contract allows; nothing behind the door checks
//! again. The reasons in [`BadName`] are written to stand after the field's name in an error body.

use std::fmt;
use std::str::FromStr;

use smol_str::SmolStr;
use uuid::Uuid;

/// Most characters in a name that a client chooses.
pub const NAME_CHARS_MAX: usize = 128;

/// Most characters in a tenant's name.
pub const TENANT_CHARS_MAX: usize = 63;

/// Most characters in the key of a request that is to be done once.
pub const REQUEST_KEY_CHARS_MAX: usize = 255;

/// Most characters in a platform's name.
pub const PLATFORM_CHARS_MAX: usize = 32;

/// Most characters in a connector's name.
pub const CONNECTOR_CHARS_MAX: usize = 64;

/// Items of one task whose identifiers sort as the items do: the ordinals of 24 bits.
pub const ORDERED_ITEMS: u32 = 1 << 24;

/// Why a text is not the name it was taken for; reads on after the field's name.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum BadName {
    /// Shorter than one character or longer than [`NAME_CHARS_MAX`].
    #[error("must have 1 to {NAME_CHARS_MAX} characters, not {0}")]
    Length(usize),
    /// Holds a control character that it can't hold.
    #[error("must not hold control characters, such as U+{0:04X}")]
    Control(u32),
    /// Not of the form of a tenant's name.
    #[error(
        "must begin with a letter or digit and hold only letters, digits, `.`, `_` and `-` of \
         ASCII, at most {TENANT_CHARS_MAX} in all"
    )]
    Tenant,
    /// Not of the form of a platform's name.
    #[error(
        "must begin with an upper-case letter or digit and hold only upper-case letters, digits and \
         `_` of ASCII, at most {PLATFORM_CHARS_MAX} in all"
    )]
    Platform,
    /// Not of the form of a connector's name.
    #[error(
        "must begin with a lower-case letter or digit and hold only lower-case letters, digits, `-` \
         and `_` of ASCII, at most {CONNECTOR_CHARS_MAX} in all"
    )]
    Connector,
    /// Not of the form of a request's key.
    #[error(
        "must have 1 to {REQUEST_KEY_CHARS_MAX} visible characters of ASCII, with spaces only between them"
    )]
    RequestKey,
}

/// Checks what every chosen name has in common.
fn check_name(text: &str) -> Result<(), BadName> {
    if is_plain(text) {
        return Ok(());
    }
    let n_chars = text.chars().count();
    if !(1..=NAME_CHARS_MAX).contains(&n_chars) {
        return Err(BadName::Length(n_chars));
    }
    match text.chars().find(|c| c.is_control()) {
        Some(control) => Err(BadName::Control(u32::from(control))),
        None => Ok(()),
    }
}

/// Whether it is short, visible ASCII, as nearly all names are. Every byte is looked at, which is faster than to
/// stop early.
fn is_plain(text: &str) -> bool {
    let is_visible = |b: u8| (b' '..=b'~').contains(&b);
    (1..=NAME_CHARS_MAX).contains(&text.len())
        && text.bytes().fold(true, |all, b| all & is_visible(b))
}

/// A device may be called anything that can be kept: databases can't keep U+0000 in a text.
fn check_device(text: &str) -> Result<(), BadName> {
    if is_plain(text) {
        return Ok(());
    }
    let n_chars = text.chars().count();
    match n_chars {
        1..=NAME_CHARS_MAX if text.contains('\0') => Err(BadName::Control(0)),
        1..=NAME_CHARS_MAX => Ok(()),
        _ => Err(BadName::Length(n_chars)),
    }
}

fn check_tenant(text: &str) -> Result<(), BadName> {
    let first = text.as_bytes().first().is_some_and(u8::is_ascii_alphanumeric);
    let rest = text.bytes().all(|b| b.is_ascii_alphanumeric() || b"._-".contains(&b));
    if first && rest && text.len() <= TENANT_CHARS_MAX { Ok(()) } else { Err(BadName::Tenant) }
}

/// Without a hyphen, so that a product's identifier can be split at its first one.
fn check_platform(text: &str) -> Result<(), BadName> {
    let is_upper = |b: u8| b.is_ascii_uppercase() || b.is_ascii_digit();
    let first = text.bytes().next().is_some_and(is_upper);
    let rest = text.bytes().all(|b| is_upper(b) || b == b'_');
    if first && rest && text.len() <= PLATFORM_CHARS_MAX { Ok(()) } else { Err(BadName::Platform) }
}

fn check_connector(text: &str) -> Result<(), BadName> {
    let is_lower = |b: u8| b.is_ascii_lowercase() || b.is_ascii_digit();
    let first = text.bytes().next().is_some_and(is_lower);
    let rest = text.bytes().all(|b| is_lower(b) || b"-_".contains(&b));
    let is_short = text.len() <= CONNECTOR_CHARS_MAX;
    if first && rest && is_short { Ok(()) } else { Err(BadName::Connector) }
}

fn check_request_key(text: &str) -> Result<(), BadName> {
    let is_visible = text.bytes().all(|b| b.is_ascii_graphic() || b == b' ');
    let is_bounded = (1..=REQUEST_KEY_CHARS_MAX).contains(&text.len());
    let is_trimmed = !text.starts_with(' ') && !text.ends_with(' ');
    if is_visible && is_bounded && is_trimmed { Ok(()) } else { Err(BadName::RequestKey) }
}

/// A text that passed its check, and nothing else. Most are short enough to need no memory of their own.
macro_rules! name {
    ($(#[$doc:meta])* $name:ident, $check:ident) => {
        $(#[$doc])*
        #[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
        pub struct $name(SmolStr);

        impl $name {
            /// The name as it was given.
            pub fn as_str(&self) -> &str {
                &self.0
            }
        }

        impl FromStr for $name {
            type Err = BadName;

            fn from_str(text: &str) -> Result<Self, BadName> {
                $check(text).map(|()| Self(text.into()))
            }
        }

        impl fmt::Display for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str(&self.0)
            }
        }
    };
}

name!(
    /// A tenant: the first segment of every path that belongs to one.
    TenantName,
    check_tenant
);
name!(
    /// A customer contract, unique in its tenant.
    ContractId,
    check_name
);
name!(
    /// A product offering, by its canonical identifier.
    OfferingId,
    check_name
);
name!(
    /// The name that a device connects with. One access of a tenant has it, besides any that are terminated.
    Username,
    check_name
);
name!(
    /// The logical name of a device, for people.
    DeviceName,
    check_device
);

name!(
    /// What people call a client.
    ClientName,
    check_name
);

name!(
    /// What a client calls a request that is to be done once, however often it is sent.
    RequestKey,
    check_request_key
);

name!(
    /// One account of a tenant at a platform, unique in the tenant.
    AccountName,
    check_name
);

name!(
    /// An external platform, by its canonical name.
    PlatformName,
    check_platform
);

name!(
    /// What knows how to speak to a platform.
    ConnectorName,
    check_connector
);

name!(
    /// What the platform itself calls an account.
    PlatformAccount,
    check_name
);

/// A text that doesn't name an access or a task.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("not an identifier")]
pub struct BadId;

/// Identifies an access: a time-ordered UUID in its canonical text.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct AccessId(Uuid);

impl AccessId {
    /// Makes an identifier out of the time and of random bits, which the caller draws.
    pub fn new(unix_milliseconds: u64, random: &[u8; 10]) -> Self {
        Self(time_ordered(unix_milliseconds, random))
    }

    /// Makes the identifier of one item of a task out of the time of the task, the item's ordinal and
    /// random bits, which the caller derives.
    ///
    /// The ordinal stands right behind the time, so identifiers of one task sort as its items do. Items
    /// from [`ORDERED_ITEMS`] on come after all others, in any order.
    pub fn in_task(unix_milliseconds: u64, ordinal: u32, random: &[u8; 10]) -> Self {
        let [_, high, middle, low] = ordinal.min(ORDERED_ITEMS - 1).to_be_bytes();
        // What comes behind the time has 4, 8, 6 and 8 bits free of version and variant; 24 are taken.
        let mut bits = *random;
        bits[0] = high >> 4;
        bits[1] = high << 4 | middle >> 4;
        bits[2] = middle << 2 & 0b11_1100 | low >> 6;
        bits[3] = low << 2 | bits[3] & 0b11;
        Self(time_ordered(unix_milliseconds, &bits))
    }

    /// The sixteen bytes that are stored.
    pub fn as_bytes(&self) -> &[u8; 16] {
        self.0.as_bytes()
    }

    /// The identifier that was stored as these bytes.
    pub fn from_bytes(bytes: [u8; 16]) -> Self {
        Self(Uuid::from_bytes(bytes))
    }

    /// The identifier as answers show it, written without asking for memory.
    pub fn shown(&self) -> ShownId {
        let mut text = Uuid::encode_buffer();
        self.0.hyphenated().encode_lower(&mut text);
        ShownId(text.first_chunk().copied().expect("a UUID has 36 characters"))
    }
}

/// The text of an access's identifier.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ShownId([u8; 36]);

impl ShownId {
    /// The text, as it goes into an answer.
    pub fn as_bytes(&self) -> &[u8] {
        &self.0
    }

    /// The text itself.
    pub fn as_str(&self) -> &str {
        std::str::from_utf8(&self.0).expect("digits and hyphens are ASCII")
    }
}

impl FromStr for AccessId {
    type Err = BadId;

    fn from_str(text: &str) -> Result<Self, BadId> {
        parse_canonical(text).map(Self)
    }
}

impl fmt::Display for AccessId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

/// Identifies the task that made an access; always starts with `job-`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct TaskId(Uuid);

impl TaskId {
    const PREFIX: &str = "job-";

    /// Makes an identifier out of the time and of random bits, which the caller draws.
    pub fn new(unix_milliseconds: u64, random: &[u8; 10]) -> Self {
        Self(time_ordered(unix_milliseconds, random))
    }

    /// When it was made, in milliseconds since 1970.
    pub fn unix_milliseconds(&self) -> u64 {
        let [a, b, c, d, e, f, ..] = *self.0.as_bytes();
        u64::from_be_bytes([0, 0, a, b, c, d, e, f])
    }

    /// The sixteen bytes that are stored, without the prefix.
    pub fn as_bytes(&self) -> &[u8; 16] {
        self.0.as_bytes()
    }

    /// The identifier that was stored as these bytes.
    pub fn from_bytes(bytes: [u8; 16]) -> Self {
        Self(Uuid::from_bytes(bytes))
    }
}

impl FromStr for TaskId {
    type Err = BadId;

    fn from_str(text: &str) -> Result<Self, BadId> {
        parse_canonical(text.strip_prefix(Self::PREFIX).ok_or(BadId)?).map(Self)
    }
}

impl fmt::Display for TaskId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}{}", Self::PREFIX, self.0)
    }
}

/// A UUID of version 7 as text, for identifiers that are never stored (a request's, a token's).
pub fn time_ordered(unix_milliseconds: u64, random: &[u8; 10]) -> Uuid {
    uuid::Builder::from_unix_timestamp_millis(unix_milliseconds, random).into_uuid()
}

/// When an identifier that [`time_ordered`] made was made, in milliseconds since 1970.
pub fn milliseconds_of(text: &str) -> Option<i64> {
    let uuid = parse_canonical(text).ok().filter(|it| it.get_version_num() == 7)?;
    let (seconds, nanoseconds) = uuid.get_timestamp()?.to_unix();
    i64::try_from(seconds * 1000 + u64::from(nanoseconds) / 1_000_000).ok()
}

/// One thing has one address: of the many ways to write a UUID, only the canonical one is taken.
fn parse_canonical(text: &str) -> Result<Uuid, BadId> {
    let uuid = Uuid::try_parse(text).map_err(|_| BadId)?;
    let mut canonical = Uuid::encode_buffer();
    if uuid.hyphenated().encode_lower(&mut canonical) == text { Ok(uuid) } else { Err(BadId) }
}

#[cfg(test)]
mod tests;
