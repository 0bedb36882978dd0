//! What the tests of several crates share: an empty place in PostgreSQL, a hand inside it, and dice.

mod dice;

pub use dice::Dice;

/// The address of an empty schema, named after the test. Whatever an earlier run left there is gone.
///
/// # Panics
///
/// When there is no PostgreSQL: a test that can't run has failed, and says how to make it run.
pub async fn empty_schema(name: &str) -> String {
    let url = std::env::var("TEST_POSTGRES_URL").expect(
        "these tests need PostgreSQL: run `cargo xtask test`, or start one with \
         `cargo xtask postgres` and set TEST_POSTGRES_URL as it says",
    );
    execute(&url, &format!("DROP SCHEMA IF EXISTS {name} CASCADE; CREATE SCHEMA {name}")).await;
    format!("{url}?options=-c%20search_path%3D{name}")
}

/// Runs statements behind gatehouse's back.
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
