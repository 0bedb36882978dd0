use std::collections::HashSet;
use std::sync::Arc;
use std::time::Duration;

use gatehouse_core::{Account, Identifier};
use serde_json::json;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpListener;
use tokio::time::Instant;

use super::super::{Misbehaviour, Platform, Profile, Server};
use super::*;
use crate::client::tests::here;
use crate::connector::PagingMethod;
use crate::{BaseUrl, ClientPool, PlatformLimits, PlatformMeter};

const TOKEN: &str = "tok-3n-0f-alpha";

fn settings(value: Value) -> Settings {
    let Value::Object(settings) = value else { panic!("{value}") };
    settings
}

fn credentials(secrets: &[(&str, &str)]) -> Credentials {
    let mut credentials = Credentials::default();
    for (name, secret) in secrets {
        credentials.insert((*name).to_owned(), (*secret).to_owned());
    }
    credentials
}

fn line(url: &str) -> PlatformClient {
    let account = Account {
        platform: "ALPHA".parse().unwrap(),
        name: "alpha".parse().unwrap(),
        connector: "simulator".parse().unwrap(),
        platform_account: "1".parse().unwrap(),
    };
    let limits = PlatformLimits {
        calls_at_once: 8,
        calls_per_second: None,
        burst: 1,
        quotas: Vec::new(),
        wait: None,
    };
    let outside = Arc::new(ClientPool::new(here(), 8).unwrap());
    let meter = PlatformMeter::new().account(&"acme".parse().unwrap(), &account);
    let base = BaseUrl::parse(url, &here()).unwrap();
    PlatformClient::new(outside, &account.connector, base, limits, meter, Vec::new())
}

/// A platform that runs, and a connector that fits it.
fn pair(platform: Platform) -> (Server, SimulatorConnector) {
    let server = Server::start(platform, ([127, 0, 0, 1], 0).into()).unwrap();
    let connector = connected(&server);
    (server, connector)
}

/// A connector that fits a platform, and remembers nothing of what it did before.
fn connected(server: &Server) -> SimulatorConnector {
    let Platform { paging, page_size_max, look_up_max, .. } = server.platform();
    let settings = settings(json!({
        "paging": paging.as_str(),
        "pageSizeMax": page_size_max,
        "lookUpMax": look_up_max,
    }));
    SimulatorConnector::new(line(&server.url()), &settings, &credentials(&[("token", TOKEN)]))
        .unwrap()
}

/// A connector to whatever is there instead of a platform: it answers once, with this.
async fn instead(status: u16, body: &str) -> SimulatorConnector {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let url = format!("http://{}", listener.local_addr().unwrap());
    let n_bytes = body.len();
    let answer = format!("HTTP/1.1 {status} Whatever\r\nContent-Length: {n_bytes}\r\n\r\n{body}");
    tokio::spawn(async move {
        let (mut stream, _) = listener.accept().await.unwrap();
        let mut request = Vec::new();
        while !request.ends_with(b"\r\n\r\n") {
            stream.read_buf(&mut request).await.unwrap();
        }
        stream.write_all(answer.as_bytes()).await.unwrap();
    });
    SimulatorConnector::new(line(&url), &settings(json!({})), &credentials(&[])).unwrap()
}

/// Long enough for whatever is to come.
const IMSI: LookUpKey = LookUpKey::Number(IdentifierKind::Imsi);

fn patient() -> CallContext {
    CallContext::until(Instant::now() + Duration::from_secs(60))
}

/// All pages, one behind the other.
async fn walk(connector: &SimulatorConnector, size: u32) -> Vec<Arc<Connection>> {
    let mut seen = Vec::new();
    let mut after = None;
    for index in 0.. {
        let at = match connector.capabilities().paging.steps {
            PagingMethod::Numbered => Position::Page { index, size },
            PagingMethod::Offset => Position::Offset { offset: index * u64::from(size), size },
            PagingMethod::Cursor => Position::Cursor { after, size },
        };
        let page = connector.page(patient(), &at).await.unwrap();
        let is_last = page.next.is_none() && page.connections.len() < size as usize;
        seen.extend(page.connections);
        after = page.next;
        if is_last {
            break;
        }
    }
    seen
}

