use std::collections::HashSet;

use gatehouse_core::identifier::luhn_digit;
use gatehouse_core::product::Connectivity;
use proptest::prelude::*;
use serde_json::Value;

use super::super::platform::Tokens;
use super::*;

fn platform(paging: PagingKind, n_connections: u32) -> Platform {
    Platform { paging, n_connections, ..Platform::default() }
}

fn get(platform: &Platform, target: &str) -> FullResponse {
    get_with_fault(platform, Misbehaviour::None, target)
}

fn get_with_fault(platform: &Platform, fault: Misbehaviour, target: &str) -> FullResponse {
    let (path, query) = target.split_once('?').unwrap_or((target, ""));
    let head =
        RequestHead { method: &Method::GET, path, query, authorization: Some("Bearer token-1") };
    respond(platform, &Profile { fault, ..Profile::default() }, head)
}

fn json(response: &FullResponse) -> Value {
    assert_eq!(response.headers()[CONTENT_TYPE], "application/json");
    serde_json::from_slice(response.body()).unwrap()
}

fn ok_json(response: &FullResponse) -> Value {
    assert_eq!(response.status(), StatusCode::OK, "{response:?}");
    json(response)
}

fn message(response: &FullResponse, status: u16) -> String {
    assert_eq!(response.status(), status, "{response:?}");
    let body = json(response);
    assert_eq!(body["status"], status);
    body["message"].as_str().unwrap().to_owned()
}

fn ids(page: &Value) -> Vec<String> {
    let connections = page["connections"].as_array().unwrap();
    connections.iter().map(|it| it["id"].as_str().unwrap().to_owned()).collect()
}

/// The connections of all pages, in order.
fn walk(platform: &Platform, size: u32) -> Vec<Value> {
    let mut seen = Vec::new();
    let mut next = None;
    for n in 0_u64.. {
        let offset = n * u64::from(size);
        let target = match (platform.paging, &next) {
            (PagingKind::Page, _) => format!("page={}&size={size}", n + 1),
            (PagingKind::Offset, _) => format!("offset={offset}&limit={size}"),
            (PagingKind::Cursor, None) => format!("limit={size}"),
            (PagingKind::Cursor, Some(cursor)) => format!("limit={size}&cursor={cursor}"),
        };
        let page = ok_json(&get(platform, &format!("/v1/connections?{target}")));
        let connections = page["connections"].as_array().unwrap();
        let n_expected = u64::from(platform.n_connections).saturating_sub(offset).min(size.into());
        assert_eq!(connections.len() as u64, n_expected, "page {n}");
        seen.extend(connections.iter().cloned());
        next = page.get("next").map(|cursor| cursor.as_str().unwrap().to_owned());
        let is_last = match platform.paging {
            PagingKind::Cursor => {
                assert!(page.get("total").is_none());
                next.is_none()
            }
            _ => {
                assert!(page.get("next").is_none());
                assert_eq!(page["total"], platform.n_connections);
                connections.is_empty()
            }
        };
        if is_last {
            break;
        }
    }
    seen
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(48))]

    #[test]
    fn all_pages_list_every_connection_once_and_each_can_be_looked_up(
        kind in prop_oneof![Just(PagingKind::Page), Just(PagingKind::Offset), Just(PagingKind::Cursor)],
        is_satellite: bool,
        shows_check_digit: bool,
        seed: u64,
        n in 0_u32..150,
        size in 1_u32..=100,
    ) {
        let connectivity =
            if is_satellite { Connectivity::Satellite } else { Connectivity::Cellular };
        let platform =
            Platform { seed, connectivity, shows_check_digit, ..platform(kind, n) };
        let seen = walk(&platform, size);
        let different: HashSet<&str> = seen.iter().map(|it| it["id"].as_str().unwrap()).collect();
        prop_assert_eq!(different.len(), n as usize);
        prop_assert_eq!(seen.len(), n as usize);
        for connection in &seen {
            let id = connection["id"].as_str().unwrap();
            let read = ok_json(&get(&platform, &format!("/v1/connections/{id}")));
            prop_assert_eq!(&read, connection);
        }
        for parameter in ["iccid", "imsi", "msisdn", "serial"] {
            let carrying: Vec<&Value> =
                seen.iter().filter(|it| it.get(parameter).is_some()).collect();
            for some in carrying.chunks(100) {
                let values: Vec<_> = some.iter().map(|it| it[parameter].as_str().unwrap()).collect();
                let target = format!("/v1/connections?{parameter}={}", values.join(","));
                let page = ok_json(&get(&platform, &target));
                let looked_up: Vec<&Value> = page["connections"].as_array().unwrap().iter().collect();
                prop_assert_eq!(&looked_up, &some);
            }
        }
    }

    #[test]
    fn every_request_gets_a_response(path in "/\\PC{0,20}", query in "\\PC{0,60}") {
        for kind in PagingKind::ALL {
            let platform = platform(kind, 10);
            get(&platform, &format!("{path}?{query}"));
            get(&platform, &format!("/v1/connections?{query}"));
            get(&platform, &format!("/v1/connections{path}"));
        }
    }
}

