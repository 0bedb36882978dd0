//! A token's rights: its scopes, and its tenants.

use std::collections::BTreeSet;

use crate::ids::TenantName;

/// Kind of operation that a token allows. No scope implies another.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Scope {
    /// Read accesses, contracts and Tasks.
    AccessRead,
    /// Create and change accesses.
    AccessWrite,
    /// Check a device's credentials.
    AccessVerify,
    /// Read connection products and accounts.
    ProductRead,
    /// Read events.
    EventRead,
    /// Manage subscribers of events.
    EventWrite,
    /// Manage tenants, contracts, accounts and clients.
    Admin,
}

impl Scope {
    /// Every scope.
    pub const ALL: [Self; 7] = [
        Self::AccessRead,
        Self::AccessWrite,
        Self::AccessVerify,
        Self::ProductRead,
        Self::EventRead,
        Self::EventWrite,
        Self::Admin,
    ];

    /// The scope's word in a token.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::AccessRead => "access:read",
            Self::AccessWrite => "access:write",
            Self::AccessVerify => "access:verify",
            Self::ProductRead => "product:read",
            Self::EventRead => "event:read",
            Self::EventWrite => "event:write",
            Self::Admin => "admin",
        }
    }

    /// The scope with this word.
    pub fn from_word(word: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|scope| scope.as_str() == word)
    }
}

/// The tenants that a token covers.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Tenants {
    /// Every tenant, also future ones: `*`.
    All,
    /// Only these.
    Named(BTreeSet<String>),
}

impl Tenants {
    /// The word that stands for every tenant.
    pub const ALL_WORD: &str = "*";

    /// Parses a token's tenants.
    pub fn from_words<'a>(words: impl IntoIterator<Item = &'a str>) -> Self {
        let names: BTreeSet<String> = words.into_iter().map(str::to_owned).collect();
        if names.contains(Self::ALL_WORD) { Self::All } else { Self::Named(names) }
    }

    /// The tenants in a token's words, in order.
    pub fn words(&self) -> impl Iterator<Item = &str> {
        let (all, named) = match self {
            Self::All => (Some(Self::ALL_WORD), None),
            Self::Named(names) => (None, Some(names)),
        };
        all.into_iter().chain(named.into_iter().flatten().map(String::as_str))
    }
}

/// Rights of a token.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Rights {
    /// Tenants that the token covers.
    pub tenants: Tenants,
    /// Operations that the token allows.
    pub scopes: BTreeSet<Scope>,
}

impl Rights {
    /// Whether the token covers this tenant, which may or may not exist.
    pub fn cover(&self, tenant: &TenantName) -> bool {
        match &self.tenants {
            Tenants::All => true,
            Tenants::Named(names) => names.contains(tenant.as_str()),
        }
    }

    /// Whether the token covers every tenant.
    pub fn cover_all(&self) -> bool {
        self.tenants == Tenants::All
    }

    /// Whether the token allows this kind of operation.
    pub fn allow(&self, scope: Scope) -> bool {
        self.scopes.contains(&scope)
    }
}

/// Why a list of scopes is malformed; continues after the field's name.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum BadScopes {
    /// A word is no scope.
    #[error("must hold scopes with spaces between, and `{0}` is none; they are {known}", known = all_words())]
    Unknown(String),
    /// There is no scope.
    #[error("must hold one scope or more, with spaces between; they are {}", all_words())]
    None,
}

fn all_words() -> String {
    Scope::ALL.map(Scope::as_str).join(", ")
}

/// Parses a space-separated list of scopes. Every word must be a scope.
pub fn parse_scopes(words: &str) -> Result<BTreeSet<Scope>, BadScopes> {
    let known = |word: &str| {
        let unknown = || BadScopes::Unknown(word.chars().take(64).collect());
        Scope::from_word(word).ok_or_else(unknown)
    };
    let scopes = words.split_ascii_whitespace().map(known).collect::<Result<BTreeSet<_>, _>>()?;
    if scopes.is_empty() { Err(BadScopes::None) } else { Ok(scopes) }
}

/// Scopes in a token's words.
pub fn scopes_to_words(scopes: &BTreeSet<Scope>) -> String {
    let words: Vec<&str> = scopes.iter().map(|scope| scope.as_str()).collect();
    words.join(" ")
}

/// Parses a space-separated list of scopes. Other words give no right.
pub fn scopes_from_words(words: &str) -> BTreeSet<Scope> {
    words.split_ascii_whitespace().filter_map(Scope::from_word).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_scope_implies_another() {
        for scope in Scope::ALL {
            let rights =
                Rights { tenants: Tenants::All, scopes: scopes_from_words(scope.as_str()) };
            for other in Scope::ALL {
                assert_eq!(rights.allow(other), other == scope, "{scope:?} {other:?}");
            }
        }
    }

    #[test]
    fn a_star_covers_every_tenant_and_a_name_covers_itself() {
        let acme: TenantName = "acme".parse().unwrap();
        let rights = |words: &[&str]| Rights {
            tenants: Tenants::from_words(words.iter().copied()),
            scopes: BTreeSet::new(),
        };
        assert!(rights(&["*"]).cover(&acme) && rights(&["x", "*"]).cover_all());
        assert!(rights(&["acme"]).cover(&acme) && !rights(&["acme"]).cover_all());
        assert!(!rights(&["Acme"]).cover(&acme) && !rights(&[]).cover(&acme));
        for (given, words) in
            [(&["b", "a", "b"][..], &["a", "b"][..]), (&["a", "*"], &["*"]), (&[], &[])]
        {
            assert_eq!(rights(given).tenants.words().collect::<Vec<_>>(), words);
        }
    }

    #[test]
    fn every_word_of_a_granted_list_must_be_a_scope() {
        let scopes = parse_scopes(" admin access:read admin").unwrap();
        assert_eq!(scopes_to_words(&scopes), "access:read admin");
        let error = parse_scopes("access:read acess:write").unwrap_err().to_string();
        assert!(error.contains("`acess:write`") && error.contains("access:write,"), "{error}");
        assert_eq!(parse_scopes(" "), Err(BadScopes::None));
    }

    #[test]
    fn words_that_are_no_scopes_give_no_right() {
        let scopes = scopes_from_words("openid access:read  profile");
        assert_eq!(scopes.into_iter().collect::<Vec<_>>(), [Scope::AccessRead]);
    }
}
