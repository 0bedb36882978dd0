//! Names and identifiers, parsed on input into types that can't be wrong.
//!
//! A [`Username`] is always one that the contract allows, so no later code checks it again. The texts of [`BadName`]
//! continue after the field's name in an error body.

use std::fmt;
use std::str::FromStr;

use smol_str::SmolStr;
use uuid::Uuid;

/// Most characters in a name that a client chooses.
pub const NAME_CHARS_MAX: usize = 128;

/// Most characters in a tenant's name.
pub const TENANT_CHARS_MAX: usize = 63;

/// Most characters in a label's key.
pub const LABEL_KEY_CHARS_MAX: usize = 63;

/// Most bytes in a label's value.
pub const LABEL_VALUE_BYTES_MAX: usize = 128;

/// Most characters in an idempotency key.
pub const REQUEST_KEY_CHARS_MAX: usize = 255;

/// Most characters in a platform's name.
pub const PLATFORM_CHARS_MAX: usize = 32;

/// Most characters in a connector's name.
pub const CONNECTOR_CHARS_MAX: usize = 64;

/// Items of one Task whose identifiers sort in item order: the ordinals of 24 bits.
pub const ORDERED_ITEMS: u32 = 1 << 24;

/// Why a text is not such a name; continues after the field's name.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum BadName {
    /// Shorter than one character or longer than [`NAME_CHARS_MAX`].
    #[error("must have 1 to {NAME_CHARS_MAX} characters, not {0}")]
    Length(usize),
    /// Has a control character that the name must not have.
    #[error("must not hold control characters, such as U+{0:04X}")]
    Control(u32),
    /// Not a valid tenant name.
    #[error(
        "must begin with a letter or digit and hold only letters, digits, `.`, `_` and `-` of \
         ASCII, at most {TENANT_CHARS_MAX} in all"
    )]
    Tenant,
    /// Not a valid platform name.
    #[error(
        "must begin with an upper-case letter or digit and hold only upper-case letters, digits and \
         `_` of ASCII, at most {PLATFORM_CHARS_MAX} in all"
    )]
    Platform,
    /// Not a valid connector name.
    #[error(
        "must begin with a lower-case letter or digit and hold only lower-case letters, digits, `-` \
         and `_` of ASCII, at most {CONNECTOR_CHARS_MAX} in all"
    )]
    Connector,
    /// Not a valid key of a label.
    #[error(
        "must have 1 to {LABEL_KEY_CHARS_MAX} characters of `a` to `z`, `0` to `9`, `.`, `_` and `-`"
    )]
    LabelKey,
    /// Shorter than one byte or longer than [`LABEL_VALUE_BYTES_MAX`].
    #[error("must have 1 to {LABEL_VALUE_BYTES_MAX} bytes of UTF-8, not {0}")]
    LabelValue(usize),
    /// Not a valid idempotency key.
    #[error(
        "must have 1 to {REQUEST_KEY_CHARS_MAX} visible characters of ASCII, with spaces only between them"
    )]
    RequestKey,
}

/// Checks the rules of every name that a client chooses.
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

/// Whether a text is short, visible ASCII, as nearly all names are. Checking every byte is faster than stopping early.
fn is_plain(text: &str) -> bool {
    let is_visible = |b: u8| (b' '..=b'~').contains(&b);
    (1..=NAME_CHARS_MAX).contains(&text.len())
        && text.bytes().fold(true, |all, b| all & is_visible(b))
}

/// Allows every text that databases can store: all but U+0000.
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

fn check_label_key(text: &str) -> Result<(), BadName> {
    let is_key = |b: u8| b.is_ascii_lowercase() || b.is_ascii_digit() || b"._-".contains(&b);
    let is_short = (1..=LABEL_KEY_CHARS_MAX).contains(&text.len());
    if is_short && text.bytes().all(is_key) { Ok(()) } else { Err(BadName::LabelKey) }
}

/// Allows every text that databases can store: all but U+0000.
fn check_label_value(text: &str) -> Result<(), BadName> {
    match text.len() {
        1..=LABEL_VALUE_BYTES_MAX if text.contains('\0') => Err(BadName::Control(0)),
        1..=LABEL_VALUE_BYTES_MAX => Ok(()),
        n_bytes => Err(BadName::LabelValue(n_bytes)),
    }
}

fn check_tenant(text: &str) -> Result<(), BadName> {
    let first = text.as_bytes().first().is_some_and(u8::is_ascii_alphanumeric);
    let rest = text.bytes().all(|b| b.is_ascii_alphanumeric() || b"._-".contains(&b));
    if first && rest && text.len() <= TENANT_CHARS_MAX { Ok(()) } else { Err(BadName::Tenant) }
}

