//! `connectors/simulator.yaml` against simulated platforms.

use std::collections::HashSet;
use std::sync::Arc;
use std::time::Duration;

use gatehouse_core::account::{AddressSource, Credentials};
use gatehouse_core::product::{Connectivity, LOCAL_ID_CHARS_MAX, Property};
use gatehouse_core::{Account, Connection, Identifier, IdentifierKind};
use http::StatusCode;
use serde_json::{Value, json};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpListener;
use tokio::time::Instant;

use crate::client::tests::here;
use crate::simulator::{Misbehaviour, PagingKind, Platform, Profile, Server};
use crate::{
    AccountSetup, CallContext, Catalog, ClientPool, Connector, Failure, FailureKind, LookUp,
    LookUpKey, Manifests, Paging, PagingMethod, PlatformMeter, PlatformPage, Position, Settings,
};

const TOKEN: &str = "tok-3n-0f-alpha";

const IMSI: LookUpKey = LookUpKey::Number(IdentifierKind::Imsi);

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

fn catalog() -> Catalog {
    Catalog::new(here(), Manifests::shipped())
}

/// An account as the server opens it.
fn open(url: &str, own: Value, credentials: &Credentials) -> Box<dyn Connector> {
    let mut settings = settings(own);
    settings.insert("baseUrl".into(), url.into());
    let account = Account {
        platform: "ALPHA".parse().unwrap(),
        name: "alpha".parse().unwrap(),
        connector: "simulator".parse().unwrap(),
        platform_account: "1".parse().unwrap(),
    };
    let clients = Arc::new(ClientPool::new(here(), 8).unwrap());
    let tenant = "acme".parse().unwrap();
    let meter = PlatformMeter::new().account(&tenant, &account);
    let address_source = AddressSource::Operator;
    let setup = AccountSetup { settings: &settings, credentials, address_source };
    catalog().open(&tenant, &account, setup, &clients, meter).unwrap_or_else(|it| panic!("{it:?}"))
}

/// Starts a platform, and opens a connector to it.
fn start_with_connector(platform: Platform) -> (Server, Box<dyn Connector>) {
    let server = Server::start(platform, ([127, 0, 0, 1], 0).into()).unwrap();
    let connector = connector_of(&server);
    (server, connector)
}

/// A new connector to a platform, with the settings that fit it.
fn connector_of(server: &Server) -> Box<dyn Connector> {
    let Platform { paging, page_size_max, look_up_max, .. } = server.platform();
    let settings = json!({
        "paging": paging.as_str(),
        "pageSizeMax": page_size_max,
        "lookUpMax": look_up_max,
    });
    open(&server.url(), settings, &credentials(&[("token", TOKEN)]))
}

/// A connector to a fake server that sends one response.
async fn connector_to_response(paging: PagingKind, status: u16, body: &str) -> Box<dyn Connector> {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let url = format!("http://{}", listener.local_addr().unwrap());
    let n_bytes = body.len();
    let response = format!("HTTP/1.1 {status} Whatever\r\nContent-Length: {n_bytes}\r\n\r\n{body}");
    tokio::spawn(async move {
        let (mut stream, _) = listener.accept().await.unwrap();
        let mut request = Vec::new();
        while !request.ends_with(b"\r\n\r\n") {
            stream.read_buf(&mut request).await.unwrap();
        }
        stream.write_all(response.as_bytes()).await.unwrap();
    });
    open(&url, json!({ "paging": paging.as_str() }), &credentials(&[]))
}

/// A deadline that no test reaches.
fn context() -> CallContext {
    CallContext::until(Instant::now() + Duration::from_secs(60))
}

/// Reads one connection by the platform's id.
async fn read(connector: &dyn Connector, id: &str) -> Result<Option<Arc<Connection>>, Failure> {
    let found = connector.look_up(context(), LookUpKey::Id, &[id.to_owned()]).await;
    found.map(|it| it.into_iter().next())
}

