use futures_util::FutureExt;

use super::*;

const MIB: u64 = 1 << 20;

impl LargeBodies {
    pub(crate) fn n_units_held(&self) -> u64 {
        self.0.bodies.lock().held.values().map(|it| it.n_units).sum()
    }
}

fn bodies() -> LargeBodies {
    LargeBodies::new(&Limits { body_bytes: 32 * MIB, ..Limits::default() })
}

/// Whether a body grows at once.
fn grows(room: &BodyMemory, n_bytes: u64) -> bool {
    room.grow_to(n_bytes).now_or_never().is_some()
}

#[test]
fn a_body_that_was_only_begun_takes_no_room_from_others() {
    let bodies = bodies();
    let begun: Vec<BodyMemory> = (0..9).map(|_| bodies.begin("attacker")).collect();
    assert!(begun.iter().all(|it| grows(it, 1)));
    assert_eq!(bodies.n_units_held(), 9);
    let batch = bodies.begin("acme");
    assert!(grows(&batch, 32 * MIB));
}

#[test]
fn a_tenant_has_a_share_and_the_others_have_theirs() {
    let bodies = bodies();
    let own: Vec<BodyMemory> = (0..9).map(|_| bodies.begin("attacker")).collect();
    let n_grown = own.iter().filter(|it| grows(it, 32 * MIB)).count();
    assert_eq!((n_grown, bodies.n_units_held()), (2, 64));
    for tenant in ["a", "b", "c"] {
        let room = bodies.begin(tenant);
        assert!(grows(&room, 32 * MIB), "{tenant}");
    }
}

#[test]
fn bodies_that_wait_for_room_do_not_wait_for_each_other() {
    let bodies = bodies();
    let mut own: Vec<BodyMemory> = (0..20).map(|_| bodies.begin("acme")).collect();
    // All of them grow bit by bit, as far as they may.
    for n in 1..=32 {
        own.iter().for_each(|it| it.grow_to(n * MIB).now_or_never().unwrap_or_default());
    }
    assert!(bodies.n_units_held() <= 64);
    // One after the other becomes whole and goes, the oldest first.
    while !own.is_empty() {
        assert!(grows(&own[0], 32 * MIB), "{} are left", own.len());
        own[0].close();
        own.remove(0);
    }
    assert_eq!(bodies.n_units_held(), 0);
}

#[test]
fn all_together_stay_within_the_whole() {
    let bodies = bodies();
    let rooms: Vec<BodyMemory> = (0..40).map(|n| bodies.begin(&format!("t{n}"))).collect();
    for n in 1..=32 {
        rooms.iter().for_each(|it| it.grow_to(n * MIB).now_or_never().unwrap_or_default());
    }
    assert!(bodies.n_units_held() <= 256, "{}", bodies.n_units_held());
    assert!(grows(&rooms[0], 32 * MIB), "the oldest always goes on");
}

#[tokio::test]
async fn whoever_waits_goes_on_when_there_is_room() {
    let bodies = bodies();
    let (first, second, third) = (bodies.begin("acme"), bodies.begin("acme"), bodies.begin("acme"));
    assert!(grows(&first, 32 * MIB) && grows(&second, 32 * MIB));
    let mut waiting = std::pin::pin!(third.grow_to(2 * MIB));
    assert!(waiting.as_mut().now_or_never().is_none());
    drop(first);
    waiting.await;
    let largest = LargeBodies::new(&Limits { body_bytes: 1 << 30, ..Limits::default() });
    let (own, other) = (largest.begin("acme"), largest.begin("rival"));
    assert!(grows(&own, 1 << 30) && grows(&other, 1 << 30), "three of the largest always fit");
}
