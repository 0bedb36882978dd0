//! Details that the list leaves out.

use gatehouse_core::IdentifierKind;

use super::*;
use crate::connector::ProductParts;

const ALONE: &str = r#"
detail:
  call: { get: "/sims/{value}" }
  items: $
  adds: { identifiers: { msisdn: $.msisdn }, properties: [{ name: tag, value: $.tags }] }
"#;

const JOINED: &str = r#"
detail:
  call: { get: /numbers, query: { sim: ["{value}"], page: "{page.number}" } }
  by: iccid
  at_once: 2
  items: $.data
  belongs_to: $.sim
  adds: { identifiers: { msisdn: $.msisdn }, properties: [{ name: tag, value: $.sim }] }
"#;

fn rest() -> String {
    REST.replace("msisdn: never_carried", "msisdn: not_searchable")
}

/// Connections with these ids, each with an ICCID of that name.
fn connections(ids: &[&str]) -> Vec<Arc<Connection>> {
    let mapping = "{ id: $.id, status: { word: $.status }, identifiers: { iccid: $.iccid } }";
    let mapping: crate::manifest::Mapping = serde_saphyr::from_str(mapping).unwrap();
    let one = |id: &&str| {
        let document = json!({"id": id, "iccid": id.trim_end_matches('?'), "status": "on"});
        let document = if id.ends_with('?') { json!({"id": id}) } else { document };
        Arc::new(
            mapping.connection(&document, gatehouse_core::product::Connectivity::Cellular).unwrap(),
        )
    };
    ids.iter().map(one).collect()
}

/// Ids, each with its MSISDNs.
fn shown(completed: &[Arc<Connection>]) -> Vec<String> {
    let one = |it: &Arc<Connection>| {
        let numbers = it.identifiers.iter().filter(|(kind, _)| *kind == IdentifierKind::Msisdn);
        let numbers: Vec<&str> = numbers.map(|(_, number)| number.as_str()).collect();
        format!("{}: {}", it.local_id, numbers.join(" "))
    };
    completed.iter().map(one).collect()
}

