//! The engine against simulated platforms, over real connections.

use std::net::Ipv4Addr;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use gatehouse_core::account::{AddressSource, Credentials};
use gatehouse_core::page::share;
use gatehouse_core::{Account, Identifier, IdentifierKind, PageRequest};
use proptest::prelude::*;
use serde_json::{Value, json};
use tokio::time::Instant;

use super::{filter, names, options, platforms};
use crate::simulator::{Misbehaviour, PagingKind, Platform, Profile, Server};
use crate::{
    AccountSetup, CallContext, Exchange, FailureKind, FindRequest, LiveAccount, Observer,
    Platforms, Settings,
};

/// A deadline that no test reaches, even on a busy machine.
fn context() -> CallContext {
    CallContext::until(Instant::now() + Duration::from_secs(60))
}

fn start(paging: PagingKind, n_connections: u32, page_size_max: u32) -> Server {
    let platform = Platform { paging, n_connections, page_size_max, ..Platform::default() };
    Server::start(platform, (Ipv4Addr::LOCALHOST, 0).into()).unwrap()
}

/// An account at a simulated platform, opened as the server opens it.
fn open(platforms: &Platforms, server: &Server, name: &str) -> Arc<LiveAccount> {
    let account = Account {
        platform: server.platform().name.clone(),
        name: name.parse().unwrap(),
        connector: "simulator".parse().unwrap(),
        platform_account: "1".parse().unwrap(),
    };
    let Value::Object(settings) = json!({
        "baseUrl": server.url(),
        "paging": server.platform().paging.as_str(),
        "pageSizeMax": server.platform().page_size_max,
    }) else {
        panic!("it is an object")
    };
    let settings: Settings = settings;
    let mut credentials = Credentials::default();
    credentials.insert("token".into(), token(name));
    let (settings, credentials) = (&settings, &credentials);
    let setup = AccountSetup { settings, credentials, address_source: AddressSource::Operator };
    platforms.open(&"acme".parse().unwrap(), account, 1, setup)
}

fn token(name: &str) -> String {
    format!("token-of-{name}")
}

/// Ids of all connections of an account, read with another HTTP client.
async fn read_all_ids(client: &reqwest::Client, server: &Server, name: &str) -> Vec<String> {
    let Platform { paging, page_size_max: size, .. } = server.platform();
    let mut all: Vec<String> = Vec::new();
    let mut cursor: Option<String> = None;
    for number in 1.. {
        let query = match (paging, &cursor) {
            (PagingKind::Page, _) => format!("page={number}&size={size}"),
            (PagingKind::Offset, _) => format!("offset={}&limit={size}", all.len()),
            (PagingKind::Cursor, None) => format!("limit={size}"),
            (PagingKind::Cursor, Some(cursor)) => format!("cursor={cursor}&limit={size}"),
        };
        let url = format!("{}/v1/connections?{query}", server.url());
        let response = client.get(url).bearer_auth(token(name)).send().await.unwrap();
        let body: Value = response.json().await.unwrap();
        let page = body["connections"].as_array().unwrap();
        all.extend(page.iter().map(|it| format!("{name}/{}", it["id"].as_str().unwrap())));
        cursor = body["next"].as_str().map(str::to_owned);
        if page.is_empty() || (*paging == PagingKind::Cursor && cursor.is_none()) {
            break;
        }
    }
    all
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(12))]

    #[test]
    fn pages_of_simulated_accounts_list_every_connection_once(
        servers in proptest::collection::vec((0usize..3, 0u32..25, 1u32..12), 1..=4),
        picks in proptest::collection::vec(0usize..4, 1..=40),
        extra in 0u64..3,
        times in 0u64..4,
    ) {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
        runtime.block_on(async {
            let client = reqwest::Client::builder().no_proxy().build().unwrap();
            let servers: Vec<Server> =
                servers.iter().map(|(kind, n, size)| start(PagingKind::ALL[*kind], *n, *size)).collect();
            let platforms = platforms();
            let mut accounts = Vec::new();
            let mut held = Vec::new();
            for (n, pick) in picks.iter().enumerate() {
                let (server, name) = (&servers[pick % servers.len()], format!("a{n:02}"));
                accounts.push(open(&platforms, server, &name));
                held.push(read_all_ids(&client, server, &name).await);
            }
            // Page sizes around multiples of the number of accounts.
            let n = accounts.len() as u64;
            let size = (n * times + extra).saturating_sub(1).clamp(1, 1000);
            let each = usize::try_from(share(size, n).size).unwrap();
            let n_pages = held.iter().map(|all| all.len().div_ceil(each)).max().unwrap_or(0) + 1;
            for number in 1..=n_pages {
                let page = PageRequest { number: number as u64, size };
                let listing = platforms.list(&accounts, &filter(""), page, context()).await;
                let part = |all: &Vec<String>| {
                    all.iter().skip((number - 1) * each).take(each).cloned().collect::<Vec<_>>()
                };
                let mut expected: Vec<String> = held.iter().flat_map(part).collect();
                expected.truncate(usize::try_from(size).unwrap());
                prop_assert_eq!(names(&listing), expected, "page {} of {}", number, size);
                prop_assert!(listing.failures.is_empty(), "{:?}", listing.failures);
            }
            for server in servers {
                server.stop().await;
            }
            Ok(())
        })?;
    }
}

