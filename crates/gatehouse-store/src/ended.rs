//! Whose tokens are no longer taken: clients and tenants that were deleted, and tokens that were revoked.
//!
//! It is written down with what ends it, in one transaction, so that nothing is gone whose tokens still work. Servers look
//! for it every moment.

use gatehouse_core::Timestamp;

use crate::Store;
use crate::db::{Line, Row, Tx};
use crate::error::StoreError;

/// What has ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum EndedKind {
    /// A client, by its identifier: it gets no more tokens.
    Client,
    /// A tenant, by its name: another one may be made under it.
    Tenant,
    /// A token, by its own identifier (`jti`).
    Token,
}

/// Something of which no token is taken that was issued before it ended.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Ended {
    /// What it is.
    pub kind: EndedKind,
    /// Which one.
    pub name: String,
    /// When it ended.
    pub at: Timestamp,
}

const DAY_MILLISECONDS: i64 = 24 * 60 * 60 * 1000;

/// How long a client's tokens can be good at most, and a day besides for clocks that disagree.
const CLIENT_KEPT_MILLISECONDS: i64 = 2 * DAY_MILLISECONDS;

/// How long any other token can be good, and a day besides.
const OTHER_KEPT_MILLISECONDS: i64 = 3661 * DAY_MILLISECONDS;

impl EndedKind {
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
    /// Says that a token is taken no more; when that is.
    pub async fn end_token(&self, id: &str) -> Result<Ended, StoreError> {
        let id = id.to_owned();
        self.db.write(Line::Own, async move |tx| write_in(&tx, EndedKind::Token, &id).await).await
    }

    /// All that has ended, and may have tokens. It is little: clients stand here for two days.
    pub async fn ended(&self) -> Result<Vec<Ended>, StoreError> {
        let sql = "SELECT kind, name, ended_at FROM ended ORDER BY ended_at";
        Ok(self.db.rows(sql, &[], read).await?.into_iter().flatten().collect())
    }
}

/// Writes down that something has ended just now, and forgets what no token can be left of.
pub(crate) async fn write_in(tx: &Tx, kind: EndedKind, name: &str) -> Result<Ended, StoreError> {
    let now = tx.now().await?;
    tx.execute("DELETE FROM ended WHERE forget_at < ?1", &[now.into()]).await?;
    let sql = "INSERT INTO ended (kind, name, ended_at, forget_at) VALUES (?1, ?2, ?3, ?4) \
               ON CONFLICT (kind, name) DO UPDATE SET ended_at = excluded.ended_at, \
               forget_at = excluded.forget_at";
    let forget_at = now.plus_milliseconds(kind.kept_milliseconds());
    tx.execute(sql, &[kind.as_str().into(), name.into(), now.into(), forget_at.into()]).await?;
    Ok(Ended { kind, name: name.to_owned(), at: now })
}

/// Nothing where a program of tomorrow has ended something that is unknown today.
fn read(row: &Row<'_>) -> Result<Option<Ended>, StoreError> {
    let word = row.text(0)?;
    let kind = EndedKind::ALL.into_iter().find(|it| it.as_str() == word);
    let Some(kind) = kind else { return Ok(None) };
    Ok(Some(Ended { kind, name: row.text(1)?, at: row.time(2)? }))
}