#[tokio::test]
async fn connections_whose_details_fail_are_left_out_and_reported() {
    let mut platform = Platform::new(|_, head| match head.split(' ').nth(1) {
        Some("/sims/gone") => reply(404, "", "{}"),
        Some("/sims/broken") => reply(400, "", r#"{"message": "No"}"#),
        Some(path) => {
            json_reply(json!({"msisdn": path.replace("/sims/", "49"), "tags": ["x", "y"]}))
        }
        None => unreachable!(),
    })
    .await;
    let connector =
        connector(&platform, &[NUMBERED, &rest(), ALONE, "errors: { message: $.message }"]);
    let all = connections(&["c", "gone", "a", "broken", "b"]);
    let DetailedConnections { connections, failures } =
        connector.complete(patient(), all).await.unwrap();
    assert_eq!(shown(&connections), ["c: 49c", "a: 49a", "b: 49b"]);
    assert_eq!(connections[0].properties.len(), 2);
    let failures: Vec<String> = failures.into_iter().map(|it| it.detail).collect();
    let gone = "1 of the connections in its list have no details";
    assert_eq!(failures, ["the platform answered 400: No", gone]);
    assert_eq!(platform.received_lines().len(), 5);
}

#[tokio::test]
async fn details_are_read_in_groups_page_by_page_without_duplicates() {
    let mut platform = Platform::new(|_, head| {
        let row = |sim: &str, msisdn: &str| json!({"sim": sim, "msisdn": msisdn});
        match head.split(' ').nth(1).unwrap() {
            "/numbers?sim=a&sim=b&page=1" => {
                json_reply(json!({"data": [row("a", "1"), row("b", "2")], "total": 5}))
            }
            "/numbers?sim=a&sim=b&page=2" => {
                json_reply(json!({"data": [row("a", "1"), row("a", "3")], "total": 5}))
            }
            "/numbers?sim=a&sim=b&page=3" => {
                json_reply(json!({"data": [row("other", "9")], "total": 5}))
            }
            "/numbers?sim=c&page=1" => json_reply(json!({"data": [], "total": 0})),
            other => reply(500, "", other),
        }
    })
    .await;
    let connector = connector(&platform, &[NUMBERED, &rest(), JOINED]);
    // A connection without an ICCID stays as it was.
    let all = connections(&["a", "none?", "b", "c"]);
    let DetailedConnections { connections, failures } =
        connector.complete(patient(), all).await.unwrap();
    assert_eq!(
        (failures, shown(&connections)),
        (Vec::new(), vec!["a: 1 3".into(), "none?: ".into(), "b: 2".into(), "c: ".into()])
    );
    assert_eq!(platform.received_lines().len(), 4);
    let n_properties: Vec<usize> = connections.iter().map(|it| it.properties.len()).collect();
    assert_eq!(n_properties, [2, 0, 1, 0], "a row each");
}

#[tokio::test]
async fn a_failed_group_leaves_out_its_connections() {
    let platform = Platform::new(|_, head| match head.contains("sim=c") {
        true => reply(400, "", "{}"),
        false => json_reply(json!({"data": [{"sim": "a", "msisdn": 1}], "total": 1})),
    })
    .await;
    let connector = connector(&platform, &[NUMBERED, &rest(), JOINED]);
    let all = connections(&["a", "b", "c", "d"]);
    let DetailedConnections { connections, failures } =
        connector.complete(patient(), all).await.unwrap();
    assert_eq!((shown(&connections), failures.len()), (vec!["a: 1".into(), "b: ".into()], 1));
}

#[tokio::test]
async fn a_look_up_reads_details_of_exact_matches_and_only_if_needed() {
    let none = ProductParts::default();
    for (parts, is_asked) in [
        (ProductParts::ALL, true),
        (ProductParts { characteristics: true, ..none }, true),
        (ProductParts { properties: true, ..none }, true),
        (ProductParts { status: true, ..none }, false),
        (none, false),
    ] {
        let mut platform = Platform::new(|_, head| match head.starts_with("GET /sims?") {
            true => json_reply(json!({"data": [{"id": "a", "iccid": "89"}, {"id": "b", "iccid": "891"}], "total": 2})),
            false => json_reply(json!({"msisdn": "49"})),
        })
        .await;
        let connector = connector(&platform, &[NUMBERED, &rest(), ALONE]);
        let by = LookUpKey::Number(IdentifierKind::Iccid);
        let context = CallContext { parts, ..patient() };
        let found = connector.look_up(context, by, &["89".to_owned()]).await.unwrap();
        let (received_lines, expected) = if is_asked {
            (vec!["GET /sims?iccid=89&page=1", "GET /sims/a"], vec!["a: 49"])
        } else {
            (vec!["GET /sims?iccid=89&page=1"], vec!["a: ", "b: "])
        };
        assert_eq!(
            (platform.received_lines(), shown(&found)),
            (
                received_lines.iter().map(ToString::to_string).collect(),
                expected.iter().map(ToString::to_string).collect()
            ),
            "{parts:?}"
        );
    }
}

#[tokio::test]
async fn a_detailed_look_up_needs_no_detail_calls() {
    let mut platform = Platform::new(|_, _| json_reply(json!({"id": "a", "msisdn": "49"}))).await;
    let rest = rest().replace("items: $ }", "items: $, is_detailed: true }");
    let connector = connector(&platform, &[NUMBERED, &rest, ALONE]);
    let found = connector.look_up(patient(), LookUpKey::Id, &["a".to_owned()]).await.unwrap();
    assert_eq!(
        (shown(&found), platform.received_lines()),
        (vec!["a: 49".to_owned()], vec!["GET /sims/a".to_owned()])
    );
}

#[tokio::test]
async fn a_look_up_whose_details_fail_fails() {
    let platform = Platform::new(|_, head| match head.starts_with("GET /sims?") {
        true => json_reply(json!({"data": [{"id": "a", "iccid": "89"}], "total": 1})),
        false => reply(400, "", "{}"),
    })
    .await;
    let connector = connector(&platform, &[NUMBERED, &rest(), ALONE]);
    let found = connector
        .look_up(patient(), LookUpKey::Number(IdentifierKind::Iccid), &["89".to_owned()])
        .await;
    assert_eq!(found.unwrap_err().detail, "the platform answered 400");
}