/// A healthy platform and one with a fault, with ten connections each.
async fn healthy_and_faulty(paging: PagingKind, fault: Misbehaviour) -> (Server, Server) {
    let (good, bad) = (start(PagingKind::Page, 10, 100), start(paging, 10, 100));
    bad.set_profile(Profile { fault, ..Profile::default() });
    (good, bad)
}

#[tokio::test]
async fn a_faulty_platform_is_reported_and_the_others_are_listed() {
    use FailureKind::{Error, Throttled, Timeout};
    #[rustfmt::skip]
    let faults = [
        (Misbehaviour::Hang,         Some(Timeout),   "did not answer in time"),
        (Misbehaviour::Reset,        Some(Error),     ""),
        (Misbehaviour::Trickle,      Some(Timeout),   "did not finish its answer in time"),
        (Misbehaviour::Html,         Some(Error),     "web page"),
        (Misbehaviour::InvalidJson,  Some(Error),     ""),
        (Misbehaviour::Huge,         Some(Error),     "more than 16 MiB"),
        (Misbehaviour::WrongTypes,   Some(Error),     ""),
        (Misbehaviour::Duplicates,   None,            ""),
        (Misbehaviour::TooMany,      Some(Error),     "on a page of 5"),
        (Misbehaviour::Redirect,     Some(Error),     "30"),
        (Misbehaviour::Unauthorized, Some(Error),     "401"),
        (Misbehaviour::Throttled,    Some(Throttled), ""),
    ];
    for (fault, kind, words) in faults {
        let (good, bad) = healthy_and_faulty(PagingKind::Page, fault).await;
        let platforms = platforms();
        let accounts = [open(&platforms, &good, "good"), open(&platforms, &bad, "worse")];
        // A timeout is reached with any deadline; other faults must not reach theirs.
        let is_late = kind == Some(Timeout);
        let seconds = if is_late { 2 } else { 60 };
        let context = CallContext::until(Instant::now() + Duration::from_secs(seconds));
        let page = PageRequest { number: 1, size: 10 };
        let listing = platforms.list(&accounts, &filter(""), page, context).await;
        let names = names(&listing);
        let n_good = names.iter().filter(|name| name.starts_with("good/")).count();
        assert_eq!(n_good, 5, "{fault:?}: {names:?}");
        let distinct: std::collections::HashSet<_> = names.iter().collect();
        assert_eq!(distinct.len(), names.len(), "{fault:?}: {names:?}");
        assert!(names.len() <= 10, "{fault:?}: {names:?}");
        match kind {
            Some(kind) => {
                let [failed] = &listing.failures[..] else { panic!("{fault:?}: {listing:?}") };
                assert_eq!(failed.account.name.as_str(), "worse");
                assert_eq!(failed.failure.kind, kind, "{fault:?}: {:?}", failed.failure);
                assert!(failed.failure.detail.contains(words), "{fault:?}: {:?}", failed.failure);
                assert!(!format!("{:?}", failed.failure).contains("token-of"));
            }
            None => assert!(listing.failures.is_empty(), "{fault:?}: {:?}", listing.failures),
        }
        // Dropped, not stopped: `stop` would wait for trickling and huge responses.
        drop((good, bad));
    }
}

