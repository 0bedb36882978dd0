use futures_util::FutureExt;

use super::*;

const MIB: u64 = 1 << 20;

impl LargeBodies {
    pub(crate) fn n_units_reserved(&self) -> u64 {
        self.0.bodies.lock().reserved.values().map(|it| it.n_units).sum()
    }
}

fn bodies() -> LargeBodies {
    LargeBodies::new(&Limits { body_bytes: 32 * MIB, ..Limits::default() })
}

/// Whether a body grows without waiting.
fn grows(body: &BodyMemory, n_bytes: u64) -> bool {
    body.grow_to(n_bytes).now_or_never().is_some()
}

#[test]
fn a_stalled_body_takes_no_memory_from_others() {
    let bodies = bodies();
    let stalled: Vec<BodyMemory> = (0..9).map(|_| bodies.begin("attacker")).collect();
    assert!(stalled.iter().all(|it| grows(it, 1)));
    assert_eq!(bodies.n_units_reserved(), 9);
    let batch = bodies.begin("acme");
    assert!(grows(&batch, 32 * MIB));
}

#[test]
fn a_tenant_cannot_take_the_share_of_other_tenants() {
    let bodies = bodies();
    let of_tenant: Vec<BodyMemory> = (0..9).map(|_| bodies.begin("attacker")).collect();
    let n_grown = of_tenant.iter().filter(|it| grows(it, 32 * MIB)).count();
    assert_eq!((n_grown, bodies.n_units_reserved()), (2, 64));
    for tenant in ["a", "b", "c"] {
        let body = bodies.begin(tenant);
        assert!(grows(&body, 32 * MIB), "{tenant}");
    }
}

#[test]
fn bodies_that_wait_for_memory_do_not_deadlock() {
    let bodies = bodies();
    let mut of_tenant: Vec<BodyMemory> = (0..20).map(|_| bodies.begin("acme")).collect();
    // All grow step by step, as far as the limits allow.
    for n in 1..=32 {
        of_tenant.iter().for_each(|it| it.grow_to(n * MIB).now_or_never().unwrap_or_default());
    }
    assert!(bodies.n_units_reserved() <= 64);
    // The bodies become complete and are dropped, oldest first.
    while !of_tenant.is_empty() {
        assert!(grows(&of_tenant[0], 32 * MIB), "{} are left", of_tenant.len());
        of_tenant[0].complete();
        of_tenant.remove(0);
    }
    assert_eq!(bodies.n_units_reserved(), 0);
}

#[test]
fn all_bodies_together_stay_within_the_limit() {
    let bodies = bodies();
    let all: Vec<BodyMemory> = (0..40).map(|n| bodies.begin(&format!("t{n}"))).collect();
    for n in 1..=32 {
        all.iter().for_each(|it| it.grow_to(n * MIB).now_or_never().unwrap_or_default());
    }
    assert!(bodies.n_units_reserved() <= 256, "{}", bodies.n_units_reserved());
    assert!(grows(&all[0], 32 * MIB), "the oldest can always grow");
}

#[tokio::test]
async fn a_waiting_body_grows_when_memory_is_freed() {
    let bodies = bodies();
    let (first, second, third) = (bodies.begin("acme"), bodies.begin("acme"), bodies.begin("acme"));
    assert!(grows(&first, 32 * MIB) && grows(&second, 32 * MIB));
    let mut waiting = std::pin::pin!(third.grow_to(2 * MIB));
    assert!(waiting.as_mut().now_or_never().is_none());
    drop(first);
    waiting.await;
    let largest = LargeBodies::new(&Limits { body_bytes: 1 << 30, ..Limits::default() });
    let (of_tenant, other) = (largest.begin("acme"), largest.begin("rival"));
    assert!(
        grows(&of_tenant, 1 << 30) && grows(&other, 1 << 30),
        "three of the largest always fit"
    );
}
