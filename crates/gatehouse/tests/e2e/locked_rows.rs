//! Rows locked by the test, so that a creation takes as long as the test needs.

use super::process::{Setup, WAIT_LIMIT};

/// The tenants' counters, locked until `release`.
pub(crate) struct LockedRows {
    client: tokio_postgres::Client,
    schema: String,
}

impl LockedRows {
    pub(crate) async fn rows_of(setup: &Setup) -> Self {
        let url = setup.database_url.as_ref().expect("SQLite has no rows to hold");
        let (client, connection) =
            tokio_postgres::connect(url, tokio_postgres::NoTls).await.unwrap();
        tokio::spawn(connection);
        let schema = client.query_one("SELECT current_schema()", &[]).await.unwrap().get(0);
        client.batch_execute("BEGIN; SELECT 1 FROM counter FOR UPDATE").await.unwrap();
        Self { client, schema }
    }

    /// Waits until a server waits for the lock.
    pub(crate) async fn until_awaited(&self) {
        let sql = "SELECT COUNT(*) FROM pg_locks l JOIN pg_class c ON c.oid = l.relation \
                   JOIN pg_stat_activity a USING (pid) JOIN pg_namespace n ON n.oid = c.relnamespace \
                   WHERE c.relname = 'counter' AND a.wait_event_type = 'Lock' AND n.nspname = $1";
        let began = std::time::Instant::now();
        loop {
            let n: i64 = self.client.query_one(sql, &[&self.schema]).await.unwrap().get(0);
            if n > 0 {
                return;
            }
            assert!(began.elapsed() < WAIT_LIMIT, "no transaction waits for the lock");
        }
    }

    pub(crate) async fn release(&self) {
        self.client.batch_execute("ROLLBACK").await.unwrap();
    }
}