/// Allows no hyphen, so that a product's identifier can be split at its first one.
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

/// Defines a type for a text that passed its check. Most names are short enough to need no allocation.
macro_rules! name {
    ($(#[$doc:meta])* $name:ident, $check:ident) => {
        $(#[$doc])*
        #[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
        pub struct $name(SmolStr);

        impl $name {
            /// The name as the client wrote it.
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
    /// Name of a tenant: the first segment of the tenant's paths.
    TenantName,
    check_tenant
);
name!(
    /// Identifier of a customer contract, unique in its tenant.
    ContractId,
    check_name
);
name!(
    /// Canonical identifier of a product offering.
    OfferingId,
    check_name
);
name!(
    /// The username that a device connects with. At most one access of a tenant that isn't terminated has it.
    Username,
    check_name
);
name!(
    /// The logical name of a device, for people.
    DeviceName,
    check_device
);

name!(
    /// Name of a client, for people.
    ClientName,
    check_name
);

name!(
    /// Name of a hook, for people.
    HookName,
    check_name
);

name!(
    /// Key of a label.
    LabelKey,
    check_label_key
);

name!(
    /// Value of a label.
    LabelValue,
    check_label_value
);

name!(
    /// A client's idempotency key: the request is processed once, however often the client sends it.
    RequestKey,
    check_request_key
);

name!(
    /// A tenant's name for an account at a platform, unique in the tenant.
    AccountName,
    check_name
);

name!(
    /// Canonical name of an external platform.
    PlatformName,
    check_platform
);

name!(
    /// Name of the connector that calls a platform.
    ConnectorName,
    check_connector
);

name!(
    /// The platform's own name for an account.
    PlatformAccount,
    check_name
);

/// A text that is no identifier of an access or a Task.
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

    /// Makes the identifier of a Task's item out of the Task's time, the item's ordinal and random bits, which the
    /// caller derives.
    ///
    /// The ordinal follows the time, so identifiers of one Task sort in item order. Items from [`ORDERED_ITEMS`] on
    /// come after all others, in any order.
    pub fn in_task(unix_milliseconds: u64, ordinal: u32, random: &[u8; 10]) -> Self {
        let [_, high, middle, low] = ordinal.min(ORDERED_ITEMS - 1).to_be_bytes();
        // After the time, 4, 8, 6 and 8 bits are free of version and variant; the ordinal takes 24 of them.
        let mut bits = *random;
        bits[0] = high >> 4;
        bits[1] = high << 4 | middle >> 4;
        bits[2] = middle << 2 & 0b11_1100 | low >> 6;
        bits[3] = low << 2 | bits[3] & 0b11;
        Self(time_ordered(unix_milliseconds, &bits))
    }

    /// The sixteen bytes to store.
    pub fn as_bytes(&self) -> &[u8; 16] {
        self.0.as_bytes()
    }

    /// The identifier with these stored bytes.
    pub fn from_bytes(bytes: [u8; 16]) -> Self {
        Self(Uuid::from_bytes(bytes))
    }

    /// The identifier as responses show it, written without an allocation.
    pub fn shown(&self) -> ShownId {
        ShownId::of(self.0)
    }
}

/// The text of an identifier.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ShownId([u8; 36]);

impl ShownId {
    fn of(id: Uuid) -> Self {
        let mut text = Uuid::encode_buffer();
        id.hyphenated().encode_lower(&mut text);
        Self(text.first_chunk().copied().expect("a UUID has 36 characters"))
    }

    /// The text as bytes of a response.
    pub fn as_bytes(&self) -> &[u8] {
        &self.0
    }

    /// The text.
    pub fn as_str(&self) -> &str {
        std::str::from_utf8(&self.0).expect("digits and hyphens are ASCII")
    }
}

impl AccessId {
    /// The first and the last identifier that begin with a text, in any case; `None` if none does.
    pub fn range_of_prefix(text: &str) -> Option<(Self, Self)> {
        let is_hyphen = |n: usize| matches!(n, 8 | 13 | 18 | 23);
        let is_right = |(n, c): (usize, char)| match is_hyphen(n) {
            true => c == '-',
            false => c.is_ascii_hexdigit(),
        };
        if text.chars().count() > 36 || !text.chars().enumerate().all(is_right) {
            return None;
        }
        let completed = |rest: char| {
            let missing = (text.len()..36).map(|n| if is_hyphen(n) { '-' } else { rest });
            let whole: String = text.chars().chain(missing).collect();
            Uuid::try_parse(&whole).ok().map(Self)
        };
        Some((completed('0')?, completed('f')?))
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

/// Identifies a Task; always starts with `job-`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct TaskId(Uuid);

impl TaskId {
    const PREFIX: &str = "job-";

    /// Makes an identifier out of the time and of random bits, which the caller draws.
    pub fn new(unix_milliseconds: u64, random: &[u8; 10]) -> Self {
        Self(time_ordered(unix_milliseconds, random))
    }

    /// Creation time, in milliseconds since 1970.
    pub fn unix_milliseconds(&self) -> u64 {
        let [a, b, c, d, e, f, ..] = *self.0.as_bytes();
        u64::from_be_bytes([0, 0, a, b, c, d, e, f])
    }

    /// The sixteen bytes to store, without the prefix.
    pub fn as_bytes(&self) -> &[u8; 16] {
        self.0.as_bytes()
    }

    /// The identifier with these stored bytes.
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

/// Identifies a hub; always starts with `hub-`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct HubId(Uuid);

impl HubId {
    const PREFIX: &str = "hub-";

    /// Makes an identifier out of the time and of random bits, which the caller draws.
    pub fn new(unix_milliseconds: u64, random: &[u8; 10]) -> Self {
        Self(time_ordered(unix_milliseconds, random))
    }

    /// The sixteen bytes, without the prefix.
    pub fn as_bytes(&self) -> &[u8; 16] {
        self.0.as_bytes()
    }
}

impl FromStr for HubId {
    type Err = BadId;

    fn from_str(text: &str) -> Result<Self, BadId> {
        parse_canonical(text.strip_prefix(Self::PREFIX).ok_or(BadId)?).map(Self)
    }
}

impl fmt::Display for HubId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}{}", Self::PREFIX, self.0)
    }
}

/// Identifies a hook; always starts with `hook-`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct HookId(Uuid);

impl HookId {
    const PREFIX: &str = "hook-";

    /// Makes an identifier out of the time and of random bits, which the caller draws.
    pub fn new(unix_milliseconds: u64, random: &[u8; 10]) -> Self {
        Self(time_ordered(unix_milliseconds, random))
    }
}

impl FromStr for HookId {
    type Err = BadId;

    fn from_str(text: &str) -> Result<Self, BadId> {
        parse_canonical(text.strip_prefix(Self::PREFIX).ok_or(BadId)?).map(Self)
    }
}

impl fmt::Display for HookId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}{}", Self::PREFIX, self.0)
    }
}

