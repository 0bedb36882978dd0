use super::*;
use crate::serve::connections::Connections;
use proptest::prelude::*;
use std::sync::Arc;

/// A connection whose requests are answered as soon as they are there.
struct Talk {
    target: RequestTarget,
    activity: Arc<Activity>,
}

impl Talk {
    fn new() -> Self {
        let held = Connections::new(1).admit().unwrap();
        Self { target: RequestTarget::new(), activity: Arc::clone(&held.activity) }
    }

    fn pass(&mut self, text: &str) -> String {
        let encoded = self.target.encode(text.as_bytes(), &self.activity);
        String::from_utf8(encoded.unwrap_or_else(|| text.as_bytes().to_vec())).unwrap()
    }

    /// A request is answered whose head says that its body has so many bytes.
    fn answer(&self, n_bytes: Option<u64>) {
        let busy = self.activity.begin();
        self.activity.expect_body(n_bytes);
        drop(busy);
    }
}

const TYPED: &str = "GET /a?b>=1 HTTP/1.1\r\nHost: x<y\r\n\r\n";
const ENCODED: &str = "GET /a?b%3E=1 HTTP/1.1\r\nHost: x<y\r\n\r\n";

#[test]
fn what_people_type_is_encoded_in_the_target_alone() {
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
        assert_eq!(Talk::new().pass(typed), encoded);
    }
}

#[test]
fn the_next_head_begins_when_every_byte_is_accounted_for() {
    let mut talk = Talk::new();
    assert_eq!(talk.pass(TYPED), ENCODED);
    talk.answer(Some(0));
    assert_eq!(talk.pass("POST /> HTTP/1.1\r\n\r\n<a"), "POST /%3E HTTP/1.1\r\n\r\n<a");
    let busy = talk.activity.begin();
    talk.activity.expect_body(Some(5));
    assert_eq!(talk.pass(" <b"), " <b");
    drop(busy);
    assert_eq!(talk.pass(TYPED), ENCODED);
    // A body that comes behind the answer, in pieces that look like heads.
    talk.answer(Some(0));
    assert_eq!(talk.pass("POST /> HTTP/1.1\r\n\r\n"), "POST /%3E HTTP/1.1\r\n\r\n");
    talk.answer(Some(2 * TYPED.len() as u64));
    assert_eq!(talk.pass(TYPED), TYPED);
    assert_eq!(talk.pass(TYPED), TYPED);
    assert_eq!(talk.pass(TYPED), ENCODED);
}

#[test]
fn what_is_not_surely_a_head_is_left_as_it_is() {
    // A head that came before the answer to the one before it, whole or in part.
    for early in ["GET / HTTP/1.1\r\n\r\n", "G", "GET / HTTP/1.1\r\nHo"] {
        let mut talk = Talk::new();
        talk.pass("GET / HTTP/1.1\r\n\r\n");
        let busy = talk.activity.begin();
        talk.activity.expect_body(Some(0));
        assert_eq!(talk.pass(early), early);
        drop(busy);
        assert_eq!(talk.pass(TYPED), TYPED, "{early}");
    }
    // A body whose length is not known, more bytes than it has, and a head that was not taken for one.
    for n_bytes in [None, Some(0)] {
        let mut talk = Talk::new();
        talk.pass("POST / HTTP/1.1\r\n\r\n<");
        talk.answer(n_bytes);
        assert_eq!(talk.pass(TYPED), TYPED);
    }
    let mut talk = Talk::new();
    talk.pass("GET / HTTP/1.1\r\n\r\n");
    assert_eq!(talk.pass(TYPED), TYPED);
    // Lines that end in other ways than they should.
    for odd in
        ["GET / HTTP/1.1\n\n", "GET / HTTP/1.1\r\na: b\n\r\n", "GET / HTTP/1.1\r\na\rb\r\n\r\n"]
    {
        let mut talk = Talk::new();
        talk.pass(odd);
        talk.answer(Some(0));
        assert_eq!(talk.pass(TYPED), TYPED, "{odd:?}");
    }
    // And so is all that follows.
    let mut talk = Talk::new();
    talk.pass("GET / HTTP/1.1\r\n\r\n");
    talk.answer(None);
    talk.pass("GET / HTTP/1.1\r\n\r\n");
    talk.answer(Some(0));
    assert_eq!(talk.pass(TYPED), TYPED);
}

proptest! {
    #[test]
    fn it_makes_no_difference_how_the_bytes_come(
        target in "[a-z<>é&=]{0,20}", body in "[a-z<> \r\n]{0,30}",
        cuts in prop::collection::vec(1..9_usize, 0..60),
    ) {
        let request = format!("POST /{target} HTTP/1.1\r\nA: <b> <c>\r\n\r\n{body}");
        let whole = Talk::new().target.encode(request.as_bytes(), &Talk::new().activity);
        let mut talk = Talk::new();
        let (mut rest, mut pieces) = (request.as_bytes(), Vec::new());
        let mut is_under_way = false;
        for cut in cuts.into_iter().chain([usize::MAX]) {
            let (piece, behind) = rest.split_at(cut.min(rest.len()));
            let encoded = talk.target.encode(piece, &talk.activity);
            pieces.extend(encoded.unwrap_or_else(|| piece.to_vec()));
            rest = behind;
            if !is_under_way && matches!(talk.target.place, Place::Body(_)) {
                is_under_way = true;
                std::mem::forget(talk.activity.begin());
            }
        }
        prop_assert_eq!(&pieces, &whole.unwrap_or_else(|| request.clone().into_bytes()));
        prop_assert_eq!(talk.target.place, Place::Body(body.len() as u64));
        let end = format!(" HTTP/1.1\r\nA: <b> <c>\r\n\r\n{body}");
        prop_assert!(String::from_utf8(pieces).unwrap().ends_with(&end));
    }
}