#[tokio::test]
async fn what_is_listed_can_be_looked_up_and_read_over_http() {
    for platform in Platform::usual() {
        let platform = Platform { n_connections: 25, look_up_max: 10, ..platform };
        let name = platform.name.clone();
        let (server, connector) = pair(platform);
        let seen = walk(&connector, 7).await;
        let ids: HashSet<&str> = seen.iter().map(|it| it.local_id.as_str()).collect();
        assert_eq!((seen.len(), ids.len()), (25, 25), "{name}");
        for kind in IdentifierKind::ALL {
            let carried = |it: &Arc<Connection>| {
                it.identifiers
                    .iter()
                    .find(|(it, _)| *it == kind)
                    .map(|(_, value)| value.to_string())
            };
            let carrying: Vec<_> = seen.iter().filter(|it| carried(it).is_some()).collect();
            for some in carrying.chunks(10) {
                let values: Vec<String> = some.iter().filter_map(|it| carried(it)).collect();
                for value in &values {
                    assert!(Identifier::parse(kind, value).is_ok(), "{value}");
                }
                let found =
                    connector.look_up(patient(), LookUpKey::Number(kind), &values).await.unwrap();
                assert_eq!(found.iter().collect::<Vec<_>>(), some, "{name}: {kind:?}");
            }
        }
        for connection in &seen {
            let read = connector.read(patient(), &connection.local_id).await.unwrap();
            assert_eq!(read.as_ref(), Some(connection));
        }
        assert_eq!(connector.read(patient(), "no/such id?").await.unwrap(), None);
        let unknown = ["000000".to_owned()];
        let found = connector.look_up(patient(), IMSI, &unknown).await.unwrap();
        assert!(found.is_empty());
        server.stop().await;
    }
}

#[tokio::test]
async fn totals_come_from_those_who_count() {
    for platform in Platform::usual() {
        let expected = (platform.paging != PagingKind::Cursor).then_some(1000);
        let (_server, connector) = pair(platform);
        let at = match connector.capabilities().paging.steps {
            PagingMethod::Cursor => Position::Cursor { after: None, size: 1 },
            PagingMethod::Offset => Position::Offset { offset: 999, size: 1 },
            _ => Position::Page { index: 999, size: 1 },
        };
        let page = connector.page(patient(), &at).await.unwrap();
        assert_eq!((page.connections.len(), page.total), (1, expected));
    }
}

#[tokio::test]
async fn what_cannot_be_there_is_not_asked_for() {
    let (server, connector) = pair(Platform::default());
    assert_eq!(connector.look_up(patient(), IMSI, &[]).await, Ok(Vec::new()));
    for nowhere in ["", ".", ".."] {
        assert_eq!(connector.read(patient(), nowhere).await, Ok(None), "{nowhere}");
    }
    assert_eq!(server.requests(), 0);
}

