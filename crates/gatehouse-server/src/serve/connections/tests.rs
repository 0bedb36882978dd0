use super::*;

fn is_closing(held: &Held) -> bool {
    held.activity.closing.is_cancelled()
}

#[tokio::test(start_paused = true)]
async fn who_has_been_idle_for_longest_gives_way() {
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
    // One that has been asked to go is not asked again, although it has not gone yet.
    let fifth = connections.admit().unwrap();
    assert_eq!(all.iter().map(is_closing).collect::<Vec<_>>(), [false, true, true]);
    assert!(!is_closing(&fourth) && !is_closing(&fifth));
}

#[tokio::test]
async fn nobody_gives_way_while_busy() {
    let connections = Connections::new(2);
    let [first, second] = [(); 2].map(|()| connections.admit().unwrap());
    let (one, two) = (first.activity.begin(), first.activity.begin());
    second.activity.set_blocked(true);
    assert!(connections.admit().is_none() && !connections.make_room());
    drop(one);
    assert!(connections.admit().is_none(), "another request of HTTP/2 is under way");
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
async fn who_leaves_makes_room() {
    let connections = Connections::new(1);
    for _ in 0..3 {
        let held = connections.admit().unwrap();
        let _busy = held.activity.begin();
        assert!(connections.admit().is_none());
    }
    assert!(connections.held.lock().connections.is_empty());
}