/// The connections of all pages, in order.
async fn walk(connector: &dyn Connector, size: u32) -> Vec<Arc<Connection>> {
    let mut seen = Vec::new();
    let mut after = None;
    for index in 0.. {
        let at = match connector.capabilities().paging.steps {
            PagingMethod::Numbered => Position::Page { index, size },
            PagingMethod::Offset => Position::Offset { offset: index * u64::from(size), size },
            PagingMethod::Cursor => Position::Cursor { after, size },
        };
        let page = connector.page(context(), &at).await.unwrap();
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
async fn listed_connections_can_be_looked_up_and_read() {
    for platform in Platform::default_set() {
        let platform = Platform { n_connections: 25, look_up_max: 10, ..platform };
        let name = platform.name.clone();
        let (server, connector) = start_with_connector(platform);
        let seen = walk(&*connector, 7).await;
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
                    connector.look_up(context(), LookUpKey::Number(kind), &values).await.unwrap();
                assert_eq!(found.iter().collect::<Vec<_>>(), some, "{name}: {kind:?}");
            }
        }
        for connection in &seen {
            let read = read(&*connector, &connection.local_id).await.unwrap();
            assert_eq!(read.as_ref(), Some(connection));
        }
        assert_eq!(read(&*connector, "no/such id?").await.unwrap(), None);
        let unknown = ["000000".to_owned()];
        let found = connector.look_up(context(), IMSI, &unknown).await.unwrap();
        assert!(found.is_empty());
        server.stop().await;
    }
}

#[tokio::test]
async fn all_but_cursor_platforms_give_a_total() {
    for platform in Platform::default_set() {
        let expected = (platform.paging != PagingKind::Cursor).then_some(1000);
        let (_server, connector) = start_with_connector(platform);
        let at = match connector.capabilities().paging.steps {
            PagingMethod::Cursor => Position::Cursor { after: None, size: 1 },
            PagingMethod::Offset => Position::Offset { offset: 999, size: 1 },
            _ => Position::Page { index: 999, size: 1 },
        };
        let page = connector.page(context(), &at).await.unwrap();
        assert_eq!((page.connections.len(), page.total), (1, expected));
    }
}

#[tokio::test]
async fn impossible_ids_are_not_requested() {
    let (server, connector) = start_with_connector(Platform::default());
    assert_eq!(connector.look_up(context(), IMSI, &[]).await, Ok(Vec::new()));
    for id in ["", ".", ".."] {
        assert_eq!(read(&*connector, id).await, Ok(None), "{id}");
    }
    assert_eq!(server.requests(), 0);
}

#[tokio::test]
async fn a_fault_of_the_platform_is_described_by_the_failure() {
    use Misbehaviour::{Html, InvalidJson, Redirect, Throttled, Unauthorized, WrongTypes};
    let (server, _) = start_with_connector(Platform { n_connections: 5, ..Platform::default() });
    let at = Position::Page { index: 0, size: 5 };
    for (fault, kind, expected) in [
        (Html, FailureKind::Error, "a web page, where JSON was expected"),
        (InvalidJson, FailureKind::Error, "what is not JSON"),
        (WrongTypes, FailureKind::Error, "a connection without an id"),
        (Redirect, FailureKind::Error, "elsewhere.invalid"),
        (Unauthorized, FailureKind::Error, "the platform answered 401"),
        (Throttled, FailureKind::Throttled, "the platform answered 429"),
    ] {
        // Too long to wait for, so the response is returned without a retry.
        let retry_after_seconds = 3600;
        server.set_profile(Profile { fault, retry_after_seconds, ..Profile::default() });
        let failure = connector_of(&server).page(context(), &at).await.unwrap_err();
        assert_eq!(failure.kind, kind, "{failure:?}");
        assert!(failure.detail.contains(expected), "{fault:?}: {failure:?}");
        assert!(!format!("{failure:?}").contains(TOKEN));
    }
    server.set_profile(Profile { fault: WrongTypes, ..Profile::default() });
    let connector = connector_of(&server);
    let imsi = ["262011234567890".to_owned()];
    assert!(connector.look_up(context(), IMSI, &imsi).await.is_err());
    server.set_profile(Profile::default());
    let page = connector.page(context(), &at).await.unwrap();
    let id = page.connections[0].local_id.clone();
    server.set_profile(Profile { fault: WrongTypes, ..Profile::default() });
    assert!(read(&*connector, &id).await.is_err());
    let error_status = StatusCode::IM_A_TEAPOT;
    server.set_profile(Profile { error_percent: 100, error_status, ..Profile::default() });
    let failure = read(&*connector, "x").await.unwrap_err();
    let message = "this request is one of those that fail";
    assert_eq!(failure.detail, format!("the platform answered 418: {message}"));
    let response = failure.response.unwrap();
    assert_eq!((response.status, response.message.as_deref()), (418, Some(message)));
    assert_eq!(response.code.as_deref(), Some("I'm a teapot"));
}

