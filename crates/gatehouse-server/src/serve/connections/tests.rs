use super::*;

fn is_closing(slot: &Slot) -> bool {
    slot.activity.closing.is_cancelled()
}

#[tokio::test(start_paused = true)]
async fn the_longest_idle_connection_is_evicted() {
    let connections = Connections::new(3);
    let mut all = Vec::new();
    for _ in 0..3 {
        all.push(connections.admit().unwrap());
        tokio::time::advance(std::time::Duration::from_secs(1)).await;
    }
    // The first has had a request since.
    drop(all[0].activity.begin());
    let fourth = connections.admit().unwrap();
    assert_eq!(all.iter().map(is_closing).collect::<Vec<_>>(), [false, true, false]);
    // A connection that is asked to close is not asked again, although it is still open.
    let fifth = connections.admit().unwrap();
    assert_eq!(all.iter().map(is_closing).collect::<Vec<_>>(), [false, true, true]);
    assert!(!is_closing(&fourth) && !is_closing(&fifth));
}

#[tokio::test]
async fn a_busy_connection_is_not_evicted() {
    let connections = Connections::new(2);
    let [first, second] = [(); 2].map(|()| connections.admit().unwrap());
    let (one, two) = (first.activity.begin(), first.activity.begin());
    second.activity.set_blocked(true);
    assert!(connections.admit().is_none() && !connections.evict_longest_idle());
    drop(one);
    assert!(connections.admit().is_none(), "another HTTP/2 request is in progress");
    connections.close_idle();
    assert!(!is_closing(&first) && !is_closing(&second));
    drop(two);
    let third = connections.admit().unwrap();
    assert!(is_closing(&first) && !is_closing(&second));
    second.activity.set_blocked(false);
    connections.close_idle();
    assert!(is_closing(&second) && is_closing(&third));
}

#[tokio::test]
async fn a_closed_connection_frees_its_slot() {
    let connections = Connections::new(1);
    for _ in 0..3 {
        let slot = connections.admit().unwrap();
        let _request = slot.activity.begin();
        assert!(connections.admit().is_none());
    }
    assert!(connections.registry.lock().connections.is_empty());
}

#[tokio::test]
async fn a_stopping_server_does_not_wait_for_the_readers_of_streams() {
    let connections = Connections::new(2);
    let [stream, list] = [(); 2].map(|()| connections.admit().unwrap());
    let (one, two) = (stream.activity.begin(), list.activity.begin());
    stream.activity.begin_endless_body();
    for slot in [&stream, &list] {
        slot.activity.set_blocked(true);
    }
    connections.close_idle();
    assert!(!is_closing(&stream), "the stream hasn't ended");
    drop((one, two));
    connections.close_idle();
    assert!(is_closing(&stream) && stream.activity.may_close());
    assert!(!is_closing(&list), "its reader would miss the end");
}
