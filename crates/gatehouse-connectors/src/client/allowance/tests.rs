use super::*;

const MINUTE: Duration = Duration::from_secs(60);

fn own(calls: u32) -> Quota {
    Quota { calls, per: MINUTE, of: Vec::new(), scope: QuotaScope::Account }
}

/// A quota on log-ins that all accounts share.
fn shared(calls: u32) -> Quota {
    let of = vec![CallKind::Session];
    Quota { calls, per: 5 * MINUTE, of, scope: QuotaScope::Host }
}

fn allowances(quotas: &[Quota], all: &SharedQuotas) -> Allowances {
    Allowances::new(quotas, &"alpha".parse().unwrap(), "alpha.example:443", all)
}

/// Makes a call that may wait for `patience`; returns the time it waited.
async fn call(
    allowances: &Allowances,
    kind: CallKind,
    patience: Duration,
) -> Result<Duration, Failure> {
    let began = Instant::now();
    allowances.reserve(CallContext::until(began + patience), kind).await?.commit(Instant::now());
    Ok(began.elapsed())
}

/// Makes a call that can't wait; returns whether it was made.
async fn call_now(allowances: &Allowances, kind: CallKind) -> bool {
    call(allowances, kind, Duration::from_millis(1)).await.is_ok()
}

#[tokio::test(start_paused = true)]
async fn calls_wait_for_a_quota_in_order() {
    let allowances = allowances(&[own(2)], &SharedQuotas::default());
    let calls = (0..6).map(|_| call(&allowances, CallKind::List, 3 * MINUTE));
    let waited: Vec<_> = futures_util::future::join_all(calls).await;
    let waited: Vec<u64> = waited.into_iter().map(|it| it.unwrap().as_secs()).collect();
    assert_eq!(waited, [0, 0, 60, 60, 120, 120]);
}

#[tokio::test(start_paused = true)]
async fn a_call_fails_at_once_if_the_quota_frees_up_too_late() {
    let allowances = allowances(&[own(1)], &SharedQuotas::default());
    assert!(call_now(&allowances, CallKind::List).await);
    let began = Instant::now();
    let failure = call(&allowances, CallKind::List, MINUTE).await.unwrap_err();
    let expected = "the budget of 1 call in 60 s that the platform gives the account is spent";
    assert_eq!((failure.kind, failure.detail.as_str()), (FailureKind::Throttled, expected));
    assert_eq!((failure.retry_after, began.elapsed()), (Some(MINUTE), Duration::ZERO));

    // A call doesn't queue behind another one either if the deadline is too early.
    let (first, second) = tokio::join!(
        call(&allowances, CallKind::List, 2 * MINUTE),
        call(&allowances, CallKind::List, MINUTE + MINUTE / 2),
    );
    assert_eq!(first, Ok(MINUTE));
    assert_eq!(second.unwrap_err().retry_after, Some(MINUTE));
}

#[tokio::test(start_paused = true)]
async fn a_quota_counts_the_calls_of_its_kinds() {
    let of = vec![CallKind::Detail, CallKind::LookUp, CallKind::Detail];
    let allowances = allowances(&[Quota { of, ..own(2) }], &SharedQuotas::default());
    for kind in [CallKind::Detail, CallKind::LookUp, CallKind::List, CallKind::Session] {
        assert!(call_now(&allowances, kind).await, "{kind:?}");
    }
    for (kind, was_sent) in [(CallKind::Detail, false), (CallKind::List, true)] {
        assert_eq!(call_now(&allowances, kind).await, was_sent, "{kind:?}");
    }
    let failure = call(&allowances, CallKind::LookUp, MINUTE / 2).await.unwrap_err();
    let expected = "the budget of 2 calls (look_up, detail) in 60 s that the platform gives the account is \
                    spent";
    assert_eq!(failure.detail, expected);
}

#[tokio::test(start_paused = true)]
async fn a_call_that_one_quota_refuses_counts_in_no_other() {
    let all = SharedQuotas::default();
    let allowances = allowances(&[own(3), shared(1)], &all);
    assert!(call_now(&allowances, CallKind::Session).await);
    let failure = call(&allowances, CallKind::Session, MINUTE).await.unwrap_err();
    let expected = "the budget of 1 call (session) in 300 s that the platform gives all accounts here is \
                    spent";
    assert_eq!((failure.detail.as_str(), failure.retry_after), (expected, Some(5 * MINUTE)));
    // A cancelled call doesn't count either.
    let left = call(&allowances, CallKind::Session, 6 * MINUTE);
    assert!(tokio::time::timeout(Duration::from_secs(1), left).await.is_err());
    assert!(
        call_now(&allowances, CallKind::List).await && call_now(&allowances, CallKind::List).await
    );
    assert!(!call_now(&allowances, CallKind::List).await);
}

