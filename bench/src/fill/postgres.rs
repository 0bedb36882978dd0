//! Fills PostgreSQL with a binary COPY. Then counts and analyses everything, as it would have happened in the months of
//! ten million creations.

use std::pin::pin;

use tokio_postgres::binary_copy::BinaryCopyInWriter;
use tokio_postgres::types::Type;
use tokio_postgres::{Client, NoTls};

use super::counted_sets::hex;
use super::{COLUMNS, DriverError, Row, summary_script};
use crate::fleet::{Fleet, TENANT};

/// Fills the database at this URL.
pub(crate) async fn fill(url: &str, fleet: Fleet) -> Result<(), DriverError> {
    with_client(url, async |client| {
        client
            .batch_execute(
                "SET synchronous_commit = off; SET maintenance_work_mem = '512MB'; \
                 SET max_parallel_maintenance_workers = 2",
            )
            .await?;
        let indexes = read_indexes(client).await?;
        for (name, _) in &indexes {
            client.batch_execute(&format!("DROP INDEX {name}")).await?;
        }
        copy(client, fleet.accesses().map(|access| Row::new(fleet, &access))).await?;
        client
            .batch_execute(&summary_script(fleet, |bytes| format!("'\\x{}'", hex(bytes))))
            .await?;
        for (_, definition) in &indexes {
            client.batch_execute(definition).await?;
        }
        Ok(client.batch_execute("VACUUM ANALYZE").await?)
    })
    .await
}

/// Creates an empty database of this name; returns its URL.
pub(crate) async fn make_database(cluster_url: &str, name: &str) -> Result<String, DriverError> {
    with_client(cluster_url, async |client| {
        // Two statements: neither may run in a transaction with another.
        client.batch_execute(&format!("DROP DATABASE IF EXISTS {name}")).await?;
        Ok(client.batch_execute(&format!("CREATE DATABASE {name}")).await?)
    })
    .await?;
    let (server, _) = cluster_url.rsplit_once('/').ok_or("the address names no database")?;
    Ok(format!("{server}/{name}"))
}

/// The URL of a database that was filled in this run, and its mark.
pub(crate) async fn find_database(
    cluster_url: &str,
    name: &str,
) -> Result<Option<(String, i64)>, DriverError> {
    let sql = "SELECT shobj_description(oid, 'pg_database') FROM pg_database WHERE datname = $1";
    let text = with_client(cluster_url, async |client| {
        let rows = client.query(sql, &[&name]).await?;
        Ok(rows.first().and_then(|row| row.get::<_, Option<String>>(0)))
    });
    let Some(mark) = text.await?.and_then(|text| text.parse().ok()) else { return Ok(None) };
    let (server, _) = cluster_url.rsplit_once('/').ok_or("the address names no database")?;
    Ok(Some((format!("{server}/{name}"), mark)))
}

/// Marks a database as filled: with the time of its last creation.
pub(crate) async fn mark_database(
    cluster_url: &str,
    name: &str,
    latest_at: i64,
) -> Result<(), DriverError> {
    let sql = format!("COMMENT ON DATABASE {name} IS '{latest_at}'");
    with_client(cluster_url, async |client| Ok(client.batch_execute(&sql).await?)).await
}

/// Creates a copy of another database, which must not be open.
pub(crate) async fn copy_database(
    cluster_url: &str,
    from: &str,
    name: &str,
) -> Result<String, DriverError> {
    with_client(cluster_url, async |client| {
        client.batch_execute(&format!("DROP DATABASE IF EXISTS {name}")).await?;
        Ok(client.batch_execute(&format!("CREATE DATABASE {name} TEMPLATE {from}")).await?)
    })
    .await?;
    let (server, _) = cluster_url.rsplit_once('/').ok_or("the address names no database")?;
    Ok(format!("{server}/{name}"))
}

/// Version and process of the cluster.
#[derive(Clone, Debug)]
pub(crate) struct Cluster {
    pub(crate) version: String,
    /// A process of the cluster, by which its others can be found.
    pub(crate) process_id: i32,
}

