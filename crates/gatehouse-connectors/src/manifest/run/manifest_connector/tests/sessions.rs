//! Edge cases of sessions, and platforms that reject log-ins.

use super::*;

const TWICE: &str = r#"
session:
  calls:
    - { call: { post: /token, form: { key: "{credentials.apiKey}" } }, take: { code: $.code }, expires_in: $.lasts }
    - { call: { post: /session, headers: { X-Code: "{session.code}" } }, take: { token: { header: X-Token } }, expires_in: $.lasts }
every_call: { headers: { Authorization: "Bearer {session.token} {session.code}" } }
"#;

#[tokio::test]
async fn the_second_call_has_values_of_the_first_and_the_shorter_lifetime_counts() {
    let mut platform = Platform::new(|_, head| match head.split(' ').nth(1) {
        Some("/token") => json_reply(json!({"code": "code-1", "lasts": 1000})),
        Some("/session") => reply(200, "X-Token: tok-1\r\n", r#"{"lasts": "100"}"#),
        _ => json_reply(json!({"data": []})),
    })
    .await;
    let connector = connector(&platform, &[TWICE, NUMBERED, REST]);
    assert!(first(&connector).await.is_ok());
    let log_in = platform.request().await;
    assert!(log_in.starts_with("POST /token ") && log_in.ends_with(&format!("key={SECRET}")));
    let second = platform.request().await;
    assert!(second.starts_with("POST /session ") && second.contains("x-code: code-1"), "{second}");
    assert!(!second.contains("authorization"), "{second}");
    assert!(platform.request().await.contains("authorization: Bearer tok-1 code-1\r\n"));
    for (seconds, n_asked) in [(80, 1), (15, 3)] {
        advance(Duration::from_secs(seconds)).await;
        assert!(first(&connector).await.is_ok());
        assert_eq!(platform.received_lines().len(), n_asked, "{seconds}");
    }
}

#[tokio::test]
async fn a_rejected_second_call_reveals_no_value_of_the_first() {
    let mut platform = Platform::new(|_, head| match head.split(' ').nth(1) {
        Some("/token") => json_reply(json!({"code": "code-1"})),
        _ => reply(403, "", r#"{"said": "code-1 is not known"}"#),
    })
    .await;
    // Secrets in headers are hidden in any case; this one is in a form.
    let twice = TWICE.replace("headers: { X-Code", "form: { code");
    let connector = connector(&platform, &[&twice, NUMBERED, REST, "errors: { message: $.said }"]);
    let failure = first(&connector).await.unwrap_err();
    let shown = "the platform answered 403 to the log-in of the account: *** is not known";
    assert_eq!(failure.detail, shown);
    assert!(!format!("{failure:?}").contains("code-1"), "{failure:?}");
    assert_eq!(platform.received_lines(), ["POST /token", "POST /session"]);
}

#[tokio::test]
async fn a_log_in_without_a_token_is_not_retried_at_once() {
    let mut platform =
        Platform::new(|_, _| json_reply(json!({"token": "", "note": "s3cret"}))).await;
    let connector = connector(&platform, &[SESSION, NUMBERED, REST]);
    for n_asked in [1, 0] {
        let failure = first(&connector).await.unwrap_err();
        let expected =
            "the platform answered 200 to the log-in, without the `token` that it should give";
        assert!(failure.detail.starts_with(expected) && failure.response.is_none(), "{failure:?}");
        assert_eq!(platform.received_lines().len(), n_asked);
    }
}

#[tokio::test]
async fn log_ins_stop_before_the_account_is_locked() {
    let mut platform = Platform::new(|_, _| reply(400, "", "{}")).await;
    let session = SESSION.replace("session:\n", "session:\n  refusals_max: 2\n");
    let connector = connector(&platform, &[&session, NUMBERED, REST]);
    for n_asked in [1, 1, 0, 0] {
        let failure = first(&connector).await.unwrap_err();
        let is_over = failure.detail.ends_with(
            "; there is no further log-in until the account is changed, so that it isn't locked",
        );
        assert_eq!(
            (platform.received_lines().len(), is_over),
            (n_asked, n_asked == 0),
            "{failure:?}"
        );
        advance(Duration::from_secs(2 * 60 * 60)).await;
    }
}

#[tokio::test]
async fn a_throttled_or_failed_log_in_is_no_rejection() {
    for status in [429, 500] {
        let mut platform = Platform::new(move |nth, head| match (nth, is_log_in(head)) {
            (0, _) => reply(status, "Retry-After: 3600\r\n", "{}"),
            (_, true) => json_reply(json!({"token": "tok-1"})),
            _ => json_reply(json!({"data": []})),
        })
        .await;
        let session = SESSION.replace("session:\n", "session:\n  refusals_max: 1\n");
        let connector = connector(&platform, &[&session, NUMBERED, REST]);
        first(&connector).await.unwrap_err();
        assert_eq!(platform.received_lines().len(), 1);
        advance(Duration::from_secs(3601)).await;
        let page = first(&connector).await;
        assert!(page.is_ok() && platform.received_lines().len() == 2, "{status}: {page:?}");
    }
}

#[tokio::test]
async fn failures_with_status_200_open_the_circuit() {
    const RULES: &str = "errors: { message: $.why, rules: [{ when: { path: $.ok, equals: false }, means: failed }] }";
    let mut platform =
        Platform::new(|_, _| json_reply(json!({"ok": false, "why": "Out of order"}))).await;
    let connector = connector(&platform, &[NUMBERED, REST, RULES]);
    for _ in 0..5 {
        let failure = first(&connector).await.unwrap_err();
        assert_eq!(failure.detail, "the platform answered 200: Out of order");
        assert_ne!(failure.kind, FailureKind::Open);
    }
    assert_eq!(first(&connector).await.unwrap_err().kind, FailureKind::Open);
    assert_eq!(platform.received_lines().len(), 5);
}

#[tokio::test]
async fn responses_that_no_rule_calls_failed_do_not_open_the_circuit() {
    const RULES: &str = "errors: { rules: [{ when: { path: $.none }, means: not_found }, { when: { path: $.ok, equals: false }, means: failed }] }";
    let platform = Platform::new(|nth, _| match nth % 3 {
        0 => json_reply(json!({"ok": false, "none": true})),
        1 => reply(400, "", "{}"),
        _ => reply(404, "", "{}"),
    })
    .await;
    let connector = connector(&platform, &[NUMBERED, REST, RULES]);
    for _ in 0..12 {
        let found = connector.look_up(patient(), LookUpKey::Id, &["a".to_owned()]).await;
        assert!(
            found.as_ref().is_ok_and(Vec::is_empty)
                || found.is_err_and(|it| it.kind != FailureKind::Open)
        );
    }
}
