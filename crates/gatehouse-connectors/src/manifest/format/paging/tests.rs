use http::{HeaderName, HeaderValue};
use proptest::prelude::*;
use serde_json::json;

use super::*;
use crate::manifest::tests::read;

fn headers(all: &[(&'static str, &str)]) -> HeaderMap {
    let pair = |(name, value): &(&'static str, &str)| {
        (HeaderName::from_static(name), HeaderValue::from_str(value).unwrap())
    };
    let mut headers = HeaderMap::new();
    for (name, value) in all.iter().map(pair) {
        headers.append(name, value);
    }
    headers
}

#[test]
fn pages_are_fixed_or_between_bounds() {
    #[rustfmt::skip]
    let cases = [
        ("{ max: 100 }",           Ok((1, 100))),
        ("{ min: 10, max: 10 }",   Ok((10, 10))),
        ("{ fixed: 100 }",         Ok((100, 100))),
        ("{ max: 10000 }",         Ok((1, 10_000))),
        ("{ max: 10001 }",         Err("must be sizes from 1 to 10000")),
        ("{ max: 0 }",             Err("must be sizes from 1 to 10000")),
        ("{ fixed: 0 }",           Err("must be sizes from 1 to 10000")),
        ("{ min: 11, max: 10 }",   Err("has `min` 11, which is more than `max` 10")),
        ("{ fixed: 5, max: 10 }",  Err("has `fixed`, and then neither `max` nor `min`")),
        ("{ min: 5 }",             Err("must have `max`, or `fixed`")),
        ("{}",                     Err("must have `max`, or `fixed`")),
    ];
    for (text, expected) in cases {
        let size: PageSize = read(text);
        let shown = size.fault().map_or(Ok(size.bounds()), Err);
        assert_eq!(shown, expected.map_err(str::to_owned), "{text}");
    }
}

#[test]
fn paging_capabilities_follow_from_the_manifest() {
    let paging: Paging = read("{ by: number, size: { fixed: 50 }, total: $.n }");
    assert_eq!(paging.capabilities(), connector::Paging::fixed(50));
    assert_eq!(paging.first(), 1);
    let paging: Paging = read("{ by: offset, size: { max: 9 }, ends_short: true }");
    let expected =
        connector::Paging { tells_total: false, ends_short: true, ..connector::Paging::offset(9) };
    assert_eq!(paging.capabilities(), expected);
    // Cursor paging makes no use of a total.
    let paging: Paging = read("{ by: cursor, size: { max: 9 }, total: $.n, next: { body: $.c } }");
    assert_eq!(paging.capabilities(), connector::Paging::cursor(9));
}

#[test]
fn totals_are_whole_numbers_in_the_body_or_a_header() {
    let in_body: Paging = read("{ by: number, size: { max: 9 }, total: $.meta.total }");
    #[rustfmt::skip]
    let cases = [
        (json!({"meta": {"total": 237}}),    Some(237)),
        (json!({"meta": {"total": 0}}),      Some(0)),
        (json!({"meta": {"total": 237.0}}),  Some(237)),
        (json!({"meta": {"total": " 237 "}}),Some(237)),
        (json!({"meta": {"total": -1}}),     None),
        (json!({"meta": {"total": 2.5}}),    None),
        (json!({"meta": {"total": "many"}}), None),
        (json!({"meta": {"total": null}}),   None),
        (json!({"meta": {"total": [1]}}),    None),
        (json!([]),                          None),
    ];
    for (body, expected) in cases {
        assert_eq!(in_body.total(&HeaderMap::new(), &body), expected, "{body}");
    }
    let in_header: Paging = read("{ by: number, size: { max: 9 }, total: { header: X-Total } }");
    let total = |all: &[(&'static str, &str)]| in_header.total(&headers(all), &json!({}));
    assert_eq!(total(&[("x-total", "12")]), Some(12));
    assert_eq!(total(&[("x-total", "")]), None);
    assert_eq!(total(&[]), None);
}

#[test]
fn a_page_says_that_it_is_the_last_or_doesnt() {
    let paging: Paging =
        read("{ by: number, size: { max: 9 }, last: { path: $.isLast, equals: true } }");
    assert!(paging.is_last(&json!({"isLast": true})));
    for body in [json!({"isLast": false}), json!({"isLast": "true"}), json!({}), json!(null)] {
        assert!(!paging.is_last(&body), "{body}");
    }
}

#[test]
fn the_next_page_is_found_in_five_ways() {
    let (body, last) =
        (json!({"c": "m1", "n": 7, "u": "/x?a", "e": "", "z": null}), json!({"id": 9}));
    let all = headers(&[("x-next", "m2"), ("link", "</y>; rel=next"), ("x-empty", "")]);
    let next_page = |next: &str| read::<Next>(next).next_page(&all, &body, Some(&last));
    let (mark, link) =
        (|it: &str| Some(NextPage::Cursor(it.into())), |it: &str| Some(NextPage::Link(it.into())));
    #[rustfmt::skip]
    let cases = [
        ("{ body: $.c }",           mark("m1")),
        ("{ body: $.n }",           mark("7")),
        ("{ body: $.e }",           None),
        ("{ body: $.z }",           None),
        ("{ body: $.none }",        None),
        ("{ header: X-Next }",      mark("m2")),
        ("{ header: X-Empty }",     None),
        ("{ header: X-None }",      None),
        ("{ header: 'no header' }", None),
        ("{ url: $.u }",            link("/x?a")),
        ("{ url: $.e }",            None),
        ("{ link: next }",          link("/y")),
        ("{ link: prev }",          None),
        ("{ last_item: $.id }",     mark("9")),
        ("{ last_item: $.none }",   None),
    ];
    for (next, expected) in cases {
        assert_eq!(next_page(next), expected, "{next}");
    }
    assert_eq!(read::<Next>("{ last_item: $.id }").next_page(&all, &body, None), None);
}

#[test]
fn links_are_told_apart_by_their_relations() {
    #[rustfmt::skip]
    let cases = [
        (r#"<https://a.example/x>; rel="next""#,                                Some("https://a.example/x")),
        (r#"<a>; rel="prev", <b>; rel="next", <c>; rel="last""#,                Some("b")),
        (r#"<a?x=1,2>; rel=prev,<b?x=3,4>;rel=next"#,                           Some("b?x=3,4")),
        (r#"<a>; rel="prev  next""#,                                            Some("a")),
        (r#"<a>; REL=Next"#,                                                    Some("a")),
        (r#"< a >; title="x"; rel = next"#,                                     Some("a")),
        (r#"<a>; title="b, <c>; rel=next"; rel=prev, <d>; rel=next"#,           Some("d")),
        // Quoted text says nothing about the relation.
        (r#"<a>; title="x; rel=next"; rel=prev"#,                               None),
        (r#"<a>; title="x\"; rel=next; \""; rel=prev"#,                         None),
        (r#"<a>; title="\\"; rel=next"#,                                        Some("a")),
        // Of several, the first counts.
        (r#"<a>; rel=prev; rel=next"#,                                          None),
        (r#"<a>; rel="nextish""#,                                               None),
        (r#"<a>"#,                                                              None),
        (r#"<a; rel=next"#,                                                     None),
        (r#"a; rel=next"#,                                                      None),
        (r#""#,                                                                 None),
    ];
    for (text, expected) in cases {
        assert_eq!(link(&headers(&[("link", text)]), "next").as_deref(), expected, "{text}");
    }
    let several = headers(&[("link", "<a>; rel=prev"), ("link", "<b>; rel=next")]);
    assert_eq!(link(&several, "next").as_deref(), Some("b"));
}

proptest! {
    #[test]
    fn any_header_has_links_or_none(text in r#"[<>;,="\\relnxt ü]{0,60}"#) {
        let found = links(&text);
        prop_assert!(found.len() <= text.matches('<').count());
    }
}
