//! What a line does, seen from both of its ends.

mod platform;

use std::io;
use std::time::Duration;

use gatehouse_core::Account;
use http::header::AUTHORIZATION;
use prometheus::{Registry, TextEncoder};
use rcgen::{CertificateParams, KeyPair};
use tokio_rustls::TlsAcceptor;
use tokio_rustls::rustls::ServerConfig;
use tokio_rustls::rustls::pki_types::PrivatePkcs8KeyDer;

use rustix::io::Errno;

use self::platform::{Platform, Play, reply};
use super::outside::{LARGE_ANSWERS_MAX, LARGE_BYTES};
use super::resolver::{Names, Resolver};
use super::standing::CHANCE_MIN;
use super::standing::QUIET_MAX;
use super::*;
use crate::failure::{SAID_BYTES_MAX, Said};
use crate::meter::Meter;

const SECRET: &str = "hunter22-hunter22";

const CALLS_AT_ONCE: usize = 64;

const UNLIMITED: Limits = Limits { calls_at_once: 8, calls_per_second: None, burst: 1 };

/// Time enough for everything that comes to an end.
fn patient() -> Ask {
    Ask { deadline: Instant::now() + Duration::from_secs(60) }
}

/// Less than that, for what never does.
fn short() -> Ask {
    Ask { deadline: Instant::now() + Duration::from_millis(100) }
}

fn line_with(outside: Outside, url: &str, limits: Limits) -> Line {
    let base = BaseUrl::parse(url, true).unwrap();
    let (_, meter) = metered();
    Line::new(Arc::new(outside), base, limits, meter, vec![Zeroizing::new(SECRET.to_owned())])
}

/// The outside of a server that may make as many calls as a test wants.
fn outside() -> Outside {
    Outside::new(false, CALLS_AT_ONCE).unwrap()
}

/// What was written to the log.
#[derive(Clone, Default)]
pub(crate) struct Written(Arc<Mutex<Vec<u8>>>);

impl Written {
    pub(crate) fn lines(&self) -> Vec<String> {
        String::from_utf8(self.0.lock().unwrap().clone()).unwrap().lines().map(Into::into).collect()
    }
}

