use super::*;

const TRACE: &str = "0af7651916cd43dd8448eb211c80319c";
const PARENT: &str = "b7ad6b7169203331";

fn headers(pairs: &[(&'static str, &str)]) -> HeaderMap {
    let mut headers = HeaderMap::new();
    for (name, value) in pairs {
        headers.append(*name, value.parse().unwrap());
    }
    headers
}

#[test]
fn a_traceparent_is_parsed_as_specified() {
    for (text, is_good) in [
        (format!("00-{TRACE}-{PARENT}-01"), true),
        (format!("00-{TRACE}-{PARENT}-00"), true),
        (format!("00-{TRACE}-{PARENT}-ff"), true),
        (format!("01-{TRACE}-{PARENT}-01"), true),
        (format!("cc-{TRACE}-{PARENT}-01-what-comes-later"), true),
        (format!("00-{TRACE}-{PARENT}-01-more"), false),
        (format!("00-{TRACE}-{PARENT}-01-"), false),
        (format!("ff-{TRACE}-{PARENT}-01"), false),
        (format!("0-{TRACE}-{PARENT}-01"), false),
        (format!("00-{}-{PARENT}-01", "0".repeat(32)), false),
        (format!("00-{TRACE}-{}-01", "0".repeat(16)), false),
        (format!("00-{TRACE}-{PARENT}"), false),
        (format!("00-{TRACE}-{PARENT}-1"), false),
        (format!("00-{TRACE}-{PARENT}-0g"), false),
        (format!("00-{}-{PARENT}-01", TRACE.to_uppercase()), false),
        (format!("00-{}-{PARENT}-01", &TRACE[1..]), false),
        (format!("00-+{}-{PARENT}-01", &TRACE[1..]), false),
        (format!(" 00-{TRACE}-{PARENT}-01"), false),
        (String::new(), false),
    ] {
        let read = read_traceparent(&text);
        assert_eq!(read.is_some(), is_good, "{text}");
        if let Some((trace, span, _)) = read {
            assert_eq!((trace.to_string(), span.to_string()), (TRACE.into(), PARENT.into()));
        }
    }
    assert!(read_traceparent(&format!("00-{TRACE}-{PARENT}-03")).unwrap().2.is_sampled());
    assert!(!read_traceparent(&format!("00-{TRACE}-{PARENT}-02")).unwrap().2.is_sampled());
}

#[tokio::test]
async fn outgoing_requests_carry_the_trace() {
    assert!(outgoing_headers().is_empty(), "there is no trace");
    let given = format!("00-{TRACE}-{PARENT}-01");
    let given = headers(&[
        ("traceparent", &given),
        ("tracestate", "vendor=a:b"),
        ("tracestate", "other@x=c, third=d"),
    ]);
    let trace = Trace::begin(&given);
    let sent = trace.run(async { outgoing_headers() }).await;
    let mut response = HeaderMap::new();
    trace.write_header(&mut response);
    assert_eq!(sent["traceparent"], response["traceparent"], "both name the server's span");
    assert_eq!(sent["tracestate"], "vendor=a:b,other@x=c,third=d");
    assert_eq!(trace.id().as_deref(), Some(TRACE));

    let trace = Trace::begin(&HeaderMap::new());
    assert!(trace.run(async { outgoing_headers() }).await.is_empty());
}

#[test]
fn an_unreadable_state_does_not_invalidate_the_trace() {
    let given = format!("00-{TRACE}-{PARENT}-01");
    let read = parent(&headers(&[("traceparent", &given), ("tracestate", "nonsense")])).unwrap();
    assert_eq!(read.trace_state().header(), "");
}
