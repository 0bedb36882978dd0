use std::time::Duration;

use gatehouse_connectors::{AccountFailure, Failure, FailureKind, UnexpectedResponse};
use http::HeaderMap;
use insta::assert_snapshot;
use serde_json::Value;

use super::super::product_body::tests::{account, bare};
use super::*;
use crate::http::route::query::Query;

fn failure(name: &str, kind: FailureKind) -> AccountFailure {
    AccountFailure { account: account(name), failure: Failure::new(kind, "it is so") }
}

fn status(problem: Problem) -> (u16, Option<String>) {
    let reply = problem.into_reply("c-1");
    let wait = reply.headers.get(header::RETRY_AFTER).map(|it| it.to_str().unwrap().to_owned());
    (reply.status.as_u16(), wait)
}

#[test]
fn every_failure_of_an_account_has_its_status() {
    #[rustfmt::skip]
    let cases = [
        (FailureKind::Error,              502, "Bad Gateway",          "Platform error"),
        (FailureKind::Timeout,            504, "Gateway Timeout",      "Platform too slow"),
        (FailureKind::Open,               503, "Service Unavailable",  "Platform left alone"),
        (FailureKind::Throttled,          429, "Too Many Requests",    "Platform throttled"),
        (FailureKind::PageOutOfReach,     400, "Page out of reach",    "Page out of reach"),
        (FailureKind::LookupNotSupported, 501, "Lookup not supported", "Lookup not supported"),
    ];
    for (kind, status, phrase, title) in cases {
        let fields = Value::from(Problem::from(failure("acme-eu", kind)).body("c-1"));
        assert_eq!(fields["status"], status, "{kind:?}");
        assert_eq!((&fields["type"], &fields["title"]), (&phrase.into(), &title.into()));
        assert_eq!(fields["detail"], "account `acme-eu` at ALPHA: it is so");
        assert_eq!(fields["externalErrors"], Value::Array(Vec::new()));
    }
}

