//! Links in responses, and which of them are followed.

use super::*;

#[tokio::test]
async fn links_are_relative_to_the_request() {
    let client = client("http://127.0.0.1:9700/v1/");
    let base = "http://127.0.0.1:9700";
    #[rustfmt::skip]
    let cases = [
        // asked                 // link                            // where it leads
        ("/sims?size=2",         "/v1/sims?after=a%2Fb",             "/v1/sims?after=a%2Fb"),
        ("/sims?size=2",         "?after=x",                         "/v1/sims?after=x"),
        ("/sims/?size=2",        "next",                             "/v1/sims/next"),
        ("/sims/a/b",            "../c",                             "/v1/sims/c"),
        ("/sims?size=2",         "http://127.0.0.1:9700/v2?a#b",     "/v2?a"),
        ("/sims",                "HTTP://127.0.0.1:9700/x#",         "/x"),
        ("/sims",                "//127.0.0.1:9700/x",               "/x"),
        ("http://127.0.0.1:9700/v2/sims?b", "?c",                    "/v2/sims?c"),
        ("/sims?size=2",         "",                                 "/v1/sims?size=2"),
    ];
    for (from, link, expected) in cases {
        let next = client.follow(from, link);
        assert_eq!(next, Ok(format!("{base}{expected}")), "{from} {link}");
        let again = client.follow(&next.unwrap(), "#x");
        assert_eq!(again, Ok(format!("{base}{expected}")), "{from} {link}");
    }
}

#[tokio::test]
async fn a_followed_link_can_be_requested() {
    let mut platform = Platform::new(|_, _| reply(200, "", "")).await;
    let client = client(&format!("{}/v1", platform.url()));
    let next = client.follow("/sims?size=2", "/v1/sims?after=7#here").unwrap();
    assert!(client.get(patient(), &next, HeaderMap::new()).await.is_ok());
    let request = platform.request().await;
    assert!(request.starts_with("GET /v1/sims?after=7 HTTP"), "{request}");
}

#[tokio::test]
async fn links_to_other_origins_are_refused() {
    let other = BaseUrl::parse("http://127.0.0.1:9701", &plain()).unwrap();
    // The token issuer's origin is no place for pages.
    let client = client("http://127.0.0.1:9700/v1").with_origin(other);
    let elsewhere = |host: &str| {
        format!("the platform leads to `{host}`, where the account's credentials must not go")
    };
    let named = "the platform gives a link with a user name or password in it, which only the account \
                 may set";
    let cases = [
        (format!("https://alpha.example/x?key={SECRET}"), elsewhere("alpha.example")),
        (format!("https://{SECRET}.example/"), elsewhere("***.example")),
        ("https://127.0.0.1:9700/x".into(), elsewhere("127.0.0.1")),
        ("http://127.0.0.1:9701/x".into(), elsewhere("127.0.0.1")),
        ("http://127.0.0.1/x".into(), elsewhere("127.0.0.1")),
        ("http://localhost:9700/x".into(), elsewhere("localhost")),
        ("//alpha.example/x".into(), elsewhere("alpha.example")),
        ("\\\\alpha.example/x".into(), elsewhere("alpha.example")),
        ("http://127.0.0.1:9700@alpha.example/x".into(), elsewhere("alpha.example")),
        ("http://eve@127.0.0.1:9700/x".into(), named.into()),
        ("http://:eve@127.0.0.1:9700/x".into(), named.into()),
        (
            "mailto:eve@alpha.example".into(),
            "the platform gives a link that leads to no host".into(),
        ),
        ("http://[".into(), "the platform gives a link that is no address".into()),
    ];
    for (link, expected) in cases {
        let failure = client.follow("/sims", &link).unwrap_err();
        assert_eq!(failure, Failure::new(FailureKind::Error, expected), "{link}");
    }
    let failure = client.follow("https://alpha.example/", "/x").unwrap_err();
    assert!(failure.detail.contains("not on the account's platform"), "{failure:?}");
}
