//! Look-ups over several pages, and odd pages.

use gatehouse_core::IdentifierKind;

use super::*;

const BY_CURSOR: &str = r#"
paging: { by: cursor, size: { max: 2 }, next: { body: $.next } }
list: { call: { get: /sims, query: { after: "{page.cursor}", size: "{page.size}" } }, items: $.data }
"#;

/// A page with these ids and this cursor.
fn page(ids: &[&str], next: Value) -> Reaction {
    let data: Vec<Value> = ids.iter().map(|id| json!({"id": id, "iccid": "1"})).collect();
    json_reply(json!({"data": data, "next": next, "total": 3}))
}

async fn found(connector: &ManifestConnector) -> Result<Vec<String>, Failure> {
    let by = LookUpKey::Number(IdentifierKind::Iccid);
    let found = connector.look_up(patient(), by, &["1".to_owned()]).await?;
    Ok(found.iter().map(|it| it.local_id.to_string()).collect())
}

#[tokio::test]
async fn an_empty_page_may_have_a_cursor() {
    let mut platform = Platform::new(|nth, _| match nth % 3 {
        0 => page(&[], json!("m1")),
        1 => page(&["a"], json!("m2")),
        _ => page(&["b"], json!(null)),
    })
    .await;
    let rest = REST.replace("page: \"{page.number}\"", "after: \"{page.cursor}\"");
    let connector = connector(&platform, &[BY_CURSOR, &rest]);
    assert_eq!(found(&connector).await, Ok(vec!["a".to_owned(), "b".to_owned()]));
    let received_lines =
        ["GET /sims?iccid=1", "GET /sims?iccid=1&after=m1", "GET /sims?iccid=1&after=m2"];
    assert_eq!(platform.received_lines(), received_lines);
    let start = Position::Cursor { after: None, size: 2 };
    let empty = connector.page(patient(), &start).await.unwrap();
    assert_eq!(
        (empty.connections.len(), empty.next.as_deref(), empty.is_last),
        (0, Some("m1"), false)
    );
}

#[tokio::test]
async fn a_partial_look_up_is_a_failure() {
    const PART: &str = "the platform gave only a part of what a look-up found";
    // The total says that there are three, the cursor that there are more, and the call can't page.
    let rest = REST.replace(", page: \"{page.number}\"", "");
    for (paging, next, is_part) in [
        (NUMBERED, json!(null), true),
        (BY_CURSOR, json!("m1"), true),
        (BY_CURSOR, json!(null), false),
        (BY_CURSOR, json!(""), false),
    ] {
        let mut platform = Platform::new(move |_, _| page(&["a", "b"], next.clone())).await;
        let shown = found(&connector(&platform, &[paging, &rest])).await;
        match is_part {
            true => {
                let failure = shown.unwrap_err();
                assert_eq!(failure.detail, PART, "{paging}");
                // The body holds connections, so it must not be shown.
                assert_eq!(failure.response.unwrap().body, "", "{paging}");
            }
            false => assert_eq!(shown.unwrap().len(), 2, "{paging}"),
        }
        assert_eq!(platform.received_lines().len(), 1);
    }
}

#[tokio::test]
async fn a_look_up_by_offset_continues_after_the_results_so_far() {
    const OFFSET: &str = r#"
paging: { by: offset, size: { max: 2 }, total: $.total }
list: { call: { get: /sims, query: { skip: "{page.offset}", size: "{page.size}" } }, items: $.data }
"#;
    let mut platform = Platform::new(|nth, _| page(&[["a", "b", "c"][nth]], json!(null))).await;
    let rest = REST.replace("page: \"{page.number}\"", "skip: \"{page.offset}\"");
    let connector = connector(&platform, &[OFFSET, &rest]);
    assert_eq!(found(&connector).await.map(|it| it.concat()), Ok("abc".to_owned()));
    let received_lines = [0, 1, 2].map(|n| format!("GET /sims?iccid=1&skip={n}"));
    assert_eq!(platform.received_lines(), received_lines);
}

