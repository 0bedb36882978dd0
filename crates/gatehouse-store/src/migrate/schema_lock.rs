//! The lock that a program holds while it changes the schema.

use crate::db::{Dialect, Tx};
use crate::error::StoreError;

/// Time that a step waits for a lock, in milliseconds, before it lets the statements pass that wait behind it.
const LOCK_MILLISECONDS_MAX: u32 = 3000;

/// Lets one program at a time change the schema, or check whether it can work with it.
pub(crate) async fn take(tx: &Tx) -> Result<(), StoreError> {
    if tx.dialect() == Dialect::Sqlite {
        // SQLite's write transactions are exclusive.
        return Ok(());
    }
    // Waits for the steps of another program, however long they take.
    tx.script("LOCK TABLE schema_version IN SHARE ROW EXCLUSIVE MODE").await?;
    // Statements behind one that waits for a lock wait too, so it must not wait for long.
    tx.script(&format!("SET LOCAL lock_timeout = {LOCK_MILLISECONDS_MAX}")).await
}