#[tokio::test]
async fn only_a_404_of_the_platform_itself_means_no_such_connection() {
    let own = r#"{"status": 404, "error": "Not Found", "message": "there is no connection x"}"#;
    assert_eq!(
        read(&*connector_to_response(PagingKind::Page, 404, own).await, "x").await,
        Ok(None)
    );
    for other in [
        "",
        "no route to that host",
        "<html>404 Not Found</html>",
        "{}",
        r#"{"message": "no Route matched with those values"}"#,
        r#"{"status": 502, "error": "Bad Gateway", "message": "nobody there"}"#,
    ] {
        let connector = connector_to_response(PagingKind::Page, 404, other).await;
        let failure = read(&*connector, "x").await.unwrap_err();
        assert!(failure.detail.starts_with("the platform answered 404"), "{other}");
        assert_eq!(failure.response.unwrap().body, other);
    }
}

#[tokio::test]
async fn a_404_as_an_error_status_is_a_failure() {
    let (server, connector) =
        start_with_connector(Platform { n_connections: 5, ..Platform::default() });
    let error_status = StatusCode::NOT_FOUND;
    server.set_profile(Profile { error_percent: 100, error_status, ..Profile::default() });
    let imsi = ["262011234567890".to_owned()];
    let found = connector.look_up(context(), IMSI, &imsi).await.unwrap_err();
    let listed = connector.page(context(), &Position::Page { index: 0, size: 5 }).await;
    for failure in [found, listed.unwrap_err(), read(&*connector, "x").await.unwrap_err()] {
        assert!(failure.detail.starts_with("the platform answered 404"), "{failure:?}");
        assert_eq!(failure.response.unwrap().status, 404);
    }
}

