use super::*;
use crate::manifest::tests::{read, scope, texts};

fn filled_with(every: &str, call: &str, values: &[&str]) -> Option<Filled> {
    let values = texts(values);
    read::<Call>(call).fill(&read(every), &scope(&values))
}

fn filled(call: &str) -> Filled {
    filled_with("{}", call, &["v"]).unwrap()
}

#[test]
fn a_target_has_path_and_query() {
    #[rustfmt::skip]
    let cases = [
        ("{}",                       "{ get: /sims }",                                   "/sims"),
        ("{}",                       "{ get: '/sims/{value}/x' }",                       "/sims/a%2Fb%3Fc/x"),
        ("{}",                       "{ get: '/sims/{{{value}}}' }",                     "/sims/{a%2Fb%3Fc}"),
        ("{}",                       "{ get: /sims, query: { b: 1, a: '{value}' } }",    "/sims?b=1&a=a%2Fb%3Fc"),
        ("{}",                       "{ get: '/sims?x=1', query: { b: 1 } }",            "/sims?x=1&b=1"),
        ("{}",                       "{ get: /sims, query: { a: '{settings.none}' } }",  "/sims"),
        ("{ query: { k: '{session.token}' } }", "{ get: /sims, query: { b: 1 } }",       "/sims?k=tok-1&b=1"),
        // A URL setting may end with a slash or not.
        ("{}",                       "{ post: '{settings.authUrl}/token' }",             "https://auth.example/v1/token"),
        ("{}",                       "{ post: '{settings.authUrl}' }",                   "https://auth.example/v1"),
        ("{}",                       "{ get: '/{settings.org}/{settings.org}' }",        "/acme%20%26%20co/acme%20%26%20co"),
    ];
    for (every, call, expected) in cases {
        let filled = filled_with(every, call, &["a/b?c"]).unwrap();
        assert_eq!(filled.target, expected, "{call}");
        assert_eq!(filled.method, if call.contains("post") { Method::POST } else { Method::GET });
    }
    for value in ["", ".", ".."] {
        assert!(filled_with("{}", "{ get: '/sims/{value}' }", &[value]).is_none(), "{value:?}");
    }
    for call in ["{ get: '/{settings.none}' }", "{}", "{ post: /x, json: '{settings.none}' }"] {
        assert!(filled_with("{}", call, &["v"]).is_none(), "{call}");
    }
}

#[test]
fn headers_are_written_and_those_with_secrets_are_marked() {
    let every = "{ headers: { Authorization: 'Bearer {session.token}', X-Org: '{settings.org}', X-None: '{settings.none}' } }";
    let call = "{ get: /sims, headers: { x-org: mine, Accept: text/json, X-Bad: \"a\\nb\" } }";
    let headers = filled_with(every, call, &[]).unwrap().headers;
    let text = |name: &str| headers.get(name).map(|it| it.to_str().unwrap());
    assert_eq!(text("authorization"), Some("Bearer tok-1"));
    assert_eq!((text("x-org"), text("accept")), (Some("mine"), Some("text/json")));
    assert_eq!((text("x-none"), text("x-bad")), (None, None));
    assert!(headers["authorization"].is_sensitive() && !headers["x-org"].is_sensitive());
    assert!(!format!("{headers:?}").contains("tok-1"));
}

#[test]
fn a_user_and_a_password_become_one_secret_header() {
    let basic = "{ basic: { user: '{credentials.user}', password: '{credentials.apiKey}' } }";
    let header = &filled_with(basic, "{ get: /sims }", &[]).unwrap().headers["authorization"];
    assert_eq!(header, &format!("Basic {}", STANDARD.encode("ann:s3cret/+=&")));
    assert!(header.is_sensitive());
    // A call's own wins over that of every call; without a password there is none.
    let own = "{ get: /sims, basic: { user: a, password: b } }";
    assert_eq!(filled_with(basic, own, &[]).unwrap().headers["authorization"], "Basic YTpi");
    let none = "{ get: /sims, basic: { user: a, password: '{credentials.none}' } }";
    assert!(!filled(none).headers.contains_key("authorization"));
}

#[test]
fn a_body_is_json_or_a_form_and_says_which() {
    #[rustfmt::skip]
    let cases = [
        ("{ post: /x }",                                         None,                                       ""),
        ("{ post: /x, json: { ids: ['{value}'], n: 1 } }",       Some("application/json"),                   r#"{"ids":["v"],"n":1}"#),
        ("{ post: /x, form: { grant: a b, key: '{credentials.apiKey}', none: '{settings.none}' } }",
                                                                 Some("application/x-www-form-urlencoded"),  "grant=a%20b&key=s3cret%2F%2B%3D%26"),
    ];
    for (call, media, body) in cases {
        let filled = filled(call);
        let shown = filled.headers.get("content-type").map(|it| it.to_str().unwrap());
        assert_eq!(
            (shown, &filled.body[..], filled.target.as_str()),
            (media, body.as_bytes(), "/x"),
            "{call}"
        );
    }
}

#[test]
fn templates_are_named_by_their_fields() {
    let call: Call = read(
        "{ get: /g, post: /p, query: { q: ['1', '2'] }, headers: { H: h }, basic: { user: u, password: p }, json: [j], form: { f: 1 } }",
    );
    let names: Vec<String> = call.templates().into_iter().map(|(name, _)| name).collect();
    let expected = [
        "get",
        "post",
        "query.q",
        "query.q",
        "form.f",
        "headers.H",
        "basic.user",
        "basic.password",
        "json",
    ];
    assert_eq!(names, expected);
    let every: EveryCall =
        read("{ query: { q: 1 }, headers: { H: h }, basic: { user: u, password: p } }");
    assert_eq!(every.templates().len(), 4);
}