impl io::Write for Written {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0.lock().unwrap().write(bytes)
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// A log that can be read, and what writes it.
pub(crate) fn written() -> (Written, impl tracing::Subscriber) {
    let written = Written::default();
    let writer = written.clone();
    let log = tracing_subscriber::fmt().with_writer(move || writer.clone()).with_ansi(false);
    (written, log.finish())
}

/// The figures of an account, and where they are shown.
fn metered() -> (Registry, AccountMeter) {
    let (meter, registry) = (Meter::new(), Registry::new());
    meter.register(&registry).unwrap();
    let account = Account {
        platform: "ALPHA".parse().unwrap(),
        name: "acme-eu".parse().unwrap(),
        connector: "simulator".parse().unwrap(),
        platform_account: "100234".parse().unwrap(),
    };
    (registry, meter.account(&"demo".parse().unwrap(), &account))
}

/// A figure of the only account: with this name behind `gatehouse_platform_`, and this in its labels.
fn figure(registry: &Registry, name: &str, label: &str) -> u64 {
    let shown = TextEncoder::new().encode_to_string(&registry.gather()).unwrap();
    let name = format!("gatehouse_platform_{name}{{");
    let line = shown.lines().find(|it| it.starts_with(&name) && it.contains(label));
    let value = line.and_then(|it| it.rsplit(' ').next()?.parse().ok());
    value.unwrap_or_else(|| panic!("no {name} {label} in {shown}"))
}

fn line(url: &str) -> Line {
    line_with(outside(), url, UNLIMITED)
}

async fn get(line: &Line, ask: Ask) -> Result<Answer, Failure> {
    line.get(ask, "/sims?size=2", HeaderMap::new()).await
}

fn post(is_repeatable: bool) -> Request {
    Request {
        method: Method::POST,
        target: "/find".to_owned(),
        headers: HeaderMap::new(),
        body: Bytes::from_static(b"{}"),
        is_repeatable,
    }
}

/// Lets time pass for everyone, without anybody waiting for it.
async fn pass(time: Duration) {
    tokio::time::pause();
    tokio::time::advance(time).await;
    tokio::time::resume();
}

#[tokio::test]
async fn a_question_goes_behind_the_base_url_and_its_answer_comes_back_whole() {
    let mut platform = Platform::new(|_, _| reply(404, "X-Kind: a\r\n", "none")).await;
    let line = line(&format!("{}/v1/", platform.url()));
    let mut headers = HeaderMap::new();
    headers.insert(AUTHORIZATION, "Bearer t".parse().unwrap());
    let answer = line.get(patient(), "/sims/1?a=b%20c", headers).await.unwrap();
    assert_eq!((answer.status.as_u16(), &answer.body[..]), (404, &b"none"[..]));
    assert_eq!(answer.headers["x-kind"], "a");
    let request = platform.request().await;
    assert!(request.starts_with("GET /v1/sims/1?a=b%20c HTTP/1.1\r\n"), "{request}");
    assert!(request.contains("authorization: Bearer t\r\n"), "{request}");
    assert!(!request.contains("accept-encoding"), "{request}");
    assert!(!request.contains("content-length"), "{request}");
}

#[tokio::test]
async fn a_request_sends_its_body() {
    let mut platform = Platform::new(|_, _| reply(200, "", "{}")).await;
    line(&platform.url()).send(patient(), post(false)).await.unwrap();
    let request = platform.request().await;
    assert!(request.starts_with("POST /find HTTP/1.1\r\n"), "{request}");
    assert!(request.ends_with("\r\n\r\n{}"), "{request}");
}

#[tokio::test]
async fn localhost_is_reached_by_its_name() {
    let platform = Platform::new(|_, _| reply(200, "", "{}")).await;
    let line = line(&format!("http://localhost:{}", platform.address.port()));
    assert_eq!(get(&line, patient()).await.unwrap().status, StatusCode::OK);
}

#[tokio::test]
async fn a_line_goes_nowhere_but_to_its_platform() {
    let platform = Platform::new(|_, _| reply(200, "", "{}")).await;
    let other = Platform::new(|_, _| reply(200, "", "{}")).await;
    let line = line(&format!("{}/v1", platform.url()));
    let token = format!("{}/token?key={SECRET}", other.url());
    for target in ["/../admin", "sims", &token] {
        let failure = line.get(patient(), target, HeaderMap::new()).await.unwrap_err();
        assert_eq!(failure.kind, FailureKind::Error);
        assert!(
            failure.detail.starts_with("what was to be asked is not at the account's platform")
        );
        assert!(!failure.detail.contains(SECRET), "{failure:?}");
    }
    assert_eq!((platform.n_requests(), other.n_requests()), (0, 0));

    let line = line.and_to(BaseUrl::parse(&other.url(), false).unwrap());
    assert!(line.get(patient(), &token, HeaderMap::new()).await.is_ok());
    assert_eq!(other.n_requests(), 1);
}

#[tokio::test]
async fn what_became_forbidden_is_not_asked() {
    let base = BaseUrl::parse("http://platform.example", true).unwrap();
    let mut line = line("http://127.0.0.1:9");
    line.base = base;
    let failure = get(&line, patient()).await.unwrap_err();
    assert_eq!(
        failure.detail,
        "the platform is not asked: http is for this machine alone, unless \
         platforms.allow_insecure_urls is set"
    );
}

#[tokio::test]
async fn a_platform_that_hangs_is_given_up_at_the_deadline() {
    let platform = Platform::new(|_, _| Play::Hang(Vec::new())).await;
    let failure = get(&line(&platform.url()), short()).await.unwrap_err();
    let expected = (FailureKind::Timeout, "the platform did not answer in time");
    assert_eq!((failure.kind, failure.detail.as_str()), expected);
}

#[tokio::test]
async fn an_answer_that_trickles_is_given_up_at_the_deadline() {
    let head = b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n";
    let platform = Platform::new(|_, _| Play::Trickle(head.to_vec())).await;
    let failure = get(&line(&platform.url()), short()).await.unwrap_err();
    assert_eq!(failure.kind, FailureKind::Timeout, "{failure:?}");
    assert!(failure.detail.contains("in time"), "{failure:?}");
}

#[tokio::test]
async fn an_answer_that_stops_is_given_up_at_the_deadline_and_told_how_far_it_came() {
    // More than all buffers on the way hold, so that some of it was surely read.
    let mut bytes = format!("HTTP/1.1 200 OK\r\nContent-Length: {ANSWER_BYTES_MAX}\r\n\r\n");
    bytes.extend(std::iter::repeat_n(' ', ANSWER_BYTES_MAX - (1 << 20)));
    let platform = Platform::new(move |_, _| Play::Hang(bytes.clone().into_bytes())).await;
    let line = line(&platform.url());
    let ask = patient();
    let wait = async {
        platform.sent().await;
        pass(Duration::from_secs(60)).await;
    };
    let (result, ()) = tokio::join!(get(&line, ask), wait);
    let failure = result.unwrap_err();
    assert_eq!(failure.kind, FailureKind::Timeout);
    assert!(
        failure.detail.starts_with("the platform did not finish its answer in time: "),
        "{failure:?}"
    );
}

#[tokio::test]
async fn an_answer_that_breaks_off_is_asked_for_again() {
    let broken = b"HTTP/1.1 200 OK\r\nContent-Length: 10\r\n\r\nabc";
    for play in [Play::Reset(broken.to_vec()), Play::Send(broken.to_vec()), Play::Reset(Vec::new())]
    {
        let platform = Platform::new(move |nth, _| match nth {
            0 => play.clone(),
            _ => reply(200, "", "whole"),
        })
        .await;
        let answer = get(&line(&platform.url()), patient()).await.unwrap();
        assert_eq!((&answer.body[..], platform.n_requests()), (&b"whole"[..], 2));
    }
}

#[tokio::test]
async fn an_answer_that_always_breaks_off_is_a_failure() {
    let broken = b"HTTP/1.1 200 OK\r\nContent-Length: 10\r\n\r\nabc";
    let platform = Platform::new(|_, _| Play::Reset(broken.to_vec())).await;
    let failure = get(&line(&platform.url()), patient()).await.unwrap_err();
    assert_eq!(failure.kind, FailureKind::Error);
    assert!(failure.detail.starts_with("the platform's answer is broken: "), "{failure:?}");
    assert_eq!(platform.n_requests(), 3);
}

#[tokio::test]
async fn a_platform_that_is_not_there_is_told_in_plain_words() {
    // Nobody listens on it, and nobody else gets it.
    let socket = tokio::net::TcpSocket::new_v4().unwrap();
    socket.bind(([127, 0, 0, 1], 0).into()).unwrap();
    let line = line(&format!("http://{}", socket.local_addr().unwrap()));
    let failure = get(&line, patient()).await.unwrap_err();
    let expected = "the platform can't be reached: the connection was refused";
    assert_eq!((failure.kind, failure.detail.as_str()), (FailureKind::Error, expected));
}

#[tokio::test]
async fn a_name_that_leads_nowhere_is_told_in_plain_words() {
    let cases: [(&str, Names, &str); 4] = [
        (
            "platform.example",
            |_| Box::pin(async { Err(std::io::Error::other("no such name")) }),
            "its name can't be resolved",
        ),
        (
            "platform.example",
            |_| Box::pin(async { Ok(vec![[127, 0, 0, 1].into()]) }),
            "its name leads to this machine, where nothing is asked",
        ),
        (
            "platform.example",
            |_| Box::pin(async { Ok(vec![[169, 254, 169, 254].into(), [0, 0, 0, 0].into()]) }),
            "its name leads to a link-local address, where nothing is asked",
        ),
        (
            "localhost",
            |_| Box::pin(async { Ok(vec![[192, 0, 2, 1].into()]) }),
            "its name leads to another machine, where nothing is asked",
        ),
    ];
    for (host, ask, words) in cases {
        let outside =
            Outside::build(true, CALLS_AT_ONCE, Resolver { ask }, |it| it.no_proxy()).unwrap();
        let line = line_with(outside, &format!("http://{host}"), UNLIMITED);
        let failure = get(&line, patient()).await.unwrap_err();
        assert_eq!(failure.detail, format!("the platform can't be reached: {words}"));
        assert_eq!(failure.kind, FailureKind::Error);
    }
}

#[tokio::test(start_paused = true)]
async fn what_this_machine_lacks_is_not_the_platforms_fault() {
    let lacking: [Names; 4] = [
        |_| Box::pin(async { Err(Errno::MFILE.into()) }),
        |_| Box::pin(async { Err(Errno::NFILE.into()) }),
        |_| Box::pin(async { Err(Errno::NOMEM.into()) }),
        |_| Box::pin(async { Err(Errno::ADDRNOTAVAIL.into()) }),
    ];
    for ask in lacking {
        let outside = Outside::build(true, 1, Resolver { ask }, |it| it.no_proxy()).unwrap();
        let line = line_with(outside, "http://platform.example", UNLIMITED);
        for _ in 0..2 * breaker::FAILURES_MAX {
            let failure = get(&line, patient()).await.unwrap_err();
            let expected = "the server could not open a connection just now";
            assert_eq!((failure.kind, failure.detail.as_str()), (FailureKind::Error, expected));
        }
    }
}

#[tokio::test(start_paused = true)]
async fn what_this_machine_lacks_is_told_now_and_then() {
    let (written, log) = written();
    let _log = tracing::subscriber::set_default(log);
    let outside = outside();
    let told = || written.lines().len();
    outside.tell_of_lack("Too many open files");
    outside.tell_of_lack("Too many open files");
    assert_eq!(told(), 1, "{:?}", written.lines());
    tokio::time::advance(Duration::from_secs(60)).await;
    outside.tell_of_lack("Too many open files");
    assert_eq!(told(), 2);
    assert!(written.lines()[0].contains("WARN"), "{:?}", written.lines());
    assert!(written.lines()[0].contains("lack=\"Too many open files\""), "{:?}", written.lines());
}

#[tokio::test]
async fn a_way_out_that_this_machine_has_not_is_not_the_platforms_fault() {
    let platform = Platform::new(|_, _| reply(200, "", "")).await;
    // An address for examples, which is nobody's.
    let from = Some([192, 0, 2, 7].into());
    let outside = Outside::build(true, 1, Resolver::of_machine(), |it| it.local_address(from));
    let line = line_with(outside.unwrap(), &platform.url(), UNLIMITED);
    let failure = get(&line, patient()).await.unwrap_err();
    assert_eq!(failure.detail, "the server could not open a connection just now");
}

#[tokio::test]
async fn what_passes_is_asked_again_and_what_lasts_is_not() {
    for (status, n_requests) in [(502, 3), (503, 3), (504, 3), (429, 3), (500, 1), (404, 1)] {
        let platform = Platform::new(move |_, _| reply(status, "", "")).await;
        let answer = get(&line(&platform.url()), patient()).await.unwrap();
        assert_eq!((answer.status.as_u16(), platform.n_requests()), (status, n_requests));
    }
    let platform = Platform::new(|nth, _| reply(if nth < 2 { 503 } else { 200 }, "", "")).await;
    let answer = get(&line(&platform.url()), patient()).await.unwrap();
    assert_eq!((answer.status.as_u16(), platform.n_requests()), (200, 3));
}

#[tokio::test]
async fn only_what_may_be_repeated_is() {
    for (is_repeatable, n_requests) in [(false, 1), (true, 3)] {
        let platform = Platform::new(|_, _| reply(503, "", "")).await;
        let answer = line(&platform.url()).send(patient(), post(is_repeatable)).await.unwrap();
        assert_eq!((answer.status.as_u16(), platform.n_requests()), (503, n_requests));
    }
}

#[tokio::test]
async fn a_platform_that_is_always_busy_throttles() {
    let platform = Platform::new(|_, _| reply(429, "", "slow down")).await;
    let answer = get(&line(&platform.url()), patient()).await.unwrap();
    let failure = answer.failure("too much");
    assert_eq!((failure.kind, failure.detail.as_str()), (FailureKind::Throttled, "too much"));
    assert_eq!(failure.said, Some(Said { status: 429, body: "slow down".into() }));
}

#[tokio::test]
async fn a_platform_is_asked_again_when_it_wants_to_be() {
    let platform = Platform::new(|nth, _| match nth {
        0 => reply(429, "Retry-After: 1\r\n", ""),
        _ => reply(200, "", ""),
    })
    .await;
    let answer = get(&line(&platform.url()), patient()).await.unwrap();
    assert_eq!((answer.status.as_u16(), platform.n_requests()), (200, 2));
}

#[tokio::test]
async fn a_pause_beyond_the_deadline_is_not_waited_for_and_holds_for_others() {
    let platform = Platform::new(|nth, _| match nth {
        0 => reply(429, "Retry-After: 3600\r\n", ""),
        _ => reply(200, "", ""),
    })
    .await;
    let line = line(&platform.url());
    let first = get(&line, patient()).await.unwrap().failure("too much");
    assert_eq!(first.retry_after, Some(Duration::from_secs(3600)));
    let second = get(&line, patient()).await.unwrap_err();
    assert_eq!(second.kind, FailureKind::Throttled);
    assert!(second.detail.starts_with("the platform wants to be left alone for another "));
    assert!(second.retry_after.unwrap() <= QUIET_MAX, "{second:?}");
    assert_eq!(platform.n_requests(), 1);

    pass(QUIET_MAX).await;
    assert_eq!(get(&line, patient()).await.unwrap().status, StatusCode::OK);
}

#[tokio::test]
async fn what_is_not_json_is_told_with_what_came() {
    let gzip = "Content-Encoding: gzip\r\n";
    let page = "Content-Type: text/html; charset=utf-8\r\n";
    #[rustfmt::skip]
    let cases = [
        (page, "Please log in",          "a web page, where JSON was expected"),
        ("",   " <html>Please</html>",   "a web page, where JSON was expected"),
        ("",   "",                       "an empty body, where JSON was expected"),
        ("",   "[1, 2",                  "what is not JSON, at line 1, column 5"),
        ("",   "oops",                   "what is not JSON, at line 1, column 1"),
        (gzip, "\u{1f}",                 "a body that is packed with `gzip`, which was not asked for"),
        ("",   r#"["hunter22-hunter22"]"#,
         "JSON of another shape than expected, at line 1, column 20"),
    ];
    for (headers, body, expected) in cases {
        let platform = Platform::new(move |_, _| reply(200, headers, body)).await;
        let answer = get(&line(&platform.url()), patient()).await.unwrap();
        let failure = answer.json::<Vec<u64>>().unwrap_err();
        assert_eq!(failure.kind, FailureKind::Error);
        assert_eq!(failure.detail, format!("the platform answered 200 with {expected}"));
        assert_eq!(failure.said.unwrap().status, 200);
    }
    let platform = Platform::new(|_, _| reply(200, page, "[1, 2]")).await;
    let answer = get(&line(&platform.url()), patient()).await.unwrap();
    assert_eq!(answer.json::<Vec<u64>>(), Ok(vec![1, 2]), "whatever it is called");
}

#[tokio::test]
async fn an_answer_has_a_largest_size() {
    let announced =
        |n_bytes: usize| format!("HTTP/1.1 200 OK\r\nContent-Length: {n_bytes}\r\n\r\n");
    let chunked = |n_bytes: usize| {
        let head = "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n";
        format!("{head}{n_bytes:x}\r\n{}\r\n0\r\n\r\n", " ".repeat(n_bytes))
    };
    let cases = [
        (announced(ANSWER_BYTES_MAX) + &" ".repeat(ANSWER_BYTES_MAX), true),
        // What is announced is enough: nothing of it is sent.
        (announced(ANSWER_BYTES_MAX + 1), false),
        (chunked(ANSWER_BYTES_MAX), true),
        (chunked(ANSWER_BYTES_MAX + 1), false),
    ];
    for (bytes, is_taken) in cases {
        let platform = Platform::new(move |_, _| Play::Hang(bytes.clone().into_bytes())).await;
        match get(&line(&platform.url()), patient()).await {
            Ok(answer) => assert!(is_taken && answer.body.len() == ANSWER_BYTES_MAX),
            Err(failure) => {
                assert_eq!(failure.detail, "the platform answered with more than 16 MiB");
                assert!(!is_taken && failure.kind == FailureKind::Error);
            }
        }
        assert_eq!(platform.n_requests(), 1);
    }
}

#[tokio::test]
async fn few_large_answers_are_there_at_once() {
    let (large, small) = (" ".repeat(LARGE_BYTES + 1), " ".repeat(LARGE_BYTES));
    let mut platform = Platform::new(move |_, head| {
        reply(200, "", if head.starts_with("GET /small") { &small } else { &large })
    })
    .await;
    let limits = Limits { calls_at_once: 2 * LARGE_ANSWERS_MAX as u32, ..UNLIMITED };
    let line = line_with(outside(), &platform.url(), limits);
    let calls = (0..LARGE_ANSWERS_MAX).map(|_| get(&line, patient()));
    let answers = futures_util::future::join_all(calls).await;
    let mut answers: Vec<Answer> = answers.into_iter().map(Result::unwrap).collect();
    for _ in 0..LARGE_ANSWERS_MAX {
        platform.request().await;
    }
    // Every place is taken; what isn't large needs none.
    let ask = Ask { deadline: Instant::now() };
    let failure = line.outside.place(ask).await.unwrap_err();
    let expected = "there was no time left to read a large answer: the server itself has too many of them \
                    under way";
    assert_eq!(failure, Failure::new(FailureKind::Timeout, expected));
    let answer = line.get(patient(), "/small", HeaderMap::new()).await.unwrap();
    assert_eq!(answer.body.len(), LARGE_BYTES);
    platform.request().await;

    // A copy holds the place as well.
    let copy = answers[0].clone();
    answers.truncate(1);
    let places: Vec<_> = std::iter::repeat_with(|| line.outside.place(patient()))
        .take(LARGE_ANSWERS_MAX - 1)
        .collect();
    let places = futures_util::future::join_all(places).await;
    drop(answers);
    let mut last = Box::pin(get(&line, patient()));
    tokio::select! {
        biased;
        _ = &mut last => panic!("there is no place"),
        _ = platform.request() => {}
    }
    drop(copy);
    assert_eq!(last.await.unwrap().body.len(), LARGE_BYTES + 1);
    drop(places);
}

#[tokio::test]
async fn large_answers_without_a_place_say_nothing_about_the_platform() {
    let large = " ".repeat(LARGE_BYTES + 1);
    let platform = Platform::new(move |_, _| reply(200, "", &large)).await;
    let line = line(&platform.url());
    let taken = (0..LARGE_ANSWERS_MAX).map(|_| line.outside.place(patient()));
    let taken = futures_util::future::join_all(taken).await;
    // Time enough to answer, so that a platform which doesn't would be blamed.
    let ask = Ask { deadline: Instant::now() + 2 * CHANCE_MIN };
    let calls = (0..breaker::FAILURES_MAX).map(|_| get(&line, ask));
    for result in futures_util::future::join_all(calls).await {
        assert_eq!(result.unwrap_err().kind, FailureKind::Timeout);
    }
    drop(taken);
    assert!(get(&line, patient()).await.is_ok());
}

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
    let answer = line(&platform.url()).get(patient(), "/x", headers).await.unwrap();
    assert_eq!(&answer.body[..], b"there");
    for path in ["/x", "/a?b", "/c"] {
        let request = platform.request().await;
        assert!(request.starts_with(&format!("GET {path} HTTP")), "{request}");
        assert!(request.contains("authorization: Bearer t\r\n"), "{request}");
    }
}

