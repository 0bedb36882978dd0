use super::*;
use crate::work::tests::apps;
use gatehouse_core::ReplicaShare;
use gatehouse_store::ALIVE_MILLISECONDS;

fn listen() -> SocketAddr {
    ([127, 0, 0, 1], 8080).into()
}

#[tokio::test]
async fn a_server_takes_its_slice_and_gives_it_back() {
    for (kind, app, _dir) in apps("takes_its_slice").await {
        let presence = Presence::begin(&app, listen()).await.unwrap();
        assert_eq!(app.share.get(), ReplicaShare::WHOLE, "{kind}");
        assert_eq!(app.meter.replicas.get(), 1, "{kind}");
        // On the embedded store there is nobody else.
        let Some(presence) = presence else {
            assert_eq!((kind, app.store.replicas().await.unwrap()), ("SQLite", Vec::new()));
            continue;
        };
        let there = app.store.replicas().await.unwrap();
        assert_eq!((there.len(), there[0].replica.listen.as_str()), (1, "127.0.0.1:8080"));

        // Behind every other, so that its place is known.
        let (version, host, listen) = ("1".to_owned(), "other".to_owned(), "x".to_owned());
        let key_name = app.vault.key_name().to_owned();
        let other = Replica { id: [u8::MAX; 16], version, host, listen, key_name };
        app.store.heartbeat(&other).await.unwrap();
        presence.beat().await.unwrap();
        assert_eq!(app.share.get(), ReplicaShare::new(0, 2).unwrap());
        assert_eq!(app.platforms.slice().get(), app.share.get(), "its lines look at the same");
        assert_eq!(app.meter.replicas.get(), 2);

        // The other dies.
        app.clock.set(app.clock.now().plus_milliseconds(ALIVE_MILLISECONDS));
        presence.beat().await.unwrap();
        assert_eq!((app.share.get(), app.meter.replicas.get()), (ReplicaShare::WHOLE, 1));

        let stopping = CancellationToken::new();
        stopping.cancel();
        presence.keep(stopping).await;
        assert_eq!(app.store.replicas().await.unwrap(), Vec::new(), "whoever stops says so");
    }
}

#[tokio::test]
async fn a_server_that_is_not_heard_keeps_the_slice_that_it_had() {
    for (_, app, _dir) in apps("keeps_the_slice").await {
        let Some(presence) = Presence::begin(&app, listen()).await.unwrap() else { continue };
        app.share.set(ReplicaShare::new(1, 3).unwrap(), Instant::now().into_std());
        app.store.close().await;
        presence.beat().await.unwrap_err();
        assert_eq!(app.share.get(), ReplicaShare::new(1, 3).unwrap());
    }
}