pub(crate) async fn examine(cluster_url: &str) -> Result<Cluster, DriverError> {
    with_client(cluster_url, async |client| {
        let row = client.query_one("SHOW server_version", &[]).await?;
        // Distributions append their own text to the version.
        let version: &str = row.get(0);
        let version = version.split(' ').next().unwrap_or(version).to_owned();
        let row = client.query_one("SELECT pg_backend_pid()", &[]).await?;
        let backend: i32 = row.get(0);
        let process_id = crate::cpu::parent_of(backend)?;
        Ok(Cluster { version, process_id })
    })
    .await
}

/// Connects, runs the work and disconnects.
pub(crate) async fn with_client<T>(
    url: &str,
    work: impl AsyncFnOnce(&Client) -> Result<T, DriverError>,
) -> Result<T, DriverError> {
    let (client, connection) = tokio_postgres::connect(url, NoTls).await?;
    let connection = tokio::spawn(connection);
    let result = work(&client).await;
    drop(client);
    // A broken connection also breaks the work, which reports it.
    let _ = connection.await;
    result
}

/// Copies accesses into their table.
pub(crate) async fn copy(
    client: &Client,
    rows: impl Iterator<Item = Row>,
) -> Result<(), DriverError> {
    let constants = "tenant, is_terminating";
    let sql = format!("COPY access ({constants}, {COLUMNS}) FROM STDIN (FORMAT binary)");
    const TYPES: [Type; 18] = [
        Type::TEXT,
        Type::INT8,
        Type::INT8,
        Type::INT8,
        Type::INT8,
        Type::INT8,
        Type::BYTEA,
        Type::TEXT,
        Type::TEXT,
        Type::BYTEA,
        Type::TEXT,
        Type::TEXT,
        Type::TEXT,
        Type::INT8,
        Type::INT8,
        Type::INT8,
        Type::TEXT,
        Type::INT8,
    ];
    let mut writer = pin!(BinaryCopyInWriter::new(client.copy_in(&sql).await?, &TYPES));
    for row in rows {
        writer
            .as_mut()
            .write(&[
                &TENANT,
                &0_i64,
                &row.number,
                &row.offering_number,
                &row.contract_number,
                &row.job_number,
                &row.id.as_slice(),
                &row.contract_id,
                &row.offering_id,
                &row.job.as_ref().map(<[u8; 16]>::as_slice),
                &row.username,
                &row.password_hash,
                &row.device_name,
                &row.created_at,
                &row.end_at,
                &row.created_at,
                &row.status,
                &row.version,
            ])
            .await?;
    }
    writer.finish().await?;
    Ok(())
}

/// Replaces the password hashes of accesses, by their numbers.
pub(crate) async fn set_hashes(url: &str, hashes: &[(i64, String)]) -> Result<(), DriverError> {
    let (numbers, hashes): (Vec<i64>, Vec<&str>) =
        hashes.iter().map(|(number, hash)| (*number, hash.as_str())).unzip();
    let sql = format!(
        "UPDATE access SET password_hash = new.hash \
         FROM UNNEST($1::BIGINT[], $2::TEXT[]) AS new (number, hash) \
         WHERE access.tenant = '{TENANT}' AND access.number = new.number"
    );
    with_client(url, async |client| {
        client.execute(&sql, &[&numbers, &hashes]).await?;
        Ok(())
    })
    .await
}

/// Names and definitions of the indexes on `access`, without the primary key, in whose order the rows arrive.
async fn read_indexes(client: &Client) -> Result<Vec<(String, String)>, tokio_postgres::Error> {
    let sql = "SELECT indexname::text, indexdef FROM pg_indexes \
               WHERE schemaname = current_schema() AND tablename = 'access' \
               AND NOT EXISTS (SELECT 1 FROM pg_constraint \
                               WHERE conrelid = 'access'::regclass AND conname = indexname)";
    let rows = client.query(sql, &[]).await?;
    Ok(rows.iter().map(|row| (row.get(0), row.get(1))).collect())
}
