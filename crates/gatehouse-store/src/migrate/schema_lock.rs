//! The lock that a program holds while it changes the schema.

use crate::db::{Dialect, Tx};
use crate::error::StoreError;

/// How long a step waits for a lock before it lets those pass who wait behind it, in milliseconds.
const LOCK_MILLISECONDS_MAX: u32 = 3000;

/// Lets one program at a time change the schema, or look whether it may work with it.
pub(crate) async fn take(tx: &Tx) -> Result<(), StoreError> {
    if tx.dialect() == Dialect::Sqlite {
        // Its transactions are exclusive anyway.
        return Ok(());
    }
    // Held until the commit, however long the steps of another program take.
    tx.script("LOCK TABLE schema_version IN SHARE ROW EXCLUSIVE MODE").await?;
    // Statements that come after one which waits for a lock wait too, so it must not wait for long.
    tx.script(&format!("SET LOCAL lock_timeout = {LOCK_MILLISECONDS_MAX}")).await
}
