use super::*;
use serde_json::json;

#[test]
fn secrets_of_a_form_are_sent_and_not_shown() {
    let form = Form::default()
        .with("grant_type", "refresh_token")
        .with_optional("scope", Some("a b"))
        .with_optional("resource", None)
        .with_secret("token", &Secret::new("hun&ter2"));
    assert_eq!(form.encoded(), "grant_type=refresh_token&scope=a+b&token=hun%26ter2");
    let shown = form.shown().to_string();
    assert_eq!(shown, r#"{"grant_type":"refresh_token","scope":"a b","token":"***"}"#);
}

#[test]
fn client_credentials_are_encoded_before_they_are_joined() {
    let value = basic("acme~x:y", &Secret::new("a b%"));
    assert!(value.is_sensitive());
    let encoded = value.to_str().unwrap().strip_prefix("Basic ").unwrap();
    assert_eq!(BASE64.decode(encoded).unwrap(), b"acme%7Ex%3Ay:a+b%25");
}

#[test]
fn tokens_are_read_with_their_expiry() {
    let now = Timestamp::EPOCH;
    let token_of = |claims: &str| format!("e30.{}.sig", BASE64URL.encode(claims));
    for (body, expected) in [
        (json!({"access_token": "t", "expires_in": 60}), Some(60)),
        (json!({"access_token": "t", "expires_in": "90", "token_type": "bearer"}), Some(90)),
        (json!({"access_token": "t"}), None),
        (json!({"access_token": token_of(r#"{"exp": 7}"#)}), Some(7)),
        (json!({"access_token": token_of(r#"{"exp": "soon"}"#)}), None),
    ] {
        let granted = TokenResponse::read("https://id.example/token", &body, now).unwrap();
        assert_eq!(granted.expires_at.map(Timestamp::as_second), expected, "{body}");
    }
    for bad in [
        json!({}),
        json!({"access_token": ""}),
        json!({"access_token": "t", "token_type": "DPoP"}),
        json!([]),
    ] {
        let error = TokenResponse::read("https://id.example/token", &bad, now).unwrap_err();
        assert!(matches!(&error, TokenError::NotUnderstood(_)), "{bad}");
        assert!(error.into_failure().message().contains("id.example"), "{bad}");
    }
}

#[test]
fn an_endpoints_error_is_shown_with_advice() {
    let error = TokenError::Error {
        endpoint: "https://id.example/token".into(),
        error: "invalid_client".into(),
        description: Some(shorten("bad\u{1b}[2J")),
    };
    assert_eq!(error.error(), Some("invalid_client"));
    let failure = error.into_failure();
    assert_eq!(failure.kind, FailureKind::NotAllowed);
    let shown = failure.to_string();
    assert!(shown.contains("invalid_client: bad\u{fffd}[2J"), "{shown}");
    assert!(shown.contains("what to do: see that the client ID"), "{shown}");
}
