//! What a simulated platform is like.

use std::fmt;

use gatehouse_core::PlatformName;
use gatehouse_core::product::Connectivity;

use super::draw::draw_for;
use super::profile::{LATENCY_MS_MAX, Profile};

/// Most connections in an account.
pub const CONNECTIONS_MAX: u32 = 1_000_000;

/// Most connections on a page that a platform may allow.
pub const PAGE_SIZE_MAX: u32 = 1000;

/// Most identifiers in one question that a platform may allow.
pub const LOOK_UP_MAX: u32 = 100;

/// What a simulated platform is like. All its accounts have equally many connections, each its own.
#[derive(Clone, Debug)]
pub struct Platform {
    /// Its canonical name.
    pub name: PlatformName,
    /// How its lists are paged through.
    pub paging: PagingKind,
    /// How its connections are made.
    pub connectivity: Connectivity,
    /// How many connections each account has, up to [`CONNECTIONS_MAX`].
    pub n_connections: u32,
    /// Most connections on a page, 1 to [`PAGE_SIZE_MAX`].
    pub page_size_max: u32,
    /// Most identifiers in one question, 1 to [`LOOK_UP_MAX`].
    pub look_up_max: u32,
    /// Whether ICCIDs are shown with their check digit, which makes them 20 digits long.
    pub shows_check_digit: bool,
    /// What everything is drawn from, together with the platform's name.
    pub seed: u64,
    /// How it behaves at first.
    pub profile: Profile,
    /// Which tokens are accepted.
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
    /// Three that differ in all that matters: one for each way to page, and one of them with satellites.
    pub fn usual() -> [Self; 3] {
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

    /// What everything about the platform is drawn from: two of one seed have nothing in common.
    pub(super) fn origin(&self) -> u64 {
        draw_for(self.seed, self.name.as_str())
    }

    /// Says which number is out of bounds, if one is.
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

/// How a platform's lists are paged through.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PagingKind {
    /// By numbered pages.
    Page,
    /// By the number of connections before.
    Offset,
    /// By a mark that each page gives for the next.
    Cursor,
}

impl PagingKind {
    /// Every kind.
    pub const ALL: [Self; 3] = [Self::Page, Self::Offset, Self::Cursor];

    /// The kind as settings name it.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Page => "page",
            Self::Offset => "offset",
            Self::Cursor => "cursor",
        }
    }

    /// The kind that is named so.
    pub fn named(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|kind| kind.as_str() == name)
    }
}

/// The tokens that a platform accepts; without any, every token is good.
#[derive(Clone, Default, PartialEq, Eq)]
pub struct Tokens(Vec<String>);

impl Tokens {
    /// Only these.
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