#[tokio::test]
async fn a_redirect_does_not_say_who_asks() {
    let mut platform = Platform::new(|nth, head| {
        let host = head.lines().find_map(|it| it.strip_prefix("host: ")).unwrap();
        let location = format!("Location: http://eve:eve@{host}/a\r\n");
        if nth == 0 { reply(307, &location, "") } else { reply(200, "", "") }
    })
    .await;
    assert!(get(&line(&platform.url()), patient()).await.is_ok());
    platform.request().await;
    let request = platform.request().await;
    assert!(request.starts_with("GET /a HTTP") && !request.contains("authorization"), "{request}");
}

#[tokio::test]
async fn redirects_elsewhere_are_not_followed() {
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
        let failure = get(&line(&platform.url()), patient()).await.unwrap_err();
        let expected = format!(
            "the platform answered 302 and leads to `{host}`, where the account's credentials must not go"
        );
        assert_eq!((failure.kind, failure.detail), (FailureKind::Error, expected));
        assert_eq!(failure.said, Some(Said { status: 302, body: "go".into() }));
        assert_eq!((platform.n_requests(), other.n_requests()), (1, 0));
    }
}

#[tokio::test]
async fn redirects_have_an_end() {
    let platform = Platform::new(|_, _| reply(301, "Location: /again\r\n", "")).await;
    let failure = get(&line(&platform.url()), patient()).await.unwrap_err();
    assert_eq!(failure.detail, "the platform answered 301 and redirects more than 3 times");
    assert_eq!(platform.n_requests(), 4);
}

