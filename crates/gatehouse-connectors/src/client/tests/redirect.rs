//! Which redirects are followed.

use super::*;

#[tokio::test]
async fn redirects_are_followed_on_the_platform_itself() {
    let mut platform = Platform::new(|nth, _| match nth {
        0 => reply(302, "Location: /a?b\r\n", ""),
        1 => reply(308, "Location: c#d\r\n", ""),
        _ => reply(200, "", "there"),
    })
    .await;
    let mut headers = HeaderMap::new();
    headers.insert(AUTHORIZATION, "Bearer t".parse().unwrap());
    let response = client(&platform.url()).get(patient(), "/x", headers).await.unwrap();
    assert_eq!(&response.body[..], b"there");
    for path in ["/x", "/a?b", "/c"] {
        let request = platform.request().await;
        assert!(request.starts_with(&format!("GET {path} HTTP")), "{request}");
        assert!(request.contains("authorization: Bearer t\r\n"), "{request}");
    }
}

#[tokio::test]
async fn a_redirect_cannot_set_the_credentials() {
    let mut platform = Platform::new(|nth, head| {
        let host = head.lines().find_map(|it| it.strip_prefix("host: ")).unwrap();
        let location = format!("Location: http://eve:eve@{host}/a\r\n");
        if nth == 0 { reply(307, &location, "") } else { reply(200, "", "") }
    })
    .await;
    assert!(get(&client(&platform.url()), patient()).await.is_ok());
    platform.request().await;
    let request = platform.request().await;
    assert!(request.starts_with("GET /a HTTP") && !request.contains("authorization"), "{request}");
}

#[tokio::test]
async fn redirects_to_other_origins_are_not_followed() {
    let other = Platform::new(|_, _| reply(200, "", "")).await;
    let port = other.address.port();
    let cases = [
        (format!("http://127.0.0.1:{port}/x?key={SECRET}"), "127.0.0.1"),
        (format!("http://localhost:{port}/x"), "localhost"),
        (format!("//127.0.0.1:{port}/x"), "127.0.0.1"),
        (format!("https://{SECRET}.example/x"), "***.example"),
        ("http://169.254.169.254/latest/meta-data".into(), "169.254.169.254"),
    ];
    for (location, host) in cases {
        let headers = format!("Location: {location}\r\n");
        let platform = Platform::new(move |_, _| reply(302, &headers, "go")).await;
        let failure = get(&client(&platform.url()), patient()).await.unwrap_err();
        let expected = format!(
            "the platform answered 302 and leads to `{host}`, where the account's credentials must not go"
        );
        assert_eq!((failure.kind, failure.detail), (FailureKind::Error, expected));
        assert_eq!(
            failure.response.as_deref(),
            Some(&UnexpectedResponse { status: 302, code: None, message: None, body: "go".into() })
        );
        assert_eq!((platform.n_requests(), other.n_requests()), (1, 0));
    }
}

#[tokio::test]
async fn the_number_of_redirects_is_bounded() {
    let platform = Platform::new(|_, _| reply(301, "Location: /again\r\n", "")).await;
    let failure = get(&client(&platform.url()), patient()).await.unwrap_err();
    assert_eq!(failure.detail, "the platform answered 301 and redirects more than 3 times");
    assert_eq!(platform.n_requests(), 4);
}

#[tokio::test]
async fn only_get_requests_with_a_location_are_redirected() {
    let platform = Platform::new(|_, _| reply(307, "Location: /again\r\n", "")).await;
    let failure = client(&platform.url()).send(patient(), post(true)).await.unwrap_err();
    let expected = "the platform answered 307: only redirects of GET requests are followed";
    assert_eq!((failure.detail.as_str(), platform.n_requests()), (expected, 1));

    let platform = Platform::new(|_, _| reply(303, "", "")).await;
    let failure = get(&client(&platform.url()), patient()).await.unwrap_err();
    assert_eq!(failure.detail, "the platform answered 303 without a valid `Location`");
}
