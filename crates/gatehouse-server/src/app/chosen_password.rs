//! The password that a client chooses for a new access, in one of two forms.

use gatehouse_core::credential::Password;
use gatehouse_vault::ForeignHash;

/// A chosen password.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ChosenPassword {
    /// The password itself.
    Clear(Password),
    /// Its hash, which another program made. The password can't be shown.
    Hash(ForeignHash),
}

impl ChosenPassword {
    /// The password of these two fields, of which a body holds one at most.
    pub fn of_fields(clear: Option<Password>, hash: Option<ForeignHash>) -> Option<Self> {
        clear.map(Self::Clear).or(hash.map(Self::Hash))
    }

    /// The password itself, where the client gave it.
    pub fn clear(&self) -> Option<&Password> {
        match self {
            Self::Clear(password) => Some(password),
            Self::Hash(_) => None,
        }
    }
}