#[test]
fn a_problem_of_an_account_has_its_name_and_the_platforms_response() {
    let mut failure = failure("acme-eu", FailureKind::Error);
    failure.failure.response = Some(Box::new(UnexpectedResponse {
        status: 500,
        code: None,
        message: None,
        body: "<h1>No</h1>".into(),
    }));
    let fields = Value::from(Problem::from(failure).body("c-1"));
    assert_snapshot!(serde_json::to_string_pretty(&fields).unwrap(), @r#"
    {
      "type": "Bad Gateway",
      "status": 502,
      "title": "Platform error",
      "detail": "account `acme-eu` at ALPHA: it is so",
      "externalErrors": [
        {
          "status": 500,
          "body": "<h1>No</h1>"
        }
      ],
      "relatedParty": [
        {
          "name": "acme-eu",
          "characteristic": [
            {
              "name": "PLATFORM",
              "value": "ALPHA"
            },
            {
              "name": "PLATFORM_ACCOUNT",
              "value": "100234"
            }
          ],
          "role": "customer"
        }
      ],
      "correlationId": "c-1",
      "@type": "problem"
    }
    "#);
}

#[test]
fn a_too_small_page_is_reported_before_failures() {
    let listing = Listing {
        products: vec![bare("1")],
        failures: vec![failure("a", FailureKind::Open), failure("b", FailureKind::Timeout)],
        too_many_accounts: Some(5),
    };
    let (products, problems) = page_contents(listing, PageRequest { number: 1, size: 3 });
    assert_eq!(products.len(), 1);
    let fields: Vec<_> = problems.iter().map(|it| Value::from(it.body("c-1"))).collect();
    let statuses: Vec<_> = fields.iter().map(|it| it["status"].as_u64().unwrap()).collect();
    assert_eq!(statuses, [400, 503, 504]);
    assert_eq!(
        (&fields[0]["type"], &fields[0]["title"]),
        (&"Bad Request".into(), &"Small page size".into())
    );
    assert_eq!(
        fields[0]["detail"],
        "not all items could be retrieved because the requested pageSize (3) is less than the number of \
         configured accounts (5)"
    );
}

#[test]
fn a_found_product_is_returned_although_another_account_failed() {
    let id = "ALPHA-1".parse().unwrap();
    let failures = vec![failure("a", FailureKind::Open)];
    let result = ReadResult { product: Some(bare("1")), failures };
    assert_eq!(product_or_problem(result, &id).unwrap().id(), id);
}

#[test]
fn a_product_is_a_404_only_if_every_account_answered() {
    let id = "ALPHA-1".parse().unwrap();
    let read =
        |failures| product_or_problem(ReadResult { product: None, failures }, &id).unwrap_err();
    assert_eq!(status(read(Vec::new())), (404, None));
    let both = vec![failure("a", FailureKind::Timeout), failure("b", FailureKind::Error)];
    assert_eq!(status(read(both)), (504, None), "the first failure decides");
    for (kind, retry_after, expected) in [
        (FailureKind::Open, None, (503, Some("1"))),
        (FailureKind::Throttled, Some(Duration::from_millis(2500)), (429, Some("3"))),
        (FailureKind::Throttled, Some(Duration::ZERO), (429, Some("1"))),
        (FailureKind::Error, Some(Duration::from_secs(60)), (502, Some("60"))),
    ] {
        let mut failure = failure("a", kind);
        failure.failure.retry_after = retry_after;
        let (status, wait) = status(read(vec![failure]));
        assert_eq!((status, wait.as_deref()), expected, "{kind:?}");
    }
}

fn query(raw: &str) -> Query {
    Query::parse(raw, LIST.query, LIST.filter, &HeaderMap::new())
}

#[test]
fn page_number_and_size_are_required_and_limited() {
    let page = |number, size| Some(PageRequest { number, size });
    for (raw, number_max, expected) in [
        ("pageNumber=1&pageSize=1", 10, page(1, 1)),
        ("pageSize=1000&platform=A;pageNumber=10", 10, page(10, 1000)),
        ("pageNumber=11&pageSize=1", 10, None),
        ("pageNumber=1&pageSize=1001", 10, None),
        ("pageNumber=0&pageSize=1", 10, None),
        ("pageNumber=+1&pageSize=1", 10, None),
        ("pageNumber=1&pageSize=", 10, None),
        ("pageNumber=1&pageSize=ten", 10, None),
        ("pageNumber=1", 10, None),
        ("", 10, None),
    ] {
        let mut query = query(raw);
        assert_eq!(paging::explicit_page(&mut query, number_max), expected, "{raw}");
        assert_eq!(query.check().is_ok(), expected.is_some(), "{raw}");
    }
    let mut both = query("pageNumber=0");
    paging::explicit_page(&mut both, 10);
    let fields = Value::from(both.check().unwrap_err().body("c-1"));
    assert_eq!(
        fields["detail"],
        "pageSize is missing, and must be a whole number from 1 to 1000; pageNumber must be a whole number \
         from 1 to 10, not `0`"
    );
}

#[test]
fn links_lead_to_allowed_pages_and_keep_the_rest_of_the_query() {
    let links = |raw: &str, number, number_max| {
        let page = PageRequest { number, size: 5 };
        paging::links_without_total("https://g/acme/product", &query(raw), page, number_max)
            .unwrap()
    };
    assert_eq!(
        links("pageSize=5&pageNumber=1", 1, 3),
        "<https://g/acme/product?pageNumber=1&pageSize=5>;rel=\"self\", \
         <https://g/acme/product?pageNumber=1&pageSize=5>;rel=\"first\", \
         <https://g/acme/product?pageNumber=2&pageSize=5>;rel=\"next\""
    );
    let rels = |raw: &str, number| {
        let links = links(raw, number, 3);
        let rel = |link: &str| link.split_once(";rel=").unwrap().1.replace('"', "");
        links.split(", ").map(rel).collect::<Vec<_>>().join(" ")
    };
    assert_eq!(rels("", 2), "self first next prev");
    assert_eq!(rels("", 3), "self first prev");
    for (raw, rest) in [
        ("platform=A&pageNumber=1;platform=B&pageSize=5", "platform=A;platform=B"),
        ("fields=id,@type&pageSize=5&colour=red", "colour=red&fields=id,@type"),
        ("fields=a%26b%20c", "fields=a%26b%20c"),
        ("filter=platform%3DA%26pageSize%3D5", "filter=platform%3DA"),
    ] {
        let link = links(raw, 1, 1);
        let (first, _) = link.split_once('>').unwrap();
        assert_eq!(
            first,
            format!("<https://g/acme/product?{rest}&pageNumber=1&pageSize=5"),
            "{raw}"
        );
    }
}

#[test]
fn a_link_header_is_never_longer_than_8_kib() {
    let rels = |n_bytes: usize| {
        let raw = format!("customProperty.value={}", "x".repeat(n_bytes));
        let page = PageRequest { number: 2, size: 5 };
        let links = paging::links_without_total("https://g/acme/product", &query(&raw), page, 9);
        let links = links.unwrap_or_default();
        assert!(links.len() <= 8192, "{}", links.len());
        let rel = |link: &str| link.split_once(";rel=").unwrap().1.replace('"', "");
        if links.is_empty() { Vec::new() } else { links.split(", ").map(rel).collect() }
    };
    assert_eq!(rels(1500), ["self", "first", "next", "prev"]);
    assert_eq!(rels(2400), ["self", "next", "prev"]);
    assert_eq!(rels(3500), ["self", "next"]);
    assert_eq!(rels(6000), ["next"]);
    assert_eq!(rels(9000), Vec::<String>::new());
}