#[tokio::test]
async fn an_endless_list_is_read_up_to_the_requested_page() {
    let (_good, bad) = healthy_and_faulty(PagingKind::Cursor, Misbehaviour::EndlessCursor).await;
    let platforms = platforms();
    let accounts = [open(&platforms, &bad, "endless")];
    let page = |number| PageRequest { number, size: 10 };
    let first = platforms.list(&accounts, &filter(""), page(1), context()).await;
    assert_eq!(first.products.len(), 10);
    // Pages after the end repeat earlier connections.
    for number in 2..5 {
        let again = platforms.list(&accounts, &filter(""), page(number), context()).await;
        assert_eq!((again.products.len(), again.failures.len()), (0, 1), "{again:?}");
    }
    let far = platforms.list(&accounts, &filter(""), page(1_000_000), context()).await;
    assert!(far.products.is_empty());
    assert_eq!(far.failures.len(), 1, "{far:?}");
}

#[tokio::test]
async fn a_thousand_identifiers_are_looked_up_in_batches_of_a_hundred() {
    let servers: Vec<Server> = (0..3).map(|_| start(PagingKind::Offset, 200, 100)).collect();
    let platforms = platforms();
    let accounts: Vec<_> = servers
        .iter()
        .enumerate()
        .map(|(n, server)| open(&platforms, server, &format!("a{n}")))
        .collect();
    let page = PageRequest { number: 1, size: 600 };
    let all = platforms.list(&accounts, &filter(""), page, context()).await.products;
    assert_eq!(all.len(), 600);
    let iccid = |product: &gatehouse_core::Product| {
        let (_, value) = product.connection.identifiers[0].clone();
        Identifier::parse(IdentifierKind::Iccid, &value).unwrap()
    };
    let mut identifiers: Vec<Identifier> = all.iter().map(iccid).collect();
    let unknown = (0..400).map(|n| format!("8999{n:015}"));
    identifiers.extend(unknown.map(|it| Identifier::parse(IdentifierKind::Iccid, &it).unwrap()));
    let before: Vec<u64> = servers.iter().map(Server::requests).collect();
    let request = FindRequest { identifiers, ids: Vec::new() };
    let finding = platforms.find(&accounts, &request, context()).await;
    assert_eq!((finding.products.len(), finding.missing.identifiers.len()), (600, 400));
    for (server, before) in servers.iter().zip(before) {
        assert_eq!(server.requests() - before, 10);
    }
}

/// Records account, path and status of each call.
#[derive(Default)]
struct CallLog(Mutex<Vec<String>>);

impl Observer for CallLog {
    fn observe(&self, exchange: &Exchange<'_>) {
        let (account, path) = (exchange.account, exchange.raw_url().rsplit('/').next().unwrap());
        let status = exchange.result.as_ref().unwrap().status.as_u16();
        self.0.lock().unwrap().push(format!("{account} {path} {status}"));
        let values: Vec<_> = exchange.headers.iter().map(|(_, value)| value.as_str()).collect();
        assert!(
            values.contains(&"***") && !values.concat().contains(&token(account)),
            "{values:?}"
        );
    }
}

#[tokio::test]
async fn an_observer_sees_every_call() {
    let server = start(PagingKind::Page, 30, 10);
    let log = Arc::new(CallLog::default());
    let observer = Arc::clone(&log) as Arc<dyn Observer>;
    let platforms = Platforms::with_observer(options(), observer).unwrap();
    let accounts = [open(&platforms, &server, "seen")];
    let page = PageRequest { number: 2, size: 10 };
    let listing = platforms.list(&accounts, &filter(""), page, context()).await;
    assert_eq!(listing.products.len(), 10);
    let seen = log.0.lock().unwrap();
    assert_eq!(seen.len() as u64, server.requests(), "{seen:?}");
    assert!(seen.contains(&"seen connections?page=2&size=10 200".to_owned()), "{seen:?}");
}
