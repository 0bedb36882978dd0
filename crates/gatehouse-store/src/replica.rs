//! The servers that are there: each says so every second, and who has been silent for a while is gone.
//!
//! They are ordered by identifiers that mean nothing, so a server keeps its place as long as nobody before it
//! comes or goes. Times are the database's, which are the same for all of them.

use futures_util::future::try_join;
use gatehouse_core::{Slice, Timestamp};

use crate::Store;
use crate::db::{Line, Row};
use crate::error::StoreError;
use crate::migrate;

/// How long a server counts that is not heard of.
pub const ALIVE_MILLISECONDS: i64 = 5000;

/// How long what is known of one is kept that is gone.
const KEPT_MILLISECONDS: i64 = 24 * 60 * 60 * 1000;

/// What a server says of itself.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Replica {
    /// Drawn when it starts.
    pub id: [u8; 16],
    /// Of the program.
    pub version: String,
    /// The name of its machine.
    pub host: String,
    /// The address that it listens on there.
    pub listen: String,
    /// The short name of the master key that it makes what is new with.
    pub key_name: String,
}

/// A server that is there.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SeenReplica {
    /// What it says of itself.
    pub replica: Replica,
    /// Since when it is there.
    pub joined_at: Timestamp,
    /// When it was last heard of.
    pub seen_at: Timestamp,
}

impl Store {
    /// Whether other servers may use the same store.
    pub fn is_shared(&self) -> bool {
        self.db.is_shared()
    }

    /// Says that a server is there, and tells its place among those that are.
    ///
    /// It looks after it is written down, not in the same transaction: of servers that come at the same
    /// moment, all but the first then see one another.
    pub async fn beat(&self, replica: &Replica) -> Result<Slice, StoreError> {
        let own = replica.clone();
        self.db
            .write(Line::Beats, async move |tx| {
                let now = tx.now().await?;
                let said = "INSERT INTO replica \
                            (id, joined_at, seen_at, version, host, listen, key_name, knows) \
                            VALUES (?1, ?2, ?2, ?3, ?4, ?5, ?6, ?7) \
                            ON CONFLICT (id) DO UPDATE SET seen_at = excluded.seen_at";
                let (version, host) = (own.version.as_str().into(), own.host.as_str().into());
                let (listen, key_name) = (own.listen.as_str().into(), own.key_name.as_str().into());
                let knows = migrate::newest().into();
                let values =
                    [own.id[..].into(), now.into(), version, host, listen, key_name, knows];
                let forgotten = "DELETE FROM replica WHERE seen_at < ?1";
                let before = [now.plus_milliseconds(-KEPT_MILLISECONDS).into()];
                try_join(tx.execute(said, &values), tx.execute(forgotten, &before)).await?;
                Ok::<_, StoreError>(())
            })
            .await?;
        let all = self.replicas().await?;
        // Whoever was held up for long in between counts all the same: it is about to go on.
        let before = all.iter().filter(|it| it.replica.id < replica.id).count();
        let behind = all.iter().filter(|it| it.replica.id > replica.id).count();
        let (rank, of) = (u32::try_from(before), u32::try_from(before + 1 + behind));
        let slice = rank.ok().zip(of.ok()).and_then(|(rank, of)| Slice::new(rank, of));
        slice.ok_or_else(|| StoreError::corrupt("there are more servers than can be counted"))
    }

    /// Says that a server is gone, so that the others need not wait for it.
    pub async fn leave(&self, id: [u8; 16]) -> Result<(), StoreError> {
        let sql = "DELETE FROM replica WHERE id = ?1";
        self.db
            .write(Line::Own, async move |tx| tx.execute(sql, &[id[..].into()]).await.map(drop))
            .await
    }

    /// The servers that are there, in their order.
    pub async fn replicas(&self) -> Result<Vec<SeenReplica>, StoreError> {
        let now = self.now().await?;
        // What was heard in the future was heard before the clock was set back.
        let sql = "SELECT id, joined_at, seen_at, version, host, listen, key_name FROM replica \
                   WHERE seen_at > ?1 AND seen_at < ?2 ORDER BY id";
        let (from, to) =
            (now.plus_milliseconds(-ALIVE_MILLISECONDS), now.plus_milliseconds(ALIVE_MILLISECONDS));
        self.db.rows(sql, &[from.into(), to.into()], read).await
    }
}

fn read(row: &Row<'_>) -> Result<SeenReplica, StoreError> {
    let id = row.bytes(0)?.try_into();
    let id = id.map_err(|_| StoreError::corrupt("a replica's identifier has 16 bytes"))?;
    let (version, host, listen, key_name) =
        (row.text(3)?, row.text(4)?, row.text(5)?, row.text(6)?);
    Ok(SeenReplica {
        replica: Replica { id, version, host, listen, key_name },
        joined_at: row.time(1)?,
        seen_at: row.time(2)?,
    })
}