#[tokio::test]
async fn redirects_are_for_those_who_read_and_say_where_to() {
    let platform = Platform::new(|_, _| reply(307, "Location: /again\r\n", "")).await;
    let failure = line(&platform.url()).send(patient(), post(true)).await.unwrap_err();
    let expected = "the platform answered 307: a redirect is only followed where something is read";
    assert_eq!((failure.detail.as_str(), platform.n_requests()), (expected, 1));

    let platform = Platform::new(|_, _| reply(303, "", "")).await;
    let failure = get(&line(&platform.url()), patient()).await.unwrap_err();
    assert_eq!(failure.detail, "the platform answered 303 without saying where to go");
}

#[tokio::test]
async fn what_a_platform_said_is_told_without_secrets() {
    let platform = Platform::new(|_, head| {
        let body = format!("no such token {SECRET} in\n{head}{}", "x".repeat(SAID_BYTES_MAX));
        reply(401, "", &body)
    })
    .await;
    let mut headers = HeaderMap::new();
    headers.insert(AUTHORIZATION, "Bearer drawn-for-this-hour".parse().unwrap());
    let answer = line(&platform.url()).get(patient(), "/x", headers).await.unwrap();
    let failure = answer.failure("the platform refuses the credentials");
    let told = format!("{failure:?} {answer:?}");
    assert!(!told.contains("hunter22") && !told.contains("drawn-for-this-hour"), "{told}");
    let said = failure.said.unwrap();
    assert!(said.body.starts_with("no such token *** in GET /x HTTP/1.1  "), "{said:?}");
    assert!(said.body.contains("authorization: ***"), "{said:?}");
    assert_eq!((said.status, said.body.len()), (401, SAID_BYTES_MAX));
}

