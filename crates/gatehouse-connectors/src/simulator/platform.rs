//! Configuration of a simulated platform.

use std::fmt;

use gatehouse_core::PlatformName;
use gatehouse_core::product::Connectivity;

use super::profile::{LATENCY_MS_MAX, Profile};
use super::pseudo_random::pseudo_random_from_text;

/// Most connections in an account.
pub const CONNECTIONS_MAX: u32 = 1_000_000;

/// Upper bound of a platform's page size.
pub const PAGE_SIZE_MAX: u32 = 1000;

/// Upper bound of a platform's identifiers in one request.
pub const LOOK_UP_MAX: u32 = 100;

/// Configuration of a simulated platform. Accounts have equally many connections, none shared.
#[derive(Clone, Debug)]
pub struct Platform {
    /// The canonical name.
    pub name: PlatformName,
    /// Paging of its lists.
    pub paging: PagingKind,
    /// Connectivity of its connections.
    pub connectivity: Connectivity,
    /// Connections of each account, up to [`CONNECTIONS_MAX`].
    pub n_connections: u32,
    /// Most connections on a page, 1 to [`PAGE_SIZE_MAX`].
    pub page_size_max: u32,
    /// Most identifiers in one request, 1 to [`LOOK_UP_MAX`].
    pub look_up_max: u32,
    /// Whether ICCIDs are shown with their check digit, which makes them 20 digits long.
    pub shows_check_digit: bool,
    /// Seed of all pseudo-random numbers, together with the platform's name.
    pub seed: u64,
    /// The initial profile.
    pub profile: Profile,
    /// The accepted tokens.
    pub tokens: Tokens,
}

impl Default for Platform {
    fn default() -> Self {
        Self {
            name: "ALPHA".parse().expect("`ALPHA` is the name of a platform"),
            paging: PagingKind::Page,
            connectivity: Connectivity::Cellular,
            n_connections: 1000,
            page_size_max: 100,
            look_up_max: 100,
            shows_check_digit: false,
            seed: 1,
            profile: Profile::default(),
            tokens: Tokens::default(),
        }
    }
}

impl Platform {
    /// Three platforms, one for each kind of paging; one has satellite terminals.
    pub fn default_set() -> [Self; 3] {
        let name = |name: &str| name.parse().expect("a platform may have this name");
        [
            Self::default(),
            Self {
                name: name("BETA"),
                paging: PagingKind::Offset,
                shows_check_digit: true,
                ..Self::default()
            },
            Self {
                name: name("GAMMA"),
                paging: PagingKind::Cursor,
                connectivity: Connectivity::Satellite,
                ..Self::default()
            },
        ]
    }

    /// Seed of this platform: platforms with equal `seed` differ by their names.
    pub(super) fn platform_seed(&self) -> u64 {
        pseudo_random_from_text(self.seed, self.name.as_str())
    }

    /// Checks the bounds; the error names a number out of bounds.
    pub fn check(&self) -> Result<(), String> {
        let bounds = [
            ("connections", self.n_connections, 0, CONNECTIONS_MAX),
            ("page-size-max", self.page_size_max, 1, PAGE_SIZE_MAX),
            ("look-up-max", self.look_up_max, 1, LOOK_UP_MAX),
            ("latency in milliseconds", self.profile.latency_ms, 0, LATENCY_MS_MAX),
        ];
        for (name, number, min, max) in bounds {
            if !(min..=max).contains(&number) {
                return Err(format!("{name} must be {min} to {max}, not {number}"));
            }
        }
        Ok(())
    }
}

/// Paging of a platform's lists.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PagingKind {
    /// Numbered pages.
    Page,
    /// An offset: the number of connections before the page.
    Offset,
    /// A cursor that each page gives for the next one.
    Cursor,
}

impl PagingKind {
    /// Every kind.
    pub const ALL: [Self; 3] = [Self::Page, Self::Offset, Self::Cursor];

    /// Name of the kind in settings.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Page => "page",
            Self::Offset => "offset",
            Self::Cursor => "cursor",
        }
    }
}

/// The tokens that a platform accepts; an empty list accepts every token.
#[derive(Clone, Default, PartialEq, Eq)]
pub struct Tokens(Vec<String>);

impl Tokens {
    /// Accepts only these tokens.
    pub fn only(tokens: Vec<String>) -> Self {
        Self(tokens)
    }

    pub(super) fn accept(&self, token: &str) -> bool {
        !token.is_empty() && (self.0.is_empty() || self.0.iter().any(|known| known == token))
    }
}

impl fmt::Debug for Tokens {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Tokens(…)")
    }
}