#[test]
fn the_last_page_of_a_million_connections_is_served() {
    for (kind, target) in
        [(PagingKind::Page, "page=10000&size=100"), (PagingKind::Offset, "offset=999900&limit=100")]
    {
        let platform = platform(kind, 1_000_000);
        let page = ok_json(&get(&platform, &format!("/v1/connections?{target}")));
        assert_eq!((ids(&page).len(), &page["total"]), (100, &1_000_000.into()));
        let past = target.replace("10000", "10001").replace("999900", "1000000");
        assert!(ids(&ok_json(&get(&platform, &format!("/v1/connections?{past}")))).is_empty());
    }
    let platform = platform(PagingKind::Cursor, 1_000_000);
    let cursor = Fleet::of(&platform, "token-1").cursor(999_950);
    let page = ok_json(&get(&platform, &format!("/v1/connections?cursor={cursor}")));
    assert_eq!(ids(&page).len(), 50);
    assert!(page.get("next").is_none());
}

#[test]
fn faults_of_a_list_request_are_reported() {
    use PagingKind::{Cursor, Offset, Page};
    #[rustfmt::skip]
    let cases = [
        (Page,   "page=0",                   "page must be a whole number from 1 on, not `0`"),
        (Page,   "page=-1",                  "page must be a whole number from 1 on, not `-1`"),
        (Page,   "page=+1",                  "page must be a whole number from 1 on, not `+1`"),
        (Page,   "size=0",                   "size must be a whole number, 1 to 100, not `0`"),
        (Page,   "page=1&size=101",          "size must be a whole number, 1 to 100, not `101`"),
        (Page,   "offset=0",                 "offset is not a parameter of this platform, which is asked with page and size, or with one of iccid, imsi, msisdn, serial"),
        (Page,   "page=1&limit=5",           "limit is not a parameter of this platform, which is asked with page and size"),
        (Offset, "page=1",                   "page is not a parameter of this platform, which is asked with offset and limit"),
        (Offset, "offset=x",                 "offset must be a whole number from 0 on, not `x`"),
        (Offset, "limit=101",                "limit must be a whole number, 1 to 100, not `101`"),
        (Cursor, "offset=5",                 "offset is not a parameter of this platform, which is asked with cursor and limit"),
        (Cursor, "cursor=",                  "cursor must be what `next` was on a page of this account, not ``"),
        (Cursor, "cursor=0123456789",        "cursor must be what `next` was on a page of this account, not `0123456789`"),
        (Page,   "status=in-use",            "status is not a parameter of this platform"),
        (Page,   "page=1&page=2",            "page is there more than once"),
        (Page,   "page=%ff",                 "page=%ff is not UTF-8 once it is decoded"),
        (Page,   "iccid=",                   "iccid must name one or more, with commas between"),
        (Page,   "iccid=1&imsi=2",           "imsi can't stand beside iccid: one kind of identifier is looked up at a time, without paging"),
        (Page,   "page=1&msisdn=2",          "page can't stand beside msisdn"),
    ];
    for (kind, query, expected) in cases {
        let response = get(&platform(kind, 10), &format!("/v1/connections?{query}"));
        let message = message(&response, 400);
        assert!(message.starts_with(expected), "{query}: {message}");
    }
}

