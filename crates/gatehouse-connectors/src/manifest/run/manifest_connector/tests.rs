mod details;
mod found;
mod sessions;

use std::time::Duration;

use futures_util::future::join_all;
use gatehouse_core::account::Credentials;
use serde_json::{Value, json};

use super::*;
use crate::client::BaseUrl;
use crate::client::tests::platform::{Platform, Reaction, reply};
use crate::client::tests::{UNLIMITED, advance, here, metered, patient, pool};

const SECRET: &str = "hunter22-hunter22";

const REST: &str = r#"
look_up:
  id: { call: { get: "/sims/{value}" }, items: $ }
  iccid: { call: { get: /sims, query: { iccid: "{values}", page: "{page.number}" } }, items: $.data, at_once: 1000 }
  imsi: never_carried
  msisdn: never_carried
  serial_number: never_carried
product:
  id: $.id
  status: { word: $.status, otherwise: UNKNOWN }
  identifiers: { iccid: $.iccid }
"#;

const NUMBERED: &str = r#"
paging: { by: number, size: { max: 2 }, total: $.total }
list: { call: { get: /sims, query: { page: "{page.number}", size: "{page.size}" } }, items: $.data }
"#;

const SESSION: &str = r#"
session:
  calls: [{ call: { post: /token, json: { key: "{credentials.apiKey}" } }, take: { token: $.token }, expires_in: $.lasts }]
every_call: { query: { token: "{session.token}" } }
"#;

fn connector(platform: &Platform, parts: &[&str]) -> ManifestConnector {
    let head = "{ manifest: 1, name: alpha, title: Alpha, connectivity: CELLULAR }";
    let head = head.trim_matches(['{', '}', ' ']).replace(", ", "\n");
    let account = "\naccount: { credentials: { apiKey: { description: The key } } }\n";
    let text = format!("{head}{account}{}", parts.concat());
    let manifest = Manifest::parse("m.yaml", &text).unwrap_or_else(|faults| panic!("{faults}"));
    let mut credentials = Credentials::default();
    credentials.insert("apiKey".into(), SECRET.into());
    let values = manifest.read_account(&serde_json::Map::new(), &credentials, &here());
    let values = values.unwrap_or_else(|faults| panic!("{faults:?}"));
    let base = BaseUrl::parse(&platform.url(), &here()).unwrap();
    let secrets = vec![Zeroizing::new(SECRET.to_owned())];
    let name = manifest.name().clone();
    let client =
        PlatformClient::new(Arc::new(pool()), &name, base, UNLIMITED, metered().1, secrets);
    ManifestConnector::new(Arc::new(manifest), values, client)
}

async fn first(connector: &ManifestConnector) -> Result<PlatformPage, Failure> {
    connector.page(patient(), &Position::Page { index: 0, size: 2 }).await
}

fn json_reply(body: Value) -> Reaction {
    reply(200, "", &body.to_string())
}

fn is_log_in(head: &str) -> bool {
    head.starts_with("POST /token")
}

#[tokio::test]
async fn fifty_calls_at_once_log_in_once() {
    let mut platform = Platform::new(|_, head| match is_log_in(head) {
        true => json_reply(json!({"token": "tok-1", "lasts": u64::MAX})),
        false => json_reply(json!({"data": [], "total": 0})),
    })
    .await;
    let connector = connector(&platform, &[SESSION, NUMBERED, REST]);
    let pages = join_all((0..50).map(|_| first(&connector))).await;
    assert!(pages.iter().all(Result::is_ok), "{pages:?}");
    let received_lines = platform.received_lines();
    assert_eq!(received_lines.iter().filter(|it| is_log_in(it)).count(), 1);
    assert_eq!(received_lines.len(), 51);
}

