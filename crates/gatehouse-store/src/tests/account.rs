use super::*;
use crate::db::WriteKind;
use crate::{AccountChange, AccountPut, Put, PutAccountRefused, StoredAccount};
use gatehouse_core::account::{ACCOUNTS_MAX, AddressSource};
use gatehouse_core::{Account, AccountName, PageRequest};

pub(super) fn account(platform: &str, name: &str) -> Account {
    Account {
        platform: platform.parse().unwrap(),
        name: name.parse().unwrap(),
        connector: "simulator".parse().unwrap(),
        platform_account: "100234".parse().unwrap(),
    }
}

fn named(name: &str) -> AccountName {
    name.parse().unwrap()
}

/// Puts an account with the version that was just read.
pub(super) async fn try_put(
    store: &Store,
    tenant: &TenantName,
    account: &Account,
    settings: &str,
    credentials: Option<&[u8]>,
) -> Result<AccountPut, PutAccountRefused> {
    let seen = store.account(tenant, &account.name).await.unwrap();
    let change = AccountChange {
        account: account.clone(),
        settings: settings.to_owned(),
        credentials: credentials.map(<[u8]>::to_owned),
        address_source: AddressSource::Operator,
        seen_version: seen.map(|it| it.version),
    };
    store.put_account(tenant, change, &audited()).await.unwrap()
}

/// Puts an account; refusals panic.
pub(super) async fn put(
    store: &Store,
    account: &Account,
    settings: &str,
    credentials: Option<&[u8]>,
) -> AccountPut {
    try_put(store, &acme(), account, settings, credentials).await.unwrap()
}

