use super::*;
use crate::serve::connections::Connections;
use proptest::prelude::*;
use std::sync::Arc;

/// A connection whose requests are answered at once.
struct TestConnection {
    target: RequestTarget,
    activity: Arc<Activity>,
}

impl TestConnection {
    fn new() -> Self {
        let slot = Connections::new(1).admit().unwrap();
        Self { target: RequestTarget::new(), activity: Arc::clone(&slot.activity) }
    }

    fn pass(&mut self, text: &str) -> String {
        let encoded = self.target.encode(text.as_bytes(), &self.activity);
        String::from_utf8(encoded.unwrap_or_else(|| text.as_bytes().to_vec())).unwrap()
    }

    /// Answers a request whose head announces this body length.
    fn answer(&self, n_bytes: Option<u64>) {
        let active = self.activity.begin();
        self.activity.expect_body(n_bytes);
        drop(active);
    }
}

const TYPED: &str = "GET /a?b>=1 HTTP/1.1\r\nHost: x<y\r\n\r\n";
const ENCODED: &str = "GET /a?b%3E=1 HTTP/1.1\r\nHost: x<y\r\n\r\n";

#[test]
fn only_the_target_is_encoded() {
    for (typed, encoded) in [
        (TYPED, ENCODED),
        ("GET /<>\"{}|\\^` HTTP/1.1\r\n\r\n", "GET /%3C%3E%22%7B%7D%7C%5C%5E%60 HTTP/1.1\r\n\r\n"),
        ("GET /é HTTP/1.1\r\n\r\n", "GET /%C3%A9 HTTP/1.1\r\n\r\n"),
        ("GET /%3E?a='[!]~ HTTP/1.1\r\n\r\n", "GET /%3E?a='[!]~ HTTP/1.1\r\n\r\n"),
        ("G<T / HTTP/1.1\r\n\r\n", "G<T / HTTP/1.1\r\n\r\n"),
        ("GET / <HTTP/1.1>\r\na: <b>\r\n\r\n<body>", "GET / <HTTP/1.1>\r\na: <b>\r\n\r\n<body>"),
        ("\r\nGET /< HTTP/1.1\r\n\r\n", "\r\nGET /< HTTP/1.1\r\n\r\n"),
        ("GET /\r\n< HTTP/1.1\r\n\r\n", "GET /\r\n< HTTP/1.1\r\n\r\n"),
        ("PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n", "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"),
    ] {
        assert_eq!(TestConnection::new().pass(typed), encoded);
    }
}

#[test]
fn the_next_head_begins_after_the_announced_body() {
    let mut connection = TestConnection::new();
    assert_eq!(connection.pass(TYPED), ENCODED);
    connection.answer(Some(0));
    assert_eq!(connection.pass("POST /> HTTP/1.1\r\n\r\n<a"), "POST /%3E HTTP/1.1\r\n\r\n<a");
    let active = connection.activity.begin();
    connection.activity.expect_body(Some(5));
    assert_eq!(connection.pass(" <b"), " <b");
    drop(active);
    assert_eq!(connection.pass(TYPED), ENCODED);
    // A body after its response, in pieces that look like heads.
    connection.answer(Some(0));
    assert_eq!(connection.pass("POST /> HTTP/1.1\r\n\r\n"), "POST /%3E HTTP/1.1\r\n\r\n");
    connection.answer(Some(2 * TYPED.len() as u64));
    assert_eq!(connection.pass(TYPED), TYPED);
    assert_eq!(connection.pass(TYPED), TYPED);
    assert_eq!(connection.pass(TYPED), ENCODED);
}

#[test]
fn bytes_that_may_not_be_a_head_stay_unchanged() {
    // A pipelined head, whole or in part.
    for early in ["GET / HTTP/1.1\r\n\r\n", "G", "GET / HTTP/1.1\r\nHo"] {
        let mut connection = TestConnection::new();
        connection.pass("GET / HTTP/1.1\r\n\r\n");
        let active = connection.activity.begin();
        connection.activity.expect_body(Some(0));
        assert_eq!(connection.pass(early), early);
        drop(active);
        assert_eq!(connection.pass(TYPED), TYPED, "{early}");
    }
    // A body of unknown length, more bytes than announced, and a head that was not taken for one.
    for n_bytes in [None, Some(0)] {
        let mut connection = TestConnection::new();
        connection.pass("POST / HTTP/1.1\r\n\r\n<");
        connection.answer(n_bytes);
        assert_eq!(connection.pass(TYPED), TYPED);
    }
    let mut connection = TestConnection::new();
    connection.pass("GET / HTTP/1.1\r\n\r\n");
    assert_eq!(connection.pass(TYPED), TYPED);
    // Irregular line ends.
    for odd in
        ["GET / HTTP/1.1\n\n", "GET / HTTP/1.1\r\na: b\n\r\n", "GET / HTTP/1.1\r\na\rb\r\n\r\n"]
    {
        let mut connection = TestConnection::new();
        connection.pass(odd);
        connection.answer(Some(0));
        assert_eq!(connection.pass(TYPED), TYPED, "{odd:?}");
    }
    // Nothing after that is encoded either.
    let mut connection = TestConnection::new();
    connection.pass("GET / HTTP/1.1\r\n\r\n");
    connection.answer(None);
    connection.pass("GET / HTTP/1.1\r\n\r\n");
    connection.answer(Some(0));
    assert_eq!(connection.pass(TYPED), TYPED);
}

proptest! {
    #[test]
    fn the_result_does_not_depend_on_how_bytes_are_split(
        target in "[a-z<>é&=]{0,20}", body in "[a-z<> \r\n]{0,30}",
        cuts in prop::collection::vec(1..9_usize, 0..60),
    ) {
        let request = format!("POST /{target} HTTP/1.1\r\nA: <b> <c>\r\n\r\n{body}");
        let whole = TestConnection::new().target.encode(request.as_bytes(), &TestConnection::new().activity);
        let mut connection = TestConnection::new();
        let (mut rest, mut pieces) = (request.as_bytes(), Vec::new());
        let mut is_active = false;
        for cut in cuts.into_iter().chain([usize::MAX]) {
            let (piece, after) = rest.split_at(cut.min(rest.len()));
            let encoded = connection.target.encode(piece, &connection.activity);
            pieces.extend(encoded.unwrap_or_else(|| piece.to_vec()));
            rest = after;
            if !is_active && matches!(connection.target.position, Position::Body(_)) {
                is_active = true;
                std::mem::forget(connection.activity.begin());
            }
        }
        prop_assert_eq!(&pieces, &whole.unwrap_or_else(|| request.clone().into_bytes()));
        prop_assert_eq!(connection.target.position, Position::Body(body.len() as u64));
        let end = format!(" HTTP/1.1\r\nA: <b> <c>\r\n\r\n{body}");
        prop_assert!(String::from_utf8(pieces).unwrap().ends_with(&end));
    }
}