#[tokio::test]
async fn what_a_platform_does_wrong_is_a_failure_that_says_it() {
    use Misbehaviour::{Html, InvalidJson, Redirect, Throttled, Unauthorized, WrongTypes};
    let (server, _) = pair(Platform { n_connections: 5, ..Platform::default() });
    let at = Position::Page { index: 0, size: 5 };
    for (fault, kind, expected) in [
        (Html, FailureKind::Error, "a web page, where JSON was expected"),
        (InvalidJson, FailureKind::Error, "what is not JSON"),
        (WrongTypes, FailureKind::Error, "JSON of another shape than expected"),
        (Redirect, FailureKind::Error, "elsewhere.invalid"),
        (Unauthorized, FailureKind::Error, "the platform answered 401"),
        (Throttled, FailureKind::Throttled, "the platform answered 429"),
    ] {
        // A wait that nobody would wait for: the answer comes back as it is.
        let retry_after_seconds = 3600;
        server.set_profile(Profile { fault, retry_after_seconds, ..Profile::default() });
        let failure = connected(&server).page(patient(), &at).await.unwrap_err();
        assert_eq!(failure.kind, kind, "{failure:?}");
        assert!(failure.detail.contains(expected), "{fault:?}: {failure:?}");
        assert!(!format!("{failure:?}").contains(TOKEN));
    }
    server.set_profile(Profile { fault: WrongTypes, ..Profile::default() });
    let connector = connected(&server);
    let imsi = ["262011234567890".to_owned()];
    assert!(connector.look_up(patient(), IMSI, &imsi).await.is_err());
    let error_status = StatusCode::IM_A_TEAPOT;
    server.set_profile(Profile { error_percent: 100, error_status, ..Profile::default() });
    let failure = connector.read(patient(), "x").await.unwrap_err();
    assert_eq!(failure.detail, "the platform answered 418");
    assert_eq!(failure.said.unwrap().status, 418);
}

#[tokio::test]
async fn only_the_platform_itself_can_say_that_there_is_no_such_connection() {
    let own = r#"{"status": 404, "error": "Not Found", "message": "there is no connection x"}"#;
    assert_eq!(instead(404, own).await.read(patient(), "x").await, Ok(None));
    for other in [
        "",
        "no route to that host",
        "<html>404 Not Found</html>",
        "{}",
        r#"{"message": "no Route matched with those values"}"#,
        r#"{"status": 502, "error": "Bad Gateway", "message": "nobody there"}"#,
    ] {
        let failure = instead(404, other).await.read(patient(), "x").await.unwrap_err();
        assert_eq!(failure.detail, "the platform answered 404", "{other}");
        assert_eq!(failure.said.unwrap().body, other);
    }
}