#[tokio::test]
async fn without_a_total_a_short_page_or_a_404_ends_a_look_up() {
    let paging = NUMBERED.replace(", total: $.total", ", ends_short: true");
    let mut short =
        Platform::new(|nth, _| page(&["a", "b", "c"][nth * 2..][..2 - nth], json!(null))).await;
    assert_eq!(
        found(&connector(&short, &[&paging, REST])).await.map(|it| it.concat()),
        Ok("abc".into())
    );
    assert_eq!(short.received_lines().len(), 2);
    let mut gone = Platform::new(|nth, _| match nth {
        0 => page(&["a", "b"], json!(null)),
        _ => reply(404, "", "{}"),
    })
    .await;
    assert_eq!(
        found(&connector(&gone, &[&paging, REST])).await.map(|it| it.concat()),
        Ok("ab".into())
    );
    assert_eq!(gone.received_lines().len(), 2);
}

#[tokio::test]
async fn values_that_do_not_match_are_not_looked_up() {
    let mut platform = Platform::new(|_, _| page(&["a", "b", "c"], json!(null))).await;
    let rest = REST.replace("at_once: 1000", "at_once: 1000, only: '[0-9]+'");
    let connector = connector(&platform, &[NUMBERED, &rest]);
    let by = LookUpKey::Number(IdentifierKind::Iccid);
    let values = ["x1", "7", "", "8"].map(str::to_owned);
    connector.look_up(patient(), by, &values).await.unwrap();
    assert_eq!(platform.received_lines(), ["GET /sims?iccid=7,8&page=1"]);
    assert_eq!(connector.look_up(patient(), by, &values[..1]).await, Ok(Vec::new()));
    let never = LookUpKey::Number(IdentifierKind::Imsi);
    assert_eq!(connector.look_up(patient(), never, &values).await, Ok(Vec::new()));
    assert_eq!(platform.received_lines(), Vec::<String>::new());
}

#[tokio::test]
async fn a_gateways_404_page_is_not_a_miss() {
    for (media, body, is_miss) in
        [("application/json", "{}", true), ("text/html", "<html>No such page</html>", false)]
    {
        let platform =
            Platform::new(move |_, _| reply(404, &format!("Content-Type: {media}\r\n"), body))
                .await;
        let connector = connector(&platform, &[NUMBERED, REST]);
        let found = connector.look_up(patient(), LookUpKey::Id, &["a".to_owned()]).await;
        assert_eq!(found.is_ok(), is_miss, "{media}: {found:?}");
        let failure = first(&connector).await.unwrap_err();
        let is_list =
            failure.detail == "the platform has no list at this path; is its base URL right?";
        assert_eq!(is_list, is_miss, "{failure:?}");
    }
}

#[tokio::test]
async fn pages_have_totals_and_last_flags() {
    const LAST: &str = r#"
paging: { by: offset, size: { max: 5 }, total: { header: X-Total }, last: { path: $.more, equals: false } }
list: { call: { get: /sims, query: { skip: "{page.offset}", size: "{page.size}" } }, items: $.data }
"#;
    let mut platform = Platform::new(|_, _| {
        reply(200, "X-Total: 12\r\n", r#"{"data": [{"id": 1}], "more": false}"#)
    })
    .await;
    let rest = REST.replace(", page: \"{page.number}\"", "");
    let connector = connector(&platform, &[LAST, &rest]);
    for (offset, n, is_last) in [(3, 1, true), (11, 1, true), (12, 0, true)] {
        let page = connector.page(patient(), &Position::Offset { offset, size: 5 }).await.unwrap();
        assert_eq!((page.connections.len(), page.total, page.is_last), (n, Some(12), is_last));
    }
    assert_eq!(platform.received_lines()[0], "GET /sims?skip=3&size=5");
}