/// A line that trusts one certificate, which is valid in these years, and a platform that shows it.
async fn encrypted(years: (i32, i32), is_trusted: bool) -> (Platform, Line) {
    let mut params = CertificateParams::new(vec!["127.0.0.1".to_owned()]).unwrap();
    params.not_before = rcgen::date_time_ymd(years.0, 1, 1);
    params.not_after = rcgen::date_time_ymd(years.1, 1, 1);
    let key = KeyPair::generate().unwrap();
    let certificate = params.self_signed(&key).unwrap();
    let provider = Arc::new(tokio_rustls::rustls::crypto::aws_lc_rs::default_provider());
    let config = ServerConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()
        .unwrap()
        .with_no_client_auth()
        .with_single_cert(
            vec![certificate.der().clone()],
            PrivatePkcs8KeyDer::from(key.serialize_der()).into(),
        )
        .unwrap();
    let acceptor = TlsAcceptor::from(Arc::new(config));
    let platform = Platform::with_tls(acceptor, |_, _| reply(200, "", "{}")).await;
    let trusted = reqwest::Certificate::from_der(certificate.der()).unwrap();
    let outside = Outside::build(false, CALLS_AT_ONCE, Resolver::of_machine(), |builder| {
        if is_trusted { builder.tls_certs_only([trusted.clone()]) } else { builder }
    });
    let url = format!("https://{}", platform.address);
    let line = line_with(outside.unwrap(), &url, UNLIMITED);
    (platform, line)
}