/// Identifies an event; always starts with `evt-`. It is not stored: an event has the same one at each reading.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct EventId(Uuid);

impl EventId {
    /// The identifier of an event in an entry of the journal, made of the entry's time and MAC and of the event's
    /// position in it. No entry has as many events as three bytes can count.
    pub fn in_entry(unix_milliseconds: u64, mac: &[u8; 32], position: u64) -> Self {
        let [.., high, middle, low] = position.to_be_bytes();
        let [a, b, c, d, e, f, g, ..] = *mac;
        Self(time_ordered(unix_milliseconds, &[a, b, c, d, e, f, g, high, middle, low]))
    }

    /// Begins every identifier.
    pub const PREFIX: &str = "evt-";

    /// The identifier without its prefix, written without an allocation.
    pub fn shown(&self) -> ShownId {
        ShownId::of(self.0)
    }
}

impl fmt::Display for EventId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}{}", Self::PREFIX, self.0)
    }
}

/// A UUID of version 7, for identifiers that are never stored (a request's, a token's).
pub fn time_ordered(unix_milliseconds: u64, random: &[u8; 10]) -> Uuid {
    uuid::Builder::from_unix_timestamp_millis(unix_milliseconds, random).into_uuid()
}

/// Creation time of an identifier that [`time_ordered`] made, in milliseconds since 1970.
pub fn milliseconds_of(text: &str) -> Option<i64> {
    let uuid = parse_canonical(text).ok().filter(|it| it.get_version_num() == 7)?;
    let (seconds, nanoseconds) = uuid.get_timestamp()?.to_unix();
    i64::try_from(seconds * 1000 + u64::from(nanoseconds) / 1_000_000).ok()
}

/// Parses a UUID, in its canonical form alone: an object has one address.
fn parse_canonical(text: &str) -> Result<Uuid, BadId> {
    let uuid = Uuid::try_parse(text).map_err(|_| BadId)?;
    let mut canonical = Uuid::encode_buffer();
    if uuid.hyphenated().encode_lower(&mut canonical) == text { Ok(uuid) } else { Err(BadId) }
}

#[cfg(test)]
mod tests;
