//! Tools that the tests of several crates share: empty schemas in PostgreSQL, direct statements, a faulty network link,
//! a subscriber of events, seeded random numbers, the fuzzer's seeds, a load on replicas with checks of its history, and a record of tried
//! faults.

mod faulty_link;
pub mod history;
mod record;
mod seeded_random;
mod seeds;
mod signal;
mod subscriber;

pub use faulty_link::FaultyLink;
pub use record::record;
pub use seeded_random::SeededRandom;
pub use seeds::{FuzzTarget, hold_seeds};
pub use signal::{Signal, signal};
pub use subscriber::{Message, Subscriber};

/// The URL of an empty schema, named after the test. Drops the leftovers of an earlier run.
///
/// # Panics
///
/// When there is no PostgreSQL: a test that can't run has failed, and says how to make it run.
pub async fn empty_schema(name: &str) -> String {
    let url = url_from("TEST_POSTGRES_URL");
    execute(&url, &format!("DROP SCHEMA IF EXISTS {name} CASCADE; CREATE SCHEMA {name}")).await;
    // One test enables encryption on the server for a moment.
    format!("{url}?sslmode=disable&options=-c%20search_path%3D{name}")
}

/// The URL of an empty database behind a pooler, named after the test. A pooler accepts no settings for a connection,
/// so a schema doesn't suffice.
///
/// # Panics
///
/// When there is no PostgreSQL, or no pooler for it.
pub async fn empty_pooled_database(name: &str) -> String {
    let (url, pooled) = (url_from("TEST_POSTGRES_URL"), url_from("TEST_PGBOUNCER_URL"));
    // Separately: they can't be part of a transaction.
    execute(&url, &format!("DROP DATABASE IF EXISTS {name} WITH (FORCE)")).await;
    execute(&url, &format!("CREATE DATABASE {name} TEMPLATE template0")).await;
    let (server, _) = pooled.rsplit_once('/').expect("a URL ends with the database");
    format!("{server}/{name}")
}

fn url_from(variable: &str) -> String {
    std::env::var(variable).unwrap_or_else(|_| {
        panic!(
            "these tests need PostgreSQL and PgBouncer: run `cargo xtask test`, or start them with \
             `cargo xtask postgres` and set {variable} as it says"
        )
    })
}

/// Runs statements without gatehouse.
///
/// # Panics
///
/// When they fail.
pub async fn execute(url: &str, sql: &str) {
    let (client, connection) = tokio_postgres::connect(url, tokio_postgres::NoTls)
        .await
        .expect("PostgreSQL is where TEST_POSTGRES_URL says");
    let connection = tokio::spawn(connection);
    client.batch_execute(sql).await.expect("the statements run");
    drop(client);
    let ended = connection.await.expect("the connection does not panic");
    ended.expect("the connection ends well");
}
