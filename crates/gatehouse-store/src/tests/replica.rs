use super::*;
use crate::replica::{ALIVE_MILLISECONDS, Replica};
use gatehouse_core::ReplicaShare;

fn replica(id: u8) -> Replica {
    let (version, host, listen) = ("1.2.3".into(), format!("host-{id}"), "0.0.0.0:8080".into());
    Replica { id: [id; 16], version, host, listen, key_name: "12345678".into() }
}

fn share(rank: u32, of: u32) -> ReplicaShare {
    ReplicaShare::new(rank, of).unwrap()
}

impl Case {
    async fn beat(&self, id: u8) -> ReplicaShare {
        self.store.heartbeat(&replica(id)).await.unwrap()
    }

    async fn there(&self) -> Vec<u8> {
        let all = self.store.replicas().await.unwrap();
        all.iter().map(|it| it.replica.id[0]).collect()
    }

    fn pass(&self, milliseconds: i64) {
        self.clock.set(self.clock.now().plus_milliseconds(milliseconds));
    }
}

#[tokio::test]
async fn a_new_server_gets_a_slice_and_the_others_learn_of_it_with_their_heartbeat() {
    for case in stores("who_joins_gets_a_place").await {
        assert_eq!(case.there().await, [0; 0], "{}", case.kind);
        assert_eq!(case.beat(5).await, ReplicaShare::WHOLE);
        assert_eq!(case.beat(9).await, share(1, 2), "{}", case.kind);
        assert_eq!(case.beat(1).await, share(0, 3));
        assert_eq!([case.beat(5).await, case.beat(9).await], [share(1, 3), share(2, 3)]);
        for _ in 0..10 {
            case.pass(1000);
            let shares = [case.beat(9).await, case.beat(1).await, case.beat(5).await];
            assert_eq!(shares, [share(2, 3), share(0, 3), share(1, 3)], "{}", case.kind);
        }
        let all = case.store.replicas().await.unwrap();
        let (first, now) = (&all[1], case.clock.now());
        assert_eq!((&first.replica, first.joined_at, first.seen_at), (&replica(5), day(0), now));
    }
}

#[tokio::test]
async fn a_server_without_heartbeats_is_gone_and_may_come_back() {
    for case in stores("who_is_silent_for_a_while").await {
        case.beat(1).await;
        case.beat(2).await;
        case.pass(ALIVE_MILLISECONDS - 1);
        assert_eq!(case.beat(2).await, share(1, 2), "{}: not yet", case.kind);
        case.pass(1);
        assert_eq!(case.beat(2).await, ReplicaShare::WHOLE, "{}", case.kind);
        assert_eq!(case.there().await, [2]);
        assert_eq!(case.beat(1).await, share(0, 2), "{}: it was only slow", case.kind);
        // The row is deleted a day later, and comes back with the next heartbeat.
        case.pass(24 * 3_600_000 + 1);
        assert_eq!(case.beat(2).await, ReplicaShare::WHOLE);
        let count = "SELECT COUNT(*) FROM replica";
        let n_rows = case.store.db.row(count, &[], |row| row.integer(0)).await.unwrap();
        assert_eq!(n_rows, Some(1), "{}", case.kind);
        assert_eq!(case.beat(1).await, share(0, 2));
        assert_eq!(case.store.replicas().await.unwrap()[0].joined_at, case.clock.now());
    }
}

#[tokio::test]
async fn a_server_that_leaves_is_gone_at_once() {
    for case in stores("a_server_that_leaves_is_gone_at_once").await {
        for id in [1, 2, 3] {
            case.beat(id).await;
        }
        case.store.leave([1; 16]).await.unwrap();
        assert_eq!([case.beat(2).await, case.beat(3).await], [share(0, 2), share(1, 2)]);
        case.store.leave([1; 16]).await.unwrap();
        assert_eq!(case.there().await, [2, 3], "{}: leaving twice is leaving", case.kind);
    }
}

#[tokio::test]
async fn a_clock_that_is_set_back_keeps_no_gone_server_alive() {
    for case in stores("a_clock_that_is_set_back").await {
        case.beat(1).await;
        case.beat(2).await;
        case.pass(-3_600_000);
        assert_eq!(
            case.beat(2).await,
            ReplicaShare::WHOLE,
            "{}: until the other beats too",
            case.kind
        );
        assert_eq!([case.beat(1).await, case.beat(2).await], [share(0, 2), share(1, 2)]);
    }
}

/// The shares that concurrent servers see at first add up to no more than if they had come one by one, and at their
/// second heartbeat all see all.
#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn servers_that_start_at_the_same_moment_see_those_before_them() {
    for case in stores("servers_that_come_at_the_same_moment").await {
        let beats = (0..8).map(|id| {
            let store = case.store.clone();
            tokio::spawn(async move { store.heartbeat(&replica(id)).await.unwrap() })
        });
        let mut seen = Vec::new();
        for beat in beats.collect::<Vec<_>>() {
            seen.push(beat.await.unwrap().of());
        }
        seen.sort_unstable();
        let are_enough = seen.iter().zip(1..).all(|(of, at_least)| *of >= at_least);
        assert!(are_enough, "{}: {seen:?}", case.kind);
        for id in 0..8 {
            assert_eq!(case.beat(id).await, share(id.into(), 8), "{}", case.kind);
        }
    }
}
