//! Calls as observers see them.

use http::header::CONTENT_TYPE;

use super::*;

#[derive(Default)]
struct RecordingObserver(Mutex<Vec<String>>, Mutex<Vec<Bytes>>);

impl Observer for RecordingObserver {
    fn observe(&self, exchange: &Exchange<'_>) {
        let Exchange { account, kind, method, url, headers, body, result, .. } = exchange;
        let lines = |headers: &[(http::HeaderName, String)]| -> String {
            headers.iter().map(|(name, value)| format!("{name}: {value}\n")).collect()
        };
        let result = match result {
            Ok(ShownResponse { status, headers, body }) => {
                format!("{status}\n{}{body}", lines(headers))
            }
            Err(failure) => failure.detail.clone(),
        };
        let (kind, headers) = (kind.as_str(), lines(headers));
        let note = format!("{account} {kind}\n{method} {url}\n{headers}{body}\n{result}");
        self.0.lock().push(note);
        let raw = exchange.raw_body().unwrap_or_default();
        self.1.lock().push(Bytes::copy_from_slice(raw));
        assert!(!format!("{exchange:?}").contains(SECRET));
    }
}

/// The notes since the last call.
fn take_notes(notes: &RecordingObserver) -> Vec<String> {
    std::mem::take(&mut notes.0.lock())
}

fn observed_client(url: &str, limits: PlatformLimits) -> (Arc<RecordingObserver>, PlatformClient) {
    let notes = Arc::new(RecordingObserver::default());
    let observer = Arc::clone(&notes) as Arc<dyn Observer>;
    (notes, client_with(pool().observed_by(observer), url, limits))
}

#[tokio::test]
async fn a_call_is_shown_whole_and_without_secrets() {
    let body = format!("{{\"echo\":\"{SECRET}\",\"more\":\"{}\"}}", "x".repeat(100_000));
    let sent = body.clone();
    let headers = "X-Kind: hunter22-hunter22\r\nSet-Cookie: sid=abc\r\n";
    let platform = Platform::new(move |_, _| reply(200, headers, &sent)).await;
    let (notes, client) = observed_client(&platform.url(), UNLIMITED);
    let mut request = post(false);
    request.target = format!("/find?q=a&who={SECRET}&token=t");
    request.body = Bytes::from(format!("[\"{SECRET}\", \"890001\"]"));
    request.headers.insert(AUTHORIZATION, "Bearer a-long-token".parse().unwrap());
    request.headers.insert("x-tenant", "acme a-long-token".parse().unwrap());
    client.send(patient(), request).await.unwrap();
    let length = body.len();
    let expected = format!(
        "acme-eu look_up\nPOST {}/find?q=a&who=***&token=***\nauthorization: ***\nx-tenant: acme ***\n\
         [\"***\", \"890001\"]\n200 OK\nconnection: close\ncontent-length: {length}\nx-kind: ***\n\
         set-cookie: ***\n{}",
        platform.url(),
        body.replace(SECRET, "***"),
    );
    assert_eq!(take_notes(&notes), [expected]);
    assert_eq!(notes.1.lock()[0], body, "unmasked");
}

#[tokio::test]
async fn a_log_in_is_shown_without_its_token() {
    let token = r#"{"access_token": "fresh-and-unknown", "type": "Bearer", "expires_in": 60}"#;
    let platform = Platform::new(|_, _| reply(200, "", token)).await;
    let (notes, client) = observed_client(&platform.url(), UNLIMITED);
    let body = Bytes::from_static(b"grant_type=refresh&refresh_token=older-and-unknown");
    let mut request = PlatformRequest { kind: CallKind::Session, body, ..post(false) };
    let form = "application/x-www-form-urlencoded";
    request.headers.insert(CONTENT_TYPE, form.parse().unwrap());
    client.send(patient(), request).await.unwrap();
    let [note] = &take_notes(&notes)[..] else { panic!("one call") };
    assert!(note.contains("\ngrant_type=refresh&refresh_token=***\n"), "{note}");
    let shown = r#"{"access_token":"***","type":"Bearer","expires_in":60}"#;
    assert!(note.ends_with(shown) && !note.contains("unknown"), "{note}");
}

#[tokio::test]
async fn every_attempt_and_every_redirect_is_shown() {
    let platform = Platform::new(|nth, _| match nth {
        0 => reply(302, "Location: /there?token=fresh\r\n", ""),
        1 => Reaction::Reset(Vec::new()),
        2 => reply(503, "", ""),
        _ => reply(200, "", "there"),
    })
    .await;
    let (notes, client) = observed_client(&platform.url(), UNLIMITED);
    get(&client, patient()).await.unwrap();
    let notes = take_notes(&notes);
    #[rustfmt::skip]
    let expected = [
        ("/sims?size=2",     "302 Found"),
        ("/there?token=***", "the platform's answer is broken: "),
        ("/sims?size=2",     "503 Service Unavailable"),
        ("/sims?size=2",     "200 OK"),
    ];
    assert_eq!(notes.len(), expected.len(), "{notes:?}");
    for (note, (target, result)) in notes.iter().zip(expected) {
        let head = format!("acme-eu list\nGET {}{target}\n\n{result}", platform.url());
        assert!(note.starts_with(&head) && !note.contains("fresh"), "{note}");
    }
}

#[tokio::test]
async fn a_call_that_was_not_sent_is_not_shown() {
    let platform = Platform::new(|_, _| reply(429, "Retry-After: 3600\r\n", "")).await;
    let (notes, client) = observed_client(&platform.url(), UNLIMITED);
    assert!(client.get(patient(), "https://alpha.example/", HeaderMap::new()).await.is_err());
    assert!(get(&client, CallContext::until(Instant::now())).await.is_err());
    assert_eq!(take_notes(&notes).len(), 0);
    assert!(get(&client, patient()).await.is_ok() && get(&client, patient()).await.is_err());
    assert_eq!(take_notes(&notes).len(), 1);
}