#[tokio::test(start_paused = true)]
async fn accounts_share_what_a_host_allows_and_nothing_else() {
    let all = SharedQuotas::default();
    let quotas = [own(2), shared(2), shared(2)];
    let (first, second) = (allowances(&quotas, &all), allowances(&quotas, &all));
    let connector = "alpha".parse().unwrap();
    let elsewhere = Allowances::new(&quotas, &connector, "alpha.example:8443", &all);
    let other = Allowances::new(&quotas, &"beta".parse().unwrap(), "alpha.example:443", &all);
    assert!(call_now(&first, CallKind::Session).await);
    assert!(call_now(&second, CallKind::Session).await);
    assert!(!call_now(&first, CallKind::Session).await);
    assert!(!call_now(&second, CallKind::Session).await);
    for allowances in [&first, &second, &elsewhere, &other] {
        assert!(call_now(allowances, CallKind::List).await);
    }
    for allowances in [&elsewhere, &other] {
        assert!(call_now(allowances, CallKind::Session).await);
    }
}

#[tokio::test(start_paused = true)]
async fn accounts_that_share_several_quotas_never_deadlock() {
    let all = SharedQuotas::default();
    let both = Quota { of: Vec::new(), ..shared(3) };
    // The order in the manifest doesn't matter.
    let first = allowances(&[own(1), shared(2), both.clone()], &all);
    let second = allowances(&[both, shared(2), own(1)], &all);
    let calls = (0..4).flat_map(|_| {
        [(&first, CallKind::Session), (&second, CallKind::Session), (&first, CallKind::List)]
    });
    let calls = calls.map(|(allowances, kind)| call(allowances, kind, 60 * MINUTE));
    let waited = futures_util::future::join_all(calls).await;
    assert!(waited.iter().all(Result::is_ok), "{waited:?}");
}

#[tokio::test(start_paused = true)]
async fn a_spent_account_quota_blocks_no_other_account() {
    let all = SharedQuotas::default();
    let quotas = [own(1), shared(9)];
    let (first, second) = (allowances(&quotas, &all), allowances(&quotas, &all));
    assert!(call_now(&first, CallKind::Session).await);
    let waiting = call(&first, CallKind::Session, 2 * MINUTE);
    let (waited, other) = tokio::join!(waiting, call(&second, CallKind::Session, MINUTE));
    assert_eq!((waited, other), (Ok(MINUTE), Ok(Duration::ZERO)));
}

#[tokio::test(start_paused = true)]
async fn a_shared_quota_stays_while_it_is_used_or_has_counted_calls() {
    let all = SharedQuotas::default();
    let n_kept = || all.all.lock().len();
    let first = allowances(&[shared(1)], &all);
    assert!(call_now(&first, CallKind::Session).await);
    drop(first);
    let second = allowances(&[shared(1)], &all);
    assert!(!call_now(&second, CallKind::Session).await, "it was spent before");
    tokio::time::advance(5 * MINUTE).await;
    let _other = allowances(&[shared(2)], &all);
    assert_eq!(n_kept(), 2);
    drop(second);
    let _another = allowances(&[shared(3)], &all);
    assert_eq!(n_kept(), 2, "the first is gone");
}

#[tokio::test(start_paused = true)]
async fn a_call_that_would_miss_its_deadline_does_not_queue() {
    let allowances = allowances(&[own(1)], &SharedQuotas::default());
    assert!(call_now(&allowances, CallKind::List).await);
    let began = Instant::now();
    let impatient = async {
        let failure = call(&allowances, CallKind::List, MINUTE / 2).await.unwrap_err();
        (failure.retry_after, began.elapsed())
    };
    let (waited, refused) = tokio::join!(call(&allowances, CallKind::List, 2 * MINUTE), impatient);
    assert_eq!(waited, Ok(MINUTE));
    assert_eq!(refused, (Some(MINUTE), Duration::ZERO));
}

#[tokio::test(start_paused = true)]
async fn a_new_share_holds_at_once_and_used_calls_stay_used() {
    let all = SharedQuotas::default();
    let allowances = allowances(&[own(4), shared(2)], &all);
    assert!(call_now(&allowances, CallKind::List).await);
    all.share.set(ReplicaShare::new(1, 2).unwrap(), Instant::now().into_std());
    assert!(call_now(&allowances, CallKind::Session).await, "two of four, and one of two");
    let failure = call(&allowances, CallKind::List, MINUTE / 2).await.unwrap_err();
    let expected = "the budget of 4 calls in 60 s that the platform gives the account is spent, as far as \
                    this server's share goes: one of 2";
    assert_eq!((failure.detail.as_str(), failure.retry_after), (expected, Some(MINUTE)));

    all.share.set(ReplicaShare::WHOLE, Instant::now().into_std());
    assert!(!call_now(&allowances, CallKind::List).await, "the other may have made its calls");
    tokio::time::advance(MINUTE).await;
    for was_sent in [true, true, true, true, false] {
        assert_eq!(call_now(&allowances, CallKind::List).await, was_sent);
    }
}