#[test]
fn requests_at_a_limit_are_accepted_and_beyond_it_refused() {
    let platform = Platform { page_size_max: 7, look_up_max: 3, ..platform(PagingKind::Page, 20) };
    let get = |query: &str| get(&platform, &format!("/v1/connections?{query}"));
    assert_eq!(ids(&ok_json(&get("size=7"))).len(), 7);
    message(&get("size=8"), 400);
    assert_eq!(ids(&ok_json(&get(""))).len(), 7, "the default size");
    ok_json(&get("imsi=1,2,3"));
    assert_eq!(message(&get("imsi=1,2,3,4"), 400), "imsi must name at most 3, not 4");
    assert!(ids(&ok_json(&get(&format!("page={}", u64::MAX)))).is_empty());
}

#[test]
fn an_iccid_is_looked_up_with_and_without_its_check_digit_and_listed_once() {
    let platform = platform(PagingKind::Page, 20);
    let first = ok_json(&get(&platform, "/v1/connections?size=1"));
    let short = first["connections"][0]["iccid"].as_str().unwrap();
    let long = format!("{short}{}", luhn_digit(short).unwrap());
    let target = format!("/v1/connections?iccid={long},{short}%2C{short},891234567890123456");
    assert_eq!(ids(&ok_json(&get(&platform, &target))), ids(&first));
}

#[test]
fn the_token_selects_the_account() {
    let platform = platform(PagingKind::Page, 5);
    let list = |platform: &Platform, authorization: Option<&str>| {
        let head =
            RequestHead { method: &Method::GET, path: CONNECTIONS, query: "", authorization };
        respond(platform, &Profile::default(), head)
    };
    let (one, two) = (list(&platform, Some("Bearer one")), list(&platform, Some("Bearer two")));
    assert_ne!(ids(&ok_json(&one)), ids(&ok_json(&two)));
    assert_eq!(ids(&ok_json(&one)), ids(&ok_json(&list(&platform, Some("bearer  one")))));
    for missing in
        [None, Some(""), Some("Bearer"), Some("Bearer "), Some("Basic b25l"), Some("one")]
    {
        let response = list(&platform, missing);
        assert!(message(&response, 401).contains("Authorization: Bearer <token>"), "{missing:?}");
        assert_eq!(response.headers()[WWW_AUTHENTICATE], "Bearer");
    }
    let strict = Platform { tokens: Tokens::only(vec!["sesame".into()]), ..platform };
    ok_json(&list(&strict, Some("Bearer sesame")));
    message(&list(&strict, Some("Bearer one")), 401);
    assert!(!format!("{strict:?}").contains("sesame"));
}

#[test]
fn unknown_paths_are_404_and_only_get_is_allowed() {
    let platform = platform(PagingKind::Page, 5);
    for path in
        ["/", "/v1", "/v1/connection", "/v1/connectionsx", "/v1/connections/", "/v2/connections"]
    {
        assert_eq!(message(&get(&platform, path), 404), format!("there is nothing at {path}"));
    }
    for id in ["x", "0000000000", "../x", "%2e%2e", "%ff"] {
        let message = message(&get(&platform, &format!("/v1/connections/{id}")), 404);
        assert!(message.contains("in this account"), "{id}: {message}");
    }
    message(&get(&platform, "/v1/connections/0000000000?page=1"), 400);
    for method in [Method::POST, Method::PUT, Method::PATCH, Method::DELETE, Method::HEAD] {
        let authorization = Some("Bearer t");
        let head = RequestHead { method: &method, path: CONNECTIONS, query: "", authorization };
        let response = respond(&platform, &Profile::default(), head);
        assert_eq!(message(&response, 405), "this is only for GET");
        assert_eq!(response.headers()[ALLOW], "GET");
    }
}

