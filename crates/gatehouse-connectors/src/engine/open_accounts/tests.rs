use gatehouse_core::Account;

use super::*;
use crate::engine::latency::Latency;
use crate::failure::{Failure, FailureKind};

fn tenant(name: &str) -> TenantName {
    name.parse().unwrap()
}

fn name(text: &str) -> AccountName {
    text.parse().unwrap()
}

/// An account that is never called.
fn account(tenant: &str, name: &str, version: i64) -> LiveAccount {
    let account = Account {
        platform: "ALPHA".parse().unwrap(),
        name: name.parse().unwrap(),
        connector: "simulator".parse().unwrap(),
        platform_account: "1".parse().unwrap(),
    };
    let failure = Failure::new(FailureKind::Error, "nothing is asked");
    let (tenant, account) = (self::tenant(tenant), Arc::new(account));
    LiveAccount::new(tenant, account, version, Err(failure), Latency::default())
}

/// Opens accounts, each as `tenant/name`.
fn opened(all: &[&str]) -> OpenAccounts {
    let open = OpenAccounts::default();
    for one in all {
        let (tenant, name) = one.split_once('/').unwrap();
        open.insert(account(tenant, name, 1));
    }
    open
}

/// All open accounts, without counting as a use.
fn shown(open: &OpenAccounts) -> Vec<String> {
    let by_tenant = open.by_tenant.lock();
    let of = |(tenant, of_tenant): (&TenantName, &HashMap<AccountName, Open>)| {
        of_tenant.keys().map(|name| format!("{tenant}/{name}")).collect::<Vec<_>>()
    };
    let mut all: Vec<String> = by_tenant.accounts.iter().flat_map(of).collect();
    all.sort_unstable();
    assert_eq!(by_tenant.n_accounts, all.len());
    assert!(by_tenant.accounts.values().all(|it| !it.is_empty()));
    all
}

#[tokio::test]
async fn an_account_or_all_of_a_tenant_can_be_closed() {
    let open = opened(&["a/1", "a/2", "b/1"]);
    open.close(&tenant("a"), &name("1"));
    open.close(&tenant("a"), &name("none"));
    open.close(&tenant("none"), &name("1"));
    assert_eq!(shown(&open), ["a/2", "b/1"]);
    assert!(open.get(&tenant("a"), &name("1")).is_none());
    open.keep_only(&tenant("a"), &[]);
    assert_eq!(shown(&open), ["b/1"]);
}

#[tokio::test]
async fn deleted_accounts_of_a_tenant_are_closed() {
    let open = opened(&["a/1", "a/2", "b/1"]);
    let (two, three, four) = (name("2"), name("3"), name("4"));
    open.keep_only(&tenant("a"), &[&two, &three, &four]);
    assert_eq!(shown(&open), ["a/2", "b/1"]);
}

#[tokio::test]
async fn another_version_replaces_the_open_one() {
    let open = OpenAccounts::default();
    for (version, is_new) in [(5, true), (5, false), (6, true), (2, true)] {
        let before = open.get(&tenant("a"), &name("1"));
        let now = open.insert(account("a", "1", version));
        assert_eq!(before.is_none_or(|it| !Arc::ptr_eq(&it, &now)), is_new, "{version}");
        let got = open.get(&tenant("a"), &name("1")).unwrap();
        assert!(Arc::ptr_eq(&got, &now) && got.version() == version);
    }
    assert_eq!(shown(&open), ["a/1"]);
}

#[tokio::test(start_paused = true)]
async fn idle_accounts_are_closed_after_an_hour() {
    for is_opened in [true, false] {
        let open = opened(&["a/1", "a/2"]);
        tokio::time::advance(IDLE_MAX / 2).await;
        assert!(open.get(&tenant("a"), &name("2")).is_some());
        tokio::time::advance(IDLE_MAX / 2).await;
        if is_opened {
            open.insert(account("b", "1", 1));
            assert_eq!(shown(&open), ["a/2", "b/1"]);
        } else {
            open.keep_only(&tenant("b"), &[]);
            assert_eq!(shown(&open), ["a/2"]);
        }
    }
}

#[tokio::test]
async fn the_least_recently_used_accounts_are_evicted() {
    let open = OpenAccounts::default();
    for n in 0..OPEN_MAX {
        open.insert(account("a", &n.to_string(), 1));
    }
    assert!(open.get(&tenant("a"), &name("0")).is_some());
    open.insert(account("b", "1", 1));
    assert_eq!(shown(&open).len(), OPEN_MAX + 1 - EVICTED_AT_ONCE);
    for (n, is_open) in
        [(0, true), (1, false), (EVICTED_AT_ONCE, false), (EVICTED_AT_ONCE + 1, true)]
    {
        assert_eq!(open.get(&tenant("a"), &name(&n.to_string())).is_some(), is_open, "{n}");
    }
}
