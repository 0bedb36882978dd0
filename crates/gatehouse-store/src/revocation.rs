//! Revoked tokens: those of deleted clients and tenants, and single tokens.
//!
//! A revocation is stored in the transaction that deletes the client or tenant, so that no token outlives its owner.
//! Servers read the revocations continuously.

use gatehouse_core::Timestamp;
use gatehouse_core::event::{Entry, Origin};

use crate::Store;
use crate::db::{Row, Tx, WriteKind};
use crate::error::StoreError;
use crate::journal::{Journal, new_events};

/// Kind of a revocation.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum RevocationKind {
    /// A client, by its identifier: it gets no more tokens.
    Client,
    /// A tenant, by its name: another tenant of this name may be created.
    Tenant,
    /// A single token, by its identifier (`jti`).
    Token,
}

/// Revokes all tokens of a client or tenant that were issued before it, or a single token.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Revocation {
    /// The kind.
    pub kind: RevocationKind,
    /// Identifier of the client or token, or name of the tenant.
    pub name: String,
    /// When the tokens were revoked.
    pub at: Timestamp,
}

const DAY_MILLISECONDS: i64 = 24 * 60 * 60 * 1000;

/// Longest lifetime of a client's token, and a day for clocks that differ.
const CLIENT_KEPT_MILLISECONDS: i64 = 2 * DAY_MILLISECONDS;

/// Longest lifetime of any other token, and a day for clocks that differ.
const OTHER_KEPT_MILLISECONDS: i64 = 3661 * DAY_MILLISECONDS;

impl RevocationKind {
    const ALL: [Self; 3] = [Self::Client, Self::Tenant, Self::Token];

    fn as_str(self) -> &'static str {
        match self {
            Self::Client => "client",
            Self::Tenant => "tenant",
            Self::Token => "token",
        }
    }

    fn kept_milliseconds(self) -> i64 {
        match self {
            Self::Client => CLIENT_KEPT_MILLISECONDS,
            Self::Tenant | Self::Token => OTHER_KEPT_MILLISECONDS,
        }
    }
}

impl Store {
    /// Revokes a token; returns the stored revocation.
    pub async fn revoke_token(&self, id: &str, origin: &Origin) -> Result<Revocation, StoreError> {
        let (id, origin) = (id.to_owned(), origin.clone());
        self.db
            .write(WriteKind::Server, async move |tx| {
                let entry = Entry::TokenRevoke(id.clone(), origin);
                new_events::write_all(&tx, &Journal::EstateAudit, &[entry]).await?;
                record_in(&tx, RevocationKind::Token, &id).await
            })
            .await
    }

    /// All revocations whose tokens may not have expired yet. They are few: a client's is deleted after two days.
    pub async fn revocations(&self) -> Result<Vec<Revocation>, StoreError> {
        let sql = "SELECT kind, name, ended_at FROM ended ORDER BY ended_at";
        Ok(self.db.rows(sql, &[], read).await?.into_iter().flatten().collect())
    }
}

/// Stores a revocation as of now, and deletes those whose tokens have all expired.
pub(crate) async fn record_in(
    tx: &Tx,
    kind: RevocationKind,
    name: &str,
) -> Result<Revocation, StoreError> {
    let now = tx.now().await?;
    tx.execute("DELETE FROM ended WHERE forget_at < ?1", &[now.into()]).await?;
    let sql = "INSERT INTO ended (kind, name, ended_at, forget_at) VALUES (?1, ?2, ?3, ?4) \
               ON CONFLICT (kind, name) DO UPDATE SET ended_at = excluded.ended_at, \
               forget_at = excluded.forget_at";
    let forget_at = now.plus_milliseconds(kind.kept_milliseconds());
    tx.execute(sql, &[kind.as_str().into(), name.into(), now.into(), forget_at.into()]).await?;
    Ok(Revocation { kind, name: name.to_owned(), at: now })
}

/// Reads a revocation; `None` for a kind that only a newer program knows.
fn read(row: &Row<'_>) -> Result<Option<Revocation>, StoreError> {
    let word = row.text(0)?;
    let kind = RevocationKind::ALL.into_iter().find(|it| it.as_str() == word);
    let Some(kind) = kind else { return Ok(None) };
    Ok(Some(Revocation { kind, name: row.text(1)?, at: row.time(2)? }))
}