#[tokio::test]
async fn an_account_is_stored_as_given() {
    for case in stores("an_account_is_stored_as_given").await {
        set_up(&case.store).await;
        let mut given = account("ALPHA", "a b/ü");
        let made = put(&case.store, &given, r#"{"baseUrl":"x"}"#, Some(b"sealed")).await;
        assert_eq!((made.put(), &made.before), (Put::Created, &None), "{}", case.kind);
        assert_eq!(made.after.version, day(0).as_millisecond());

        given.platform = "BETA".parse().unwrap();
        given.connector = "other".parse().unwrap();
        given.platform_account = "7".parse().unwrap();
        let changed = put(&case.store, &given, "{}", Some(b"sealed again")).await;
        assert_eq!((changed.put(), &changed.before), (Put::Replaced, &Some(made.after)));
        let kept = case.store.account(&acme(), &given.name).await.unwrap();
        let expected = StoredAccount {
            account: given,
            settings: "{}".into(),
            credentials: Some(b"sealed again".to_vec()),
            version: day(0).as_millisecond() + 1,
            address_source: AddressSource::Operator,
        };
        assert_eq!(kept.as_ref(), Some(&expected), "{}", case.kind);
        assert_eq!(kept, Some(changed.after), "{}", case.kind);
        assert_eq!(case.store.account(&acme(), &named("a")).await.unwrap(), None);
    }
}

#[tokio::test]
async fn credentials_that_are_left_out_are_kept() {
    for case in stores("credentials_that_are_left_out_are_kept").await {
        set_up(&case.store).await;
        let given = account("ALPHA", "a");
        let credentials =
            async || case.store.account(&acme(), &given.name).await.unwrap().unwrap().credentials;
        put(&case.store, &given, "{}", None).await;
        assert_eq!(credentials().await, None, "{}", case.kind);
        put(&case.store, &given, "{}", Some(b"sealed")).await;
        put(&case.store, &given, r#"{"a":1}"#, None).await;
        assert_eq!(credentials().await.as_deref(), Some(&b"sealed"[..]), "{}", case.kind);
        put(&case.store, &given, r#"{"a":1}"#, Some(b"")).await;
        assert_eq!(credentials().await, None, "empty ones are none: {}", case.kind);
    }
}

#[tokio::test]
async fn a_version_rises_with_each_change_and_is_never_reused() {
    for case in stores("a_version_rises_with_what_changes").await {
        set_up(&case.store).await;
        let given = account("ALPHA", "a");
        let start = day(0).as_millisecond();
        let other = Account { platform_account: "7".parse().unwrap(), ..given.clone() };
        // The clock stands still, so the versions differ only because each is drawn once.
        for (account, settings, credentials, version) in [
            (&given, "{}", None, start),
            (&given, "{}", None, start),
            (&given, "{}", Some(&b"s"[..]), start + 1),
            (&given, "{}", Some(b"s"), start + 1),
            (&given, r#"{"a":1}"#, None, start + 2),
            (&other, r#"{"a":1}"#, None, start + 3),
        ] {
            let put = put(&case.store, account, settings, credentials).await;
            assert_eq!(put.after.version, version, "{} {settings} {credentials:?}", case.kind);
        }
        assert!(case.store.delete_account(&acme(), &given.name, &audited()).await.unwrap());
        assert!(!case.store.delete_account(&acme(), &given.name, &audited()).await.unwrap());
        let again = put(&case.store, &given, "{}", None).await;
        assert_eq!((again.put(), again.after.version), (Put::Created, start + 4), "{}", case.kind);
        assert_eq!(
            case.store.account(&acme(), &given.name).await.unwrap().unwrap().credentials,
            None
        );

        case.clock.set(day(1));
        let later = put(&case.store, &other, "{}", None).await;
        assert_eq!(later.after.version, day(1).as_millisecond(), "{}", case.kind);
    }
}

#[tokio::test]
async fn accounts_are_in_order_by_platform_then_name() {
    for case in stores("accounts_are_in_order_by_platform").await {
        let page = |number, size| PageRequest { number, size };
        assert_eq!(case.store.accounts(&acme()).await.unwrap(), None);
        assert_eq!(case.store.accounts_page(&acme(), page(1, 2)).await.unwrap(), None);
        set_up(&case.store).await;
        assert_eq!(case.store.accounts(&acme()).await.unwrap(), Some(Vec::new()));
        case.store.put_tenant(&tenant("other"), &audited()).await.unwrap();
        let foreign = account("ALPHA", "foreign");
        let other = "other".parse().unwrap();
        try_put(&case.store, &other, &foreign, "{}", None).await.unwrap();

        for (platform, name) in [("BETA", "a"), ("ALPHA", "b"), ("ALPHA", "a-b"), ("A_1", "Z")] {
            put(&case.store, &account(platform, name), "{}", Some(b"sealed")).await;
        }
        let all = case.store.accounts(&acme()).await.unwrap().unwrap();
        let shown: Vec<_> =
            all.iter().map(|(it, _)| format!("{} {}", it.platform, it.name)).collect();
        assert_eq!(shown, ["ALPHA a-b", "ALPHA b", "A_1 Z", "BETA a"], "{}", case.kind);
        assert!(all.is_sorted());
        for (number, expected) in [(1, "a-b b Z"), (2, "a"), (3, "")] {
            let page = case.store.accounts_page(&acme(), page(number, 3)).await.unwrap().unwrap();
            let names: Vec<_> = page.items.iter().map(|it| it.account.name.as_str()).collect();
            assert_eq!((names.join(" ").as_str(), page.total), (expected, 4), "{}", case.kind);
            for it in page.items {
                assert!(all.contains(&(it.account, it.version)), "{}", case.kind);
            }
        }
    }
}

#[tokio::test]
async fn the_number_of_a_tenants_accounts_is_limited() {
    for case in stores("a_tenant_has_so_many_accounts").await {
        let last = account("ALPHA", "last");
        let put_last = async || try_put(&case.store, &acme(), &last, "{}", None).await;
        assert_eq!(put_last().await, Err(PutAccountRefused::NoTenant), "{}", case.kind);
        set_up(&case.store).await;
        let filled = case.store.db.write(WriteKind::Server, async |tx| {
            let sql = "INSERT INTO account (tenant, name, platform, connector, platform_account, \
                       settings, version) VALUES ('acme', ?1, 'ALPHA', 'simulator', '1', '{}', 1)";
            let names: Vec<String> = (1..ACCOUNTS_MAX).map(|n| n.to_string()).collect();
            let rows: Vec<_> = names.iter().map(|name| [name.as_str().into()]).collect();
            tx.execute_each(sql, &rows).await
        });
        filled.await.unwrap();
        assert!(put_last().await.is_ok(), "{}", case.kind);
        assert!(put_last().await.is_ok(), "one that is there takes no place: {}", case.kind);
        let more = account("ALPHA", "one more");
        let refused = try_put(&case.store, &acme(), &more, "{}", None).await;
        assert_eq!(refused, Err(PutAccountRefused::TooMany), "{}", case.kind);
        assert!(case.store.delete_account(&acme(), &named("7"), &audited()).await.unwrap());
        put(&case.store, &more, "{}", None).await;
    }
}

#[tokio::test]
async fn a_tenant_is_deleted_with_its_accounts() {
    for case in stores("a_tenant_is_deleted_with_its_accounts").await {
        set_up(&case.store).await;
        let given = account("ALPHA", "a");
        put(&case.store, &given, "{}", Some(b"sealed")).await;
        assert!(case.store.delete_tenant(&acme(), &audited()).await.unwrap().unwrap().is_ok());
        set_up(&case.store).await;
        assert_eq!(case.store.account(&acme(), &given.name).await.unwrap(), None, "{}", case.kind);
    }
}

#[test]
fn debug_hides_settings_and_credentials_of_an_account() {
    let kept = StoredAccount {
        address_source: AddressSource::Operator,
        account: account("ALPHA", "a"),
        settings: "the settings".into(),
        credentials: Some(b"sealed".to_vec()),
        version: 1,
    };
    let shown = format!("{kept:?}");
    assert!(shown.contains("ALPHA") && !shown.contains("settings") && !shown.contains("creden"));
}

#[tokio::test]
async fn an_account_that_has_changed_meanwhile_is_left_as_it_is() {
    for case in stores("an_account_that_has_changed").await {
        set_up(&case.store).await;
        let given = account("ALPHA", "a");
        let made = put(&case.store, &given, "{}", Some(b"sealed")).await;
        for seen_version in [None, Some(made.after.version - 1)] {
            let change = AccountChange {
                account: given.clone(),
                settings: r#"{"baseUrl":"x"}"#.into(),
                credentials: None,
                address_source: AddressSource::Tenant,
                seen_version,
            };
            let refused = case.store.put_account(&acme(), change, &audited()).await.unwrap();
            assert_eq!(refused, Err(PutAccountRefused::Changed), "{}", case.kind);
        }
        let kept = case.store.account(&acme(), &given.name).await.unwrap();
        assert_eq!(kept, Some(made.after), "{}", case.kind);
    }
}

#[tokio::test]
async fn an_operators_trust_does_not_outlive_a_change_by_an_older_program() {
    for case in stores("an_operators_word").await {
        set_up(&case.store).await;
        let given = account("ALPHA", "a");
        let made = put(&case.store, &given, "{}", None).await;
        assert_eq!(made.after.address_source, AddressSource::Operator, "{}", case.kind);
        let change = async |sql: &'static str| {
            let changed = case
                .store
                .db
                .write(WriteKind::Server, async move |tx| tx.execute(sql, &[]).await)
                .await;
            changed.unwrap();
        };
        change("UPDATE account SET settings = '{\"baseUrl\":\"x\"}', version = version + 1").await;
        let kept = case.store.account(&acme(), &given.name).await.unwrap().unwrap();
        assert_eq!(kept.address_source, AddressSource::Tenant, "{}", case.kind);
    }
}