#[tokio::test]
async fn a_look_up_that_is_cut_is_a_failure() {
    let imsi = ["262011234567890".to_owned()];
    for (body, is_whole) in [
        (r#"{"connections": []}"#, true),
        (r#"{"connections": [], "next": null}"#, true),
        (r#"{"connections": [], "next": ""}"#, true),
        (r#"{"connections": [], "next": "m2"}"#, false),
    ] {
        let connector = instead(200, body).await;
        match connector.look_up(patient(), IMSI, &imsi).await {
            Ok(found) => assert!(is_whole && found.is_empty(), "{body}"),
            Err(failure) => {
                let expected = "the platform gave only a part of what a look-up found";
                assert!(!is_whole && failure.detail == expected, "{body}: {failure:?}");
            }
        }
    }
}

#[tokio::test]
async fn a_page_is_taken_as_it_is() {
    let (server, connector) = pair(Platform { n_connections: 50, ..Platform::default() });
    let at = Position::Page { index: 0, size: 5 };
    for (fault, n_connections, n_different) in
        [(Misbehaviour::Duplicates, 5, 4), (Misbehaviour::TooMany, 15, 10)]
    {
        server.set_profile(Profile { fault, ..Profile::default() });
        let page = connector.page(patient(), &at).await.unwrap();
        let ids: HashSet<&str> = page.connections.iter().map(|it| it.local_id.as_str()).collect();
        assert_eq!((page.connections.len(), ids.len()), (n_connections, n_different), "{fault:?}");
    }
}

#[test]
fn an_account_is_read_and_what_it_leaves_out_has_a_default() {
    let read = |settings: Value| {
        read_account(&self::settings(settings), &credentials(&[("token", TOKEN)])).unwrap().0
    };
    let searched = |values_max| LookUp::Searched { values_max };
    let least = read(json!({}));
    assert_eq!(least.paging, Paging::numbered(100));
    assert_eq!(
        IdentifierKind::ALL.map(|kind| least.look_up(LookUpKey::Number(kind))),
        [searched(100); 4]
    );
    for (name, paging) in [
        ("page", Paging::numbered(1000)),
        ("offset", Paging::offset(1000)),
        ("cursor", Paging::cursor(1000)),
    ] {
        let all = json!({ "paging": name, "pageSizeMax": 1000, "lookUpMax": 1 });
        let capabilities = read(all);
        assert_eq!(capabilities.paging, paging);
        assert_eq!(capabilities.iccid, searched(1));
    }
}

#[test]
fn all_that_is_wrong_with_an_account_is_said_at_once_without_its_secrets() {
    let said = |settings: Value, secrets: &[(&str, &str)]| -> Vec<String> {
        let faults = check(&self::settings(settings), &credentials(secrets));
        faults.iter().map(|fault| format!("{} {}", fault.name, fault.reason)).collect()
    };
    let good = json!({});
    assert_eq!(said(good.clone(), &[("token", TOKEN)]), Vec::<String>::new());
    assert_eq!(
        said(json!({}), &[]),
        Vec::<String>::new(),
        "what becomes of it is seen when it asks"
    );
    assert_eq!(
        said(
            json!({ "paging": "pages", "pageSizeMax": 0, "lookUpMax": "9", "x": 1 }),
            &[("token", "two\nlines"), ("key", "hidden")],
        ),
        [
            "settings.paging must be one of page, offset, cursor, not `pages`",
            "settings.pageSizeMax must be a whole number, 1 to 1000, not 0",
            "settings.lookUpMax must be a whole number, 1 to 100, not a string",
            "settings.x is not a setting of this connector; it may have baseUrl, callsAtOnce, \
             callsPerSecond, paging, pageSizeMax, lookUpMax",
            "credentials.key is not a credential of this connector; it has token",
            "credentials.token must have 1 to 4096 printable characters of ASCII",
        ]
    );
    for (setting, value, is_good) in [
        ("pageSizeMax", json!(1000), true),
        ("pageSizeMax", json!(1001), false),
        ("pageSizeMax", json!(1.5), false),
        ("lookUpMax", json!(100), true),
        ("lookUpMax", json!(101), false),
        ("paging", json!(null), false),
    ] {
        let mut settings = self::settings(good.clone());
        settings.insert(setting.to_owned(), value.clone());
        let faults = check(&settings, &credentials(&[("token", TOKEN)]));
        assert_eq!(faults.is_empty(), is_good, "{setting} {value}: {faults:?}");
    }
    let (longest, too_long) = ("x".repeat(4096), "x".repeat(4097));
    for (token, is_good) in [("", false), (&*longest, true), (&*too_long, false), ("ü", false)] {
        let faults = check(&self::settings(good.clone()), &credentials(&[("token", token)]));
        assert_eq!(faults.is_empty(), is_good);
    }
}

#[test]
fn a_connector_does_not_show_its_token() {
    let settings = settings(json!({}));
    let connector = SimulatorConnector::new(
        line("http://127.0.0.1:9700"),
        &settings,
        &credentials(&[("token", TOKEN)]),
    );
    assert!(!format!("{:?}", connector.unwrap()).contains(TOKEN));
}

#[test]
fn what_goes_into_an_address_is_encoded() {
    let mark = |text: &str| Position::Cursor { after: Some(text.to_owned()), size: 3 };
    assert_eq!(
        page_target(&mark("a&b=c d/ü")),
        "/v1/connections?cursor=a%26b%3Dc%20d%2F%C3%BC&limit=3"
    );
    assert_eq!(page_target(&Position::Cursor { after: None, size: 3 }), "/v1/connections?limit=3");
    assert_eq!(page_target(&Position::Page { index: 4, size: 3 }), "/v1/connections?page=5&size=3");
    assert_eq!(
        page_target(&Position::Offset { offset: 12, size: 3 }),
        "/v1/connections?offset=12&limit=3"
    );
    let values = ["SL-DF-1,2".to_owned(), "3&x".to_owned()];
    assert_eq!(
        look_up_target(IdentifierKind::SerialNumber, &values),
        "/v1/connections?serial=SL-DF-1%2C2,3%26x"
    );
}

fn read_body(text: &str) -> Result<PlatformPage, String> {
    let body: PageBody = serde_json::from_str(text).map_err(|error| error.to_string())?;
    page(body).map_err(|failure| failure.detail)
}

#[test]
fn only_what_is_known_is_read() {
    let page = read_body(
        r#"{"connections": [{"id": "7", "state": "in-use", "connectivity": "cellular",
             "iccid": "8949", "imsi": "", "msisdn": null, "imei": "35", "pin": "1234", "serial": "5",
             "properties": [{"name": "a", "value": "b", "by": 1}, {"name": "a", "value": "c"},
                            {"name": "a", "value": ""}, {"name": "a", "value": null}, {"name": "a"}]},
            {"id": "8", "state": "test-ready", "connectivity": "satellite"}],
            "total": 2, "next": "", "pages": {"n": [1]}}"#,
    )
    .unwrap();
    assert_eq!((page.total, page.next), (Some(2), None));
    let property = |value: &str| Property { name: "a".into(), value: value.into() };
    let expected = Connection {
        local_id: "7".into(),
        status: "ACTIVE".into(),
        platform_status: Some("in-use".into()),
        connectivity: Connectivity::Cellular,
        identifiers: vec![
            (IdentifierKind::Iccid, "8949".into()),
            (IdentifierKind::SerialNumber, "5".into()),
        ],
        imeis: vec!["35".into()],
        properties: vec![property("b"), property("c")],
    };
    assert_eq!(*page.connections[0], expected);
    let bare = &page.connections[1];
    assert_eq!((&*bare.status, bare.connectivity), ("TEST-READY", Connectivity::Satellite));
    assert!(bare.identifiers.is_empty() && bare.imeis.is_empty() && bare.properties.is_empty());
}

#[test]
fn statuses_are_told_in_our_words() {
    for (word, ours) in [
        ("in-use", "ACTIVE"),
        ("paused", "SUSPENDED"),
        ("stock", "CREATED"),
        ("retired", "TERMINATED"),
        ("test-ready", "TEST-READY"),
    ] {
        assert_eq!(status(word), ours);
    }
}

#[test]
fn what_has_another_shape_is_refused() {
    let long = "x".repeat(LOCAL_ID_CHARS_MAX + 1);
    let with_id = |id: &str| {
        json!({ "connections": [{ "id": id, "state": "s", "connectivity": "cellular" }] })
            .to_string()
    };
    assert!(read_body(&with_id(&long[1..])).is_ok());
    for text in [
        "[]",
        "{}",
        r#"{"connections": null}"#,
        r#"{"connections": [], "total": -1}"#,
        r#"{"connections": [], "total": "1"}"#,
        r#"{"connections": [], "next": 5}"#,
        r#"{"connections": [{"state": "s", "connectivity": "cellular"}]}"#,
        r#"{"connections": [{"id": 5, "state": "s", "connectivity": "cellular"}]}"#,
        r#"{"connections": [{"id": "5", "state": null, "connectivity": "cellular"}]}"#,
        r#"{"connections": [{"id": "5", "state": "s", "connectivity": "radio"}]}"#,
        r#"{"connections": [{"id": "5", "state": "s", "connectivity": "cellular", "imsi": 26201}]}"#,
        r#"{"connections": [{"id": "5", "state": "s", "connectivity": "cellular", "properties": {}}]}"#,
        &with_id(""),
        &with_id("a\nb"),
        &with_id(&long),
    ] {
        assert!(read_body(text).is_err(), "{text}");
    }
}
