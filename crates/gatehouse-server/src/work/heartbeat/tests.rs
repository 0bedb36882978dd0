use super::*;
use crate::work::tests::apps;
use gatehouse_core::ReplicaShare;
use gatehouse_store::ALIVE_MILLISECONDS;

fn listen() -> SocketAddr {
    ([127, 0, 0, 1], 8080).into()
}

#[tokio::test]
async fn a_server_takes_its_share_and_gives_it_back() {
    for (kind, app, _dir) in apps("takes_its_slice").await {
        let heartbeat = Heartbeat::begin(&app, listen()).await.unwrap();
        assert_eq!(app.share.get(), ReplicaShare::WHOLE, "{kind}");
        assert_eq!(app.meter.replicas.get(), 1, "{kind}");
        // The embedded store has one server.
        let Some(heartbeat) = heartbeat else {
            assert_eq!((kind, app.store.replicas().await.unwrap()), ("SQLite", Vec::new()));
            continue;
        };
        let replicas = app.store.replicas().await.unwrap();
        assert_eq!((replicas.len(), replicas[0].replica.listen.as_str()), (1, "127.0.0.1:8080"));

        // The highest id, so that this server's rank is known.
        let (version, host, listen) = ("1".to_owned(), "other".to_owned(), "x".to_owned());
        let key_name = app.vault.key_name().to_owned();
        let other = Replica { id: [u8::MAX; 16], version, host, listen, key_name };
        app.store.heartbeat(&other).await.unwrap();
        heartbeat.send().await.unwrap();
        assert_eq!(app.share.get(), ReplicaShare::new(0, 2).unwrap());
        assert_eq!(app.platforms.share().get(), app.share.get(), "the same share");
        assert_eq!(app.meter.replicas.get(), 2);

        // The other server dies.
        app.clock.set(app.clock.now().plus_milliseconds(ALIVE_MILLISECONDS));
        heartbeat.send().await.unwrap();
        assert_eq!((app.share.get(), app.meter.replicas.get()), (ReplicaShare::WHOLE, 1));

        let stopping = CancellationToken::new();
        stopping.cancel();
        heartbeat.run(stopping).await;
        assert_eq!(app.store.replicas().await.unwrap(), Vec::new(), "a stopping server leaves");
    }
}

#[tokio::test]
async fn a_server_without_the_database_keeps_its_last_share() {
    for (_, app, _dir) in apps("keeps_the_slice").await {
        let Some(heartbeat) = Heartbeat::begin(&app, listen()).await.unwrap() else { continue };
        app.share.set(ReplicaShare::new(1, 3).unwrap(), Instant::now().into_std());
        app.store.close().await;
        heartbeat.send().await.unwrap_err();
        assert_eq!(app.share.get(), ReplicaShare::new(1, 3).unwrap());
    }
}
