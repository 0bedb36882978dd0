//! The live servers: each sends a heartbeat every second, and counts as gone when none came for a while.
//!
//! Servers are ordered by random identifiers, so a server keeps its rank while no server before it comes or goes. Times
//! are the database's, and so the same for all servers.

use futures_util::future::try_join;
use gatehouse_core::{ReplicaShare, Timestamp};

use crate::Store;
use crate::db::{Row, WriteKind};
use crate::error::StoreError;
use crate::migrate;

/// Time without a heartbeat after which a server counts as gone.
pub const ALIVE_MILLISECONDS: i64 = 5000;

/// Time after which the row of a gone server is deleted.
const KEPT_MILLISECONDS: i64 = 24 * 60 * 60 * 1000;

/// A server, as it describes itself.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Replica {
    /// Random, drawn when the server starts.
    pub id: [u8; 16],
    /// Version of the program.
    pub version: String,
    /// Host name of the machine.
    pub host: String,
    /// Address that the server listens on.
    pub listen: String,
    /// Short name of the master key that the server hashes and seals with.
    pub key_name: String,
}

/// A server that is alive.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LiveReplica {
    /// The server's description of itself.
    pub replica: Replica,
    /// When the server sent its first heartbeat.
    pub joined_at: Timestamp,
    /// When the server sent its last heartbeat.
    pub seen_at: Timestamp,
}

impl Store {
    /// Whether several servers may use the store at the same time.
    pub fn is_shared(&self) -> bool {
        self.db.is_shared()
    }

    /// Records a server's heartbeat, and returns its rank among the live servers.
    ///
    /// Reads the others after the heartbeat is committed, not in the same transaction: of servers that start at the
    /// same moment, all but the first then see one another.
    pub async fn heartbeat(&self, replica: &Replica) -> Result<ReplicaShare, StoreError> {
        let own = replica.clone();
        self.db
            .write(WriteKind::Heartbeat, async move |tx| {
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
        // This server counts itself even if it was suspended in between: it is about to continue.
        let before = all.iter().filter(|it| it.replica.id < replica.id).count();
        let behind = all.iter().filter(|it| it.replica.id > replica.id).count();
        let (rank, of) = (u32::try_from(before), u32::try_from(before + 1 + behind));
        let share = rank.ok().zip(of.ok()).and_then(|(rank, of)| ReplicaShare::new(rank, of));
        share.ok_or_else(|| StoreError::corrupt("there are more servers than can be counted"))
    }

    /// Deletes a server's row, so that the others needn't wait until it counts as gone.
    pub async fn leave(&self, id: [u8; 16]) -> Result<(), StoreError> {
        let sql = "DELETE FROM replica WHERE id = ?1";
        self.db
            .write(WriteKind::Server, async move |tx| {
                tx.execute(sql, &[id[..].into()]).await.map(drop)
            })
            .await
    }

    /// The live servers, ordered by identifier.
    pub async fn replicas(&self) -> Result<Vec<LiveReplica>, StoreError> {
        let now = self.now().await?;
        // A heartbeat from the future came before the clock was set back.
        let sql = "SELECT id, joined_at, seen_at, version, host, listen, key_name FROM replica \
                   WHERE seen_at > ?1 AND seen_at < ?2 ORDER BY id";
        let (from, to) =
            (now.plus_milliseconds(-ALIVE_MILLISECONDS), now.plus_milliseconds(ALIVE_MILLISECONDS));
        self.db.rows(sql, &[from.into(), to.into()], read).await
    }
}

fn read(row: &Row<'_>) -> Result<LiveReplica, StoreError> {
    let id = row.bytes(0)?.try_into();
    let id = id.map_err(|_| StoreError::corrupt("a replica's identifier has 16 bytes"))?;
    let (version, host, listen, key_name) =
        (row.text(3)?, row.text(4)?, row.text(5)?, row.text(6)?);
    Ok(LiveReplica {
        replica: Replica { id, version, host, listen, key_name },
        joined_at: row.time(1)?,
        seen_at: row.time(2)?,
    })
}
