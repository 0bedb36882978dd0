use super::*;
use crate::StoreError;

#[tokio::test]
async fn opening_again_finds_the_schema_as_it_was_left() {
    for case in stores("opening_again_finds_the_schema").await {
        set_up(&case.store).await;
        let again = case.another().await.unwrap();
        assert!(again.tenant(&acme()).await.unwrap().is_some(), "{}", case.kind);
    }
}

#[tokio::test]
async fn a_newer_schema_is_refused_with_what_to_do() {
    for case in stores("a_newer_schema_is_refused").await {
        case.store
            .db
            .write(async |tx| {
                tx.execute("INSERT INTO schema_version (version) VALUES (?1)", &[99_i64.into()])
                    .await
            })
            .await
            .unwrap();
        let error = case.another().await.err().unwrap();
        assert!(matches!(error, StoreError::NewerSchema { found: 99, .. }), "{}", case.kind);
        assert!(error.to_string().contains("start the newer gatehouse"), "{error}");
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn servers_that_start_together_take_the_steps_once() {
    let url = empty_schema("servers_that_start_together").await;
    let starts = (0..8).map(|_| {
        let url = url.clone();
        tokio::spawn(async move { Store::open_postgres(&url, Clock::machine()).await.map(drop) })
    });
    for start in starts.collect::<Vec<_>>() {
        start.await.unwrap().unwrap();
    }
}

#[tokio::test]
async fn the_first_to_keep_a_key_wins() {
    for case in stores("the_first_to_keep_a_key_wins").await {
        assert_eq!(case.store.server_key("k").await.unwrap(), None);
        assert_eq!(case.store.keep_server_key("k", b"one").await.unwrap(), b"one");
        assert_eq!(case.store.keep_server_key("k", b"two").await.unwrap(), b"one", "{}", case.kind);
        assert_eq!(case.store.server_key("k").await.unwrap().unwrap(), b"one");
    }
}

#[tokio::test]
async fn a_lost_connection_is_made_again() {
    let url = empty_schema("a_lost_connection_is_made_again").await;
    let store = Store::open_postgres(&url, Clock::machine()).await.unwrap();
    set_up(&store).await;
    for n in 0..8 {
        // Ends the connection that it runs on, in the middle of a write.
        let lost = store
            .db
            .write(async |tx| tx.script("SELECT pg_terminate_backend(pg_backend_pid())").await);
        assert!(matches!(lost.await, Err(StoreError::Unavailable(_))));
        store.create_access(&acme(), new("c1", &format!("u{n}"))).await.unwrap().unwrap();
        store.ping().await.unwrap();
    }
}