#[tokio::test]
async fn a_certificate_must_be_valid_and_trusted() {
    let (platform, line) = encrypted((2020, 4096), true).await;
    assert_eq!(get(&line, patient()).await.unwrap().status, StatusCode::OK);
    assert_eq!(platform.n_requests(), 1);

    let cases = [
        ((2020, 2021), true, "the certificate has expired"),
        ((4095, 4096), true, "the certificate is not valid yet"),
        ((2020, 4096), false, "the certificate is not trusted: its issuer is unknown"),
    ];
    for (years, is_trusted, words) in cases {
        let (platform, line) = encrypted(years, is_trusted).await;
        let failure = get(&line, patient()).await.unwrap_err();
        assert_eq!(failure.detail, format!("the platform can't be reached: {words}"));
        assert_eq!((failure.kind, platform.n_requests()), (FailureKind::Error, 0));
    }
}

/// Has a platform fail until it is left alone.
async fn open_circuit(line: &Line) {
    for _ in 0..breaker::FAILURES_MAX {
        assert_eq!(get(line, patient()).await.unwrap().status.as_u16(), 500);
    }
}

#[tokio::test]
async fn a_platform_that_keeps_failing_is_left_alone_and_then_tried_again() {
    let platform = Platform::new(|nth, _| reply(if nth < 6 { 500 } else { 200 }, "", "")).await;
    let line = line(&platform.url());
    open_circuit(&line).await;
    let failure = get(&line, patient()).await.unwrap_err();
    assert_eq!(failure.kind, FailureKind::Open);
    assert!(failure.detail.starts_with("the platform is left alone for another "), "{failure:?}");
    assert!(failure.detail.ends_with("in a row, last because it answered 500"), "{failure:?}");
    assert!(failure.retry_after.unwrap() <= breaker::OPEN_TIME);
    assert_eq!(platform.n_requests(), 5);

    pass(breaker::OPEN_TIME).await;
    assert_eq!(get(&line, patient()).await.unwrap().status.as_u16(), 500);
    assert_eq!(get(&line, patient()).await.unwrap_err().kind, FailureKind::Open);
    pass(breaker::OPEN_TIME).await;
    assert_eq!(get(&line, patient()).await.unwrap().status.as_u16(), 200);
    assert_eq!(get(&line, patient()).await.unwrap().status.as_u16(), 200);
    assert_eq!(platform.n_requests(), 8);
}

#[tokio::test]
async fn a_platform_that_complains_is_there() {
    for status in [400, 401, 404, 429] {
        let platform = Platform::new(move |_, _| reply(status, "", "")).await;
        let line = line(&platform.url());
        for _ in 0..2 * breaker::FAILURES_MAX {
            assert_eq!(line.send(patient(), post(false)).await.unwrap().status.as_u16(), status);
        }
    }
}

#[tokio::test]
async fn tries_end_when_the_circuit_opens_and_what_the_platform_did_is_told() {
    let platform = Platform::new(|_, _| reply(503, "", "")).await;
    let mut line = line(&platform.url());
    let (registry, meter) = metered();
    line.meter = meter;
    for _ in 0..2 {
        assert_eq!(get(&line, patient()).await.unwrap().status.as_u16(), 503);
    }
    assert_eq!(platform.n_requests(), 5);
    assert_eq!(figure(&registry, "circuit", ""), 2);
    // Nobody waited for a try that was not to be.
    assert_eq!(figure(&registry, "calls_total", "refused"), 0);
    assert_eq!(get(&line, patient()).await.unwrap_err().kind, FailureKind::Open);
    assert_eq!(figure(&registry, "calls_total", "refused"), 1);
}

#[tokio::test]
async fn tries_end_with_the_budget_and_what_the_platform_did_is_told() {
    let platform = Platform::new(|_, _| reply(503, "", "")).await;
    let limits = Limits { calls_per_second: Some(0.01), burst: 2, ..UNLIMITED };
    let line = line_with(outside(), &platform.url(), limits);
    let answer = get(&line, patient()).await.unwrap();
    assert_eq!((answer.status.as_u16(), platform.n_requests()), (503, 2));
}