#[tokio::test]
async fn a_session_that_worked_is_renewed_once_and_a_fresh_one_is_not() {
    let mut platform = Platform::new(|nth, head| match (is_log_in(head), nth) {
        (true, _) => json_reply(json!({"token": format!("tok-{nth}")})),
        (false, 1) => json_reply(json!({"data": []})),
        _ => reply(401, "", &json!({"said": head.lines().next()}).to_string()),
    })
    .await;
    let connector = connector(&platform, &[SESSION, NUMBERED, REST]);
    assert!(first(&connector).await.is_ok());
    let failure = first(&connector).await.unwrap_err();
    assert_eq!(platform.received_lines().len(), 5);
    // The token must stay hidden, wherever it was sent.
    assert!(
        failure.response.as_ref().is_some_and(|it| it.body.contains("token=***")),
        "{failure:?}"
    );
    assert!(!format!("{failure:?}").contains("tok-"), "{failure:?}");
    first(&connector).await.unwrap_err();
    assert_eq!(platform.received_lines().len(), 1);
    advance(Duration::from_secs(61)).await;
    first(&connector).await.unwrap_err();
    assert_eq!(platform.received_lines().len(), 3);
}

#[tokio::test]
async fn a_rejected_log_in_is_shared_and_not_retried_at_once() {
    let mut platform = Platform::new(|_, _| reply(401, "", "{}")).await;
    let connector = connector(&platform, &[SESSION, NUMBERED, REST]);
    let all = join_all((0..10).map(|_| first(&connector))).await;
    let detail = "the platform answered 401 to the log-in of the account";
    assert!(all.iter().all(|it| it.as_ref().is_err_and(|it| it.detail == detail)), "{all:?}");
    for seconds in [60, 120, 240] {
        let failure = first(&connector).await.unwrap_err();
        let again = format!("{detail}; the next log-in is in {seconds} s at the earliest");
        assert_eq!(failure.detail, again);
        assert_eq!(platform.received_lines().len(), 1);
        advance(Duration::from_secs(seconds)).await;
        first(&connector).await.unwrap_err();
    }
}

#[tokio::test]
async fn a_session_expires_as_the_platform_says() {
    let mut platform = Platform::new(|_, head| match is_log_in(head) {
        true => json_reply(json!({"token": "tok-1", "lasts": 100})),
        false => json_reply(json!({"data": []})),
    })
    .await;
    let connector = connector(&platform, &[SESSION, NUMBERED, REST]);
    for (seconds, n_asked) in [(0, 2), (80, 1), (15, 2)] {
        advance(Duration::from_secs(seconds)).await;
        assert!(first(&connector).await.is_ok());
        assert_eq!(platform.received_lines().len(), n_asked, "{seconds}");
    }
}

#[tokio::test]
async fn a_look_up_may_have_twenty_pages_and_no_more() {
    for (total, is_told) in [(1, true), (20, true), (21, false)] {
        let mut platform = Platform::new(move |nth, _| {
            json_reply(json!({"data": [{"id": nth, "iccid": "1"}], "total": total}))
        })
        .await;
        let connector = connector(&platform, &[NUMBERED, REST]);
        let by = LookUpKey::Number(gatehouse_core::IdentifierKind::Iccid);
        let found = connector.look_up(patient(), by, &["1".to_owned()]).await;
        assert_eq!(found.is_ok(), is_told, "{found:?}");
        assert_eq!(platform.received_lines().len(), total.min(20));
    }
}

#[tokio::test]
async fn many_values_are_split_so_that_addresses_stay_short() {
    let mut platform = Platform::new(|_, _| json_reply(json!({"data": [], "total": 0}))).await;
    let connector = connector(&platform, &[NUMBERED, REST]);
    let values: Vec<String> = (0..1000).map(|n| format!("8949{n:016}")).collect();
    let by = LookUpKey::Number(gatehouse_core::IdentifierKind::Iccid);
    assert_eq!(connector.look_up(patient(), by, &values).await, Ok(Vec::new()));
    let received_lines = platform.received_lines();
    assert!(
        received_lines.iter().all(|it| it.len() < TARGET_BYTES_MAX + 10)
            && received_lines.len() == 4,
        "{}",
        received_lines.len()
    );
    let parts = received_lines.iter().filter_map(|it| it.split(['=', '&']).nth(1));
    assert_eq!(parts.collect::<Vec<_>>().join(","), values.join(","));
}