const LIST: &str = "/v1/connections?size=4";

#[test]
fn faults_of_the_status_have_their_headers() {
    let platform = platform(PagingKind::Page, 10);
    for (fault, status, name, value) in [
        (Misbehaviour::Unauthorized, 401, WWW_AUTHENTICATE, "Bearer"),
        (Misbehaviour::Throttled, 429, RETRY_AFTER, "1"),
        (Misbehaviour::Redirect, 302, LOCATION, "http://elsewhere.invalid/v1/connections"),
    ] {
        let response = get_with_fault(&platform, fault, LIST);
        message(&response, status);
        assert_eq!(response.headers()[name], value);
    }
    let response = get_with_fault(&platform, Misbehaviour::Html, LIST);
    assert_eq!(response.status(), StatusCode::OK);
    assert_eq!(response.headers()[CONTENT_TYPE], "text/html; charset=utf-8");
    assert!(response.body().starts_with(b"<!doctype html>"));
}

#[test]
fn invalid_json_breaks_off() {
    let platform = platform(PagingKind::Page, 10);
    let response = get_with_fault(&platform, Misbehaviour::InvalidJson, LIST);
    assert_eq!(response.status(), StatusCode::OK);
    assert!(response.body().starts_with(b"{\"connections\":[{\"id\""));
    assert!(serde_json::from_slice::<Value>(response.body()).is_err());
}

#[test]
fn wrong_types_have_the_right_names() {
    let platform = platform(PagingKind::Page, 10);
    let page = ok_json(&get_with_fault(&platform, Misbehaviour::WrongTypes, LIST));
    assert!(page["connections"].is_object() && page["total"].is_string() && page["next"].is_u64());
    let id = ids(&ok_json(&get(&platform, LIST))).remove(0);
    let target = format!("/v1/connections/{id}");
    let one = ok_json(&get_with_fault(&platform, Misbehaviour::WrongTypes, &target));
    assert!(one["id"].is_u64() && one["properties"].is_string());
}

#[test]
fn duplicates_repeat_the_first_connection_as_the_last() {
    let platform = platform(PagingKind::Page, 10);
    let right = ids(&ok_json(&get(&platform, LIST)));
    let seen = ids(&ok_json(&get_with_fault(&platform, Misbehaviour::Duplicates, LIST)));
    assert_eq!(seen, [0, 1, 2, 0].map(|n: usize| right[n].clone()));
    let alone = get_with_fault(&platform, Misbehaviour::Duplicates, "/v1/connections?size=1");
    assert_eq!(ids(&ok_json(&alone)), [0, 0].map(|n: usize| right[n].clone()));
    let empty = Platform { n_connections: 0, ..platform };
    assert!(ids(&ok_json(&get_with_fault(&empty, Misbehaviour::Duplicates, LIST))).is_empty());
}

#[test]
fn too_many_exceeds_the_requested_number() {
    let platform = platform(PagingKind::Page, 10);
    for target in [LIST, "/v1/connections?page=3&size=4", "/v1/connections?imsi=1,2,3,4"] {
        let seen = ids(&ok_json(&get_with_fault(&platform, Misbehaviour::TooMany, target)));
        assert_eq!(seen.len(), 14, "{target}");
    }
}

#[test]
fn an_endless_cursor_never_ends() {
    for n in [0, 1, 10] {
        let platform = platform(PagingKind::Cursor, n);
        let mut target = "/v1/connections?limit=4".to_owned();
        let mut n_seen = 0;
        for _ in 0..20 {
            let page = ok_json(&get_with_fault(&platform, Misbehaviour::EndlessCursor, &target));
            n_seen += ids(&page).len();
            target = format!("/v1/connections?limit=4&cursor={}", page["next"].as_str().unwrap());
        }
        assert!(n == 0 || n_seen > n as usize, "{n_seen} of {n}");
    }
}