#[tokio::test]
async fn whoever_waited_for_a_turn_heeds_what_the_platform_said_meanwhile() {
    let allowed = Arc::new(Semaphore::new(0));
    let Play::Send(busy) = reply(429, "Retry-After: 3600\r\n", "") else { unreachable!() };
    let hold = Play::Hold(busy, Arc::clone(&allowed));
    let mut platform = Platform::new(move |_, _| hold.clone()).await;
    let limits = Limits { calls_at_once: 1, ..UNLIMITED };
    let line = line_with(outside(), &platform.url(), limits);
    let (mut first, mut second) =
        (Box::pin(get(&line, patient())), Box::pin(get(&line, patient())));
    tokio::select! {
        biased;
        _ = &mut first => panic!("the platform holds its answer"),
        _ = &mut second => panic!("there is one turn"),
        _ = platform.request() => allowed.add_permits(1),
    }
    let (first, second) = tokio::join!(first, second);
    assert_eq!(first.unwrap().status.as_u16(), 429);
    assert_eq!(second.unwrap_err().kind, FailureKind::Throttled);
    assert_eq!(platform.n_requests(), 1);
}

#[tokio::test(start_paused = true)]
async fn a_platform_that_keeps_hanging_is_left_alone_too() {
    let platform = Platform::new(|_, _| Play::Hang(Vec::new())).await;
    let line = line(&platform.url());
    let ask = || Ask { deadline: Instant::now() + CHANCE_MIN };
    for _ in 0..breaker::FAILURES_MAX {
        assert_eq!(get(&line, ask()).await.unwrap_err().kind, FailureKind::Timeout);
    }
    assert_eq!(get(&line, ask()).await.unwrap_err().kind, FailureKind::Open);
}

#[tokio::test(start_paused = true)]
async fn a_caller_that_leaves_at_the_deadline_has_seen_the_platform_hang() {
    let platform = Platform::new(|_, _| Play::Hang(Vec::new())).await;
    let line = line(&platform.url());
    for _ in 0..breaker::FAILURES_MAX {
        let deadline = Instant::now() + CHANCE_MIN;
        let mut asked = Box::pin(get(&line, Ask { deadline }));
        tokio::select! {
            biased;
            _ = &mut asked => panic!("the platform hangs"),
            () = std::future::ready(()) => {}
        }
        tokio::time::advance(CHANCE_MIN).await;
        drop(asked);
    }
    assert_eq!(get(&line, patient()).await.unwrap_err().kind, FailureKind::Open);
}

#[tokio::test(start_paused = true)]
async fn a_call_without_a_chance_says_nothing_about_the_platform() {
    let platform = Platform::new(|_, _| Play::Hang(Vec::new())).await;
    let line = line(&platform.url());
    for _ in 0..2 * breaker::FAILURES_MAX {
        let failure = get(&line, Ask { deadline: Instant::now() + CHANCE_MIN / 2 }).await;
        assert_eq!(failure.unwrap_err().kind, FailureKind::Timeout);
    }
}

#[tokio::test(start_paused = true)]
async fn a_slow_platform_is_not_blamed_for_calls_that_had_less_time_than_it_takes() {
    let slow = Duration::from_millis(800);
    let platform = Platform::new(|_, _| Play::Hang(Vec::new())).await;
    let line = line(&platform.url());
    super::call::standing(&line.standing).took(slow);
    for _ in 0..2 * breaker::FAILURES_MAX {
        let failure = get(&line, Ask { deadline: Instant::now() + slow }).await.unwrap_err();
        assert!(failure.is_ours && failure.kind == FailureKind::Timeout, "{failure:?}");
    }
    for _ in 0..breaker::FAILURES_MAX {
        let failure = get(&line, Ask { deadline: Instant::now() + 2 * slow }).await.unwrap_err();
        assert!(!failure.is_ours, "{failure:?}");
    }
    assert_eq!(get(&line, patient()).await.unwrap_err().kind, FailureKind::Open);
}

#[tokio::test]
async fn without_time_a_platform_is_not_asked() {
    let platform = Platform::new(|_, _| reply(200, "", "")).await;
    let failure = get(&line(&platform.url()), Ask { deadline: Instant::now() }).await.unwrap_err();
    let expected = "there was no time left to ask the platform";
    assert_eq!((failure.kind, failure.detail.as_str()), (FailureKind::Timeout, expected));
    assert_eq!(platform.n_requests(), 0);
}

#[tokio::test]
async fn a_try_that_nobody_waits_for_makes_room_for_the_next() {
    let mut platform = Platform::new(|nth, _| match nth {
        0..5 => reply(500, "", ""),
        5 => Play::Hang(Vec::new()),
        _ => reply(200, "", ""),
    })
    .await;
    let line = line(&platform.url());
    open_circuit(&line).await;
    for _ in 0..breaker::FAILURES_MAX {
        platform.request().await;
    }
    pass(breaker::OPEN_TIME).await;

    let mut left = Box::pin(get(&line, patient()));
    tokio::select! {
        _ = &mut left => panic!("the platform hangs"),
        _ = platform.request() => {}
    }
    let failure = get(&line, patient()).await.unwrap_err();
    assert_eq!(failure.kind, FailureKind::Open);
    assert!(failure.detail.contains("just being tried again"), "{failure:?}");
    drop(left);
    assert_eq!(get(&line, patient()).await.unwrap().status, StatusCode::OK);
}