#[tokio::test]
async fn a_value_that_cannot_be_in_a_url_is_not_found() {
    let mut platform = Platform::new(|_, _| json_reply(json!({}))).await;
    let connector = connector(&platform, &[NUMBERED, REST]);
    for value in ["", ".", ".."] {
        assert_eq!(
            connector.look_up(patient(), LookUpKey::Id, &[value.to_owned()]).await,
            Ok(Vec::new())
        );
    }
    assert_eq!(platform.received_lines(), Vec::<String>::new());
}

#[tokio::test]
async fn lists_may_be_null_or_empty_but_not_missing() {
    for (body, is_fine) in [
        (json!({"data": null}), true),
        (json!({"data": []}), true),
        (json!({"data": {"id": 1}}), true),
        (json!({}), false),
        (json!({"data": [{"name": "no id"}]}), false),
        (json!({"data": "no list"}), false),
    ] {
        let shown = body.clone();
        let platform = Platform::new(move |_, _| json_reply(body.clone())).await;
        let page = first(&connector(&platform, &[NUMBERED, REST])).await;
        assert_eq!(page.is_ok(), is_fine, "{shown}: {page:?}");
    }
}

#[tokio::test]
async fn invalid_json_is_a_failure_and_not_an_empty_list() {
    let deep = format!("[{}{}]", "[".repeat(200), "]".repeat(200));
    for body in [r#"[{"id": "a\ud83d"}]"#, "[{\"id\": 1e999}]", deep.as_str(), "[1,", "\u{1}"] {
        let shown = body.to_owned();
        let platform = Platform::new(move |_, _| reply(200, "", &shown)).await;
        let rest = REST.replace("$.data", "$");
        let failure = first(&connector(&platform, &[NUMBERED, &rest])).await.unwrap_err();
        assert_eq!(failure.response.unwrap().body, "", "{body}");
    }
}

#[tokio::test]
async fn a_repeated_last_page_beyond_the_end_is_empty() {
    let platform = Platform::new(|_, _| json_reply(json!({"data": [{"id": 1}], "total": 3}))).await;
    let connector = connector(&platform, &[NUMBERED, REST]);
    let page = connector.page(patient(), &Position::Page { index: 2, size: 2 }).await.unwrap();
    assert!(page.connections.is_empty() && page.is_last, "{page:?}");
}

#[tokio::test]
async fn links_are_followed_with_the_size_that_is_wanted_and_nothing_else_changed() {
    const LINKED: &str = r#"
paging: { by: cursor, size: { max: 9 }, next: { url: $.next } }
list: { call: { get: /sims, query: { page: { size: "{page.size}" } } }, items: $.data }
"#;
    let mut platform = Platform::new(|nth, _| match nth {
        0 => json_reply(
            json!({"data": [{"id": 1}], "next": "/sims?page[size]=2&after=%FF%20a+b&flag"}),
        ),
        _ => json_reply(json!({"data": [{"id": 2}], "next": "https://eve.example/?key=1"})),
    })
    .await;
    let rest = REST.replace(", page: \"{page.number}\"", "");
    let connector = connector(&platform, &[LINKED, &rest]);
    let page = connector.page(patient(), &Position::Cursor { after: None, size: 2 }).await.unwrap();
    let next = Position::Cursor { after: page.next, size: 7 };
    let failure = connector.page(patient(), &next).await.unwrap_err();
    assert!(failure.detail.starts_with("the platform leads to `eve.example`"), "{failure:?}");
    let received_lines =
        ["GET /sims?page%5Bsize%5D=2", "GET /sims?page%5Bsize%5D=7&after=%FF%20a+b&flag"];
    assert_eq!(platform.received_lines(), received_lines);
}