#[tokio::test]
async fn an_incomplete_look_up_is_a_failure() {
    let imsi = ["262011234567890".to_owned()];
    for (body, is_complete) in [
        (r#"{"connections": []}"#, true),
        (r#"{"connections": [], "next": null}"#, true),
        (r#"{"connections": [], "next": ""}"#, true),
        (r#"{"connections": [], "next": "m2"}"#, false),
    ] {
        let connector = connector_to_response(PagingKind::Cursor, 200, body).await;
        match connector.look_up(context(), IMSI, &imsi).await {
            Ok(found) => assert!(is_complete && found.is_empty(), "{body}"),
            Err(failure) => {
                let expected = "the platform gave only a part of what a look-up found";
                assert!(!is_complete && failure.detail == expected, "{body}: {failure:?}");
            }
        }
    }
}

#[tokio::test]
async fn a_page_is_returned_unchanged() {
    let (server, connector) =
        start_with_connector(Platform { n_connections: 50, ..Platform::default() });
    let at = Position::Page { index: 0, size: 5 };
    for (fault, n_connections, n_different) in
        [(Misbehaviour::Duplicates, 5, 4), (Misbehaviour::TooMany, 15, 10)]
    {
        server.set_profile(Profile { fault, ..Profile::default() });
        let page = connector.page(context(), &at).await.unwrap();
        let ids: HashSet<&str> = page.connections.iter().map(|it| it.local_id.as_str()).collect();
        assert_eq!((page.connections.len(), ids.len()), (n_connections, n_different), "{fault:?}");
    }
}

#[tokio::test]
async fn settings_have_defaults() {
    let read = |own: Value| {
        let connector = open("http://127.0.0.1:9700", own, &credentials(&[("token", TOKEN)]));
        connector.capabilities().clone()
    };
    let searched = |values_max| LookUp::Searched { values_max };
    let defaults = read(json!({}));
    assert_eq!((defaults.paging, defaults.id), (Paging::numbered(100), searched(1)));
    assert_eq!(
        IdentifierKind::ALL.map(|kind| defaults.look_up(LookUpKey::Number(kind))),
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
fn all_faults_of_an_account_are_reported_without_its_secrets() {
    let faults = |own: Value, secrets: &[(&str, &str)]| -> Vec<String> {
        let mut settings = settings(own);
        settings.insert("baseUrl".into(), "http://127.0.0.1:9700".into());
        let connector = "simulator".parse().unwrap();
        let faults = catalog().faults(&connector, &settings, &credentials(secrets));
        faults.iter().map(|fault| format!("{} {}", fault.name, fault.reason)).collect()
    };
    assert_eq!(faults(json!({}), &[("token", TOKEN)]), Vec::<String>::new());
    // The token is optional: without it, the platform responds with 401.
    assert_eq!(faults(json!({}), &[]), Vec::<String>::new());
    assert_eq!(
        faults(
            json!({ "paging": "pages", "pageSizeMax": 0, "lookUpMax": "9", "x": 1 }),
            &[("token", "two\nlines"), ("key", "hidden")],
        ),
        [
            "settings.x is not a setting of this connector; it may have baseUrl, callsAtOnce, \
             callsPerSecond, paging, pageSizeMax, lookUpMax",
            "settings.paging must be one of page, offset, cursor, not `pages`",
            "settings.pageSizeMax must be a whole number, 1 to 1000, not 0",
            "settings.lookUpMax must be a whole number, 1 to 100, not a string",
            "credentials.key is not a credential of this connector; it has token",
            "credentials.token must have 1 to 8192 characters, none of them a control character",
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
        let faults = faults(json!({ setting: value }), &[("token", TOKEN)]);
        assert_eq!(faults.is_empty(), is_good, "{setting} {value}: {faults:?}");
    }
    let (longest, too_long) = ("x".repeat(4096), "x".repeat(4097));
    for (token, is_good) in [("", false), (&*longest, true), (&*too_long, false), ("ü", false)] {
        assert_eq!(faults(json!({}), &[("token", token)]).is_empty(), is_good);
    }
}

/// Reads a first page from a body.
async fn read_body(text: &str) -> Result<PlatformPage, Failure> {
    let at = Position::Page { index: 0, size: 100 };
    connector_to_response(PagingKind::Page, 200, text).await.page(context(), &at).await
}

#[tokio::test]
async fn unknown_and_empty_fields_are_ignored() {
    let page = read_body(
        r#"{"connections": [{"id": "7", "state": "in-use", "connectivity": "cellular",
             "iccid": "8949", "imsi": "", "msisdn": null, "imei": "35", "pin": "1234", "serial": "5",
             "properties": [{"name": "a", "value": "b", "by": 1}, {"name": "a", "value": "c"},
                            {"name": "a", "value": ""}, {"name": "a", "value": null}, {"name": "a"}]},
            {"id": "8", "state": "test-ready", "connectivity": "satellite"}],
            "total": 2, "next": "", "pages": {"n": [1]}}"#,
    )
    .await
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

#[tokio::test]
async fn states_are_mapped_to_statuses() {
    for (state, status) in [
        ("in-use", "ACTIVE"),
        ("paused", "SUSPENDED"),
        ("stock", "CREATED"),
        ("retired", "TERMINATED"),
        ("test-ready", "TEST-READY"),
    ] {
        let one = json!({ "id": "5", "state": state, "connectivity": "cellular" });
        let page = read_body(&json!({ "connections": [one] }).to_string()).await.unwrap();
        assert_eq!(page.connections[0].status, status);
    }
}

#[tokio::test]
async fn a_malformed_page_is_refused() {
    let long = "x".repeat(LOCAL_ID_CHARS_MAX + 1);
    let with_id = |id: &str| {
        json!({ "connections": [{ "id": id, "state": "s", "connectivity": "cellular" }] })
            .to_string()
    };
    assert!(read_body(&with_id(&long[1..])).await.is_ok());
    for text in [
        "[]",
        "{}",
        r#"{"connections": [{"state": "s", "connectivity": "cellular"}]}"#,
        &with_id(""),
        &with_id("a\nb"),
        &with_id(&long),
    ] {
        assert!(read_body(text).await.is_err(), "{text}");
    }
}