#[tokio::test]
async fn no_more_calls_run_at_once_than_may() {
    let allowed = Arc::new(Semaphore::new(0));
    let Play::Send(answer) = reply(200, "", "") else { unreachable!() };
    let hold = Play::Hold(answer, Arc::clone(&allowed));
    let mut platform = Platform::new(move |_, _| hold.clone()).await;
    let limits = Limits { calls_at_once: 2, ..UNLIMITED };
    let mut line = line_with(outside(), &platform.url(), limits);
    let (registry, meter) = metered();
    line.meter = meter;
    let release = async {
        platform.request().await;
        platform.request().await;
        // Both places are taken, so this one only waits.
        let failure = get(&line, short()).await.unwrap_err();
        assert_eq!(failure.kind, FailureKind::Timeout);
        assert!(failure.detail.ends_with("this call's turn: 2 may run at once"), "{failure:?}");
        assert_eq!(figure(&registry, "throttled_total", ""), 0, "nobody wanted it to wait");
        allowed.add_permits(6);
    };
    let calls = futures_util::future::join_all((0..6).map(|_| get(&line, patient())));
    let (answers, ()) = tokio::join!(calls, release);
    assert!(answers.iter().all(Result::is_ok));
    assert_eq!((platform.n_requests(), platform.n_under_way_max()), (6, 2));
}

#[tokio::test]
async fn no_more_calls_of_all_accounts_run_at_once_than_may() {
    let allowed = Arc::new(Semaphore::new(0));
    let Play::Send(answer) = reply(200, "", "") else { unreachable!() };
    let hold = Play::Hold(answer, Arc::clone(&allowed));
    let mut busy = Platform::new(move |_, _| hold.clone()).await;
    let other = Platform::new(|_, _| reply(200, "", "")).await;
    let first = line_with(Outside::new(false, 2).unwrap(), &busy.url(), UNLIMITED);
    let mut second = line(&other.url());
    second.outside = Arc::clone(&first.outside);
    let release = async {
        busy.request().await;
        busy.request().await;
        for _ in 0..breaker::FAILURES_MAX {
            let ask = Ask { deadline: Instant::now() + Duration::from_millis(25) };
            let failure = get(&second, ask).await.unwrap_err();
            assert_eq!(failure.kind, FailureKind::Timeout, "it says nothing about the platform");
            let words = "the server itself has too many calls under way";
            assert!(failure.detail.ends_with(words), "{failure:?}");
        }
        assert_eq!(other.n_requests(), 0);
        allowed.add_permits(6);
    };
    let calls = futures_util::future::join_all((0..6).map(|_| get(&first, patient())));
    let (answers, ()) = tokio::join!(calls, release);
    assert!(answers.iter().all(Result::is_ok));
    assert_eq!((busy.n_requests(), busy.n_under_way_max()), (6, 2));
    assert_eq!(get(&second, patient()).await.unwrap().status, StatusCode::OK);
}

#[tokio::test]
async fn no_more_calls_are_made_over_time_than_may() {
    let platform = Platform::new(|_, _| reply(200, "", "")).await;
    let limits = Limits { calls_per_second: Some(0.01), burst: 2, ..UNLIMITED };
    let mut line = line_with(outside(), &platform.url(), limits);
    let (registry, meter) = metered();
    line.meter = meter;
    assert!(get(&line, patient()).await.is_ok() && get(&line, patient()).await.is_ok());
    let failure = get(&line, patient()).await.unwrap_err();
    let expected = "the account's own budget of 0.01 calls a second is spent";
    assert_eq!((failure.kind, failure.detail.as_str()), (FailureKind::Throttled, expected));
    assert_eq!(platform.n_requests(), 2);
    assert_eq!(figure(&registry, "throttled_total", ""), 1);

    pass(Duration::from_secs(100)).await;
    assert!(get(&line, patient()).await.is_ok());
}

#[tokio::test]
async fn calls_wait_for_their_turn_in_the_budget() {
    let platform = Platform::new(|_, _| reply(200, "", "")).await;
    let limits = Limits { calls_per_second: Some(100.0), burst: 1, ..UNLIMITED };
    let line = line_with(outside(), &platform.url(), limits);
    let calls = futures_util::future::join_all((0..6).map(|_| get(&line, patient())));
    assert!(calls.await.iter().all(Result::is_ok));
    assert_eq!(platform.n_requests(), 6);
}

#[tokio::test]
async fn calls_are_counted_by_what_came_of_them() {
    let platform = Platform::new(|nth, _| match nth {
        0 => reply(429, "", ""),
        1 => reply(503, "", ""),
        2 => reply(404, "", ""),
        3 => reply(429, "Retry-After: 3600\r\n", ""),
        _ => Play::Hang(Vec::new()),
    })
    .await;
    let mut line = line(&platform.url());
    let (registry, meter) = metered();
    line.meter = meter;
    for _ in 0..3 {
        let _ = get(&line, patient()).await;
    }
    pass(QUIET_MAX).await;
    let _ = get(&line, short()).await;
    let calls = ["ok", "error", "timeout", "throttled", "refused"];
    let calls = calls.map(|it| figure(&registry, "calls_total", &format!("outcome=\"{it}\"")));
    assert_eq!(calls, [1, 1, 1, 2, 0]);
    #[rustfmt::skip]
    let others = [
        ("retries_total",               2),
        ("throttled_total",             1),
        ("call_duration_seconds_count", 5),
        ("calls_in_flight",             0),
        ("circuit",                     0),
    ];
    for (name, expected) in others {
        assert_eq!(figure(&registry, name, ""), expected, "{name}");
    }
}

#[tokio::test]
async fn nothing_that_is_shown_of_a_line_is_a_secret() {
    let line = line("http://127.0.0.1:9700/v1");
    assert_eq!(format!("{line:?}"), "Line { base: BaseUrl(http://127.0.0.1:9700/v1), .. }");
    assert_eq!(format!("{:?}", post(true)), "Request { method: POST, .. }");
}
