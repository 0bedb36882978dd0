//! The list of accesses: filters, pages, links, and faults.

use super::*;
use crate::app::requester::testing::ORIGIN;
use gatehouse_core::credential::StoredHash;
use gatehouse_core::{AccessId, Labels, TenantName};
use gatehouse_store::NewAccess;
use insta::assert_snapshot;

/// Three accesses, a day apart: `ann` and `cleo` under `payg`, `bob` under `other`.
async fn set_up(gate: &Gatehouse) {
    for (day, body) in [
        (1, r#"{"contractId": "payg", "username": "ann"}"#),
        (2, r#"{"contractId": "other", "username": "bob", "deviceName": "pump 7"}"#),
        (3, r#"{"contractId": "payg", "username": "cleo", "deviceName": "ann"}"#),
    ] {
        gate.clock.set(at(&format!("2027-04-0{day}T12:00:00Z")));
        gate.create(body).await;
    }
    gate.post("/rival/access", r#"{"contractId": "payg", "username": "dan"}"#).await;
}

fn usernames(response: &TestResponse) -> String {
    let json = response.json();
    let names = json.as_array().unwrap().iter().map(|it| it["username"].as_str().unwrap());
    names.collect::<Vec<_>>().join(" ")
}

#[tokio::test]
async fn filters_count_and_list_the_same_accesses() {
    #[rustfmt::skip]
    let cases = [
        // query                                                       // usernames         // ignored
        ("",                                                           "ann bob cleo",      None),
        ("filter=contractId=payg",                                     "ann cleo",          None),
        ("contractId=payg",                                            "ann cleo",          None),
        ("filter=contractId=payg&productOfferingId=po-use",            "ann cleo",          None),
        ("filter=contractId=payg&productOfferingId=po-other",          "",                  None),
        ("contractId=payg&username=cleo",                              "cleo",              None),
        ("contractId=payg&productOfferingId=po-use;username=bob",      "ann bob cleo",      None),
        ("username=ann;username=bob",                                  "ann bob",           None),
        ("name=ann",                                                   "ann cleo",          None),
        ("name=pump%207",                                              "bob",               None),
        ("name=pump+7",                                                "bob",               None),
        ("name=pump%2B7",                                              "",                  None),
        ("filter=name%3Dpump+7",                                       "bob",               None),
        ("filter=contractId%3Dpayg%26username%3Dann",                  "ann",               None),
        ("createdAt%3E%3D2027-04-02",                                  "bob cleo",          None),
        ("createdAt%3E=2027-04-02T14:00:00%2B02:00",                   "bob cleo",          None),
        ("createdAt%3E=2027-04-02T14:00:00+02:00",                     "bob cleo",          None),
        ("createdAt%3E=2027-04-02T14:00:00%2002:00",                   "bob cleo",          None),
        ("filter=createdAt%3E%3D2027-04-02T14:00:00+02:00",            "bob cleo",          None),
        ("createdAt%3E2027-04-02T12:00:00Z",                           "cleo",              None),
        ("createdAt%3C2027-04-02;username=cleo",                       "ann cleo",          None),
        ("createdAt=2027-04-02T12:00:00",                              "bob",               None),
        ("startDateTime%3C=2027-04-02T12:00:00Z",                      "ann bob",           None),
        ("endDateTime%3E2000-01-01",                                   "",                  None),
        ("createdBy=job-019f0000-0000-7000-8000-000000000000",         "",                  None),
        ("createdBy=someone",                                          "",                  None),
        ("username=dan",                                               "",                  None),
        ("username=ANN",                                               "",                  None),
        ("username=o'hara",                                            "",                  None),
        ("username=%00",                                               "",                  None),
        ("contractId=%0A",                                             "",                  None),
        ("contractId=",                                                "",                  None),
        ("color=red",                                                  "ann bob cleo",      Some("color")),
        ("color=red&contractId=payg",                                  "ann cleo",          Some("color")),
        ("color=red;contractId=payg",                                  "ann cleo",          Some("color")),
        ("contractId%3Epayg",                                          "ann bob cleo",      Some("contractId")),
        ("usage=ACTIVE&a%2Cb&usage=X",                                 "ann bob cleo",      Some("usage, a%2Cb")),
        ("status=ACTIVE&contractId=payg",                              "ann cleo",          None),
        ("status=SUSPENDED",                                           "",                  None),
        ("filter=status%3DACTIVE;username=ann",                        "ann bob cleo",      None),
        ("filter=contractId%253Dpayg",                                 "ann bob cleo",      Some("contractId=payg")),
        ("%FF=1",                                                      "ann bob cleo",      Some("%EF%BF%BD")),
    ];
    for gate in Gatehouse::on_each("filters_count_and_list_alike").await {
        set_up(&gate).await;
        for (query, expected, ignored) in cases {
            let response = gate.get(&format!("/acme/access?{query}")).await;
            assert_eq!(response.status, 200, "{}: {query}: {}", gate.kind, response.body);
            assert_eq!(usernames(&response), expected, "{}: {query}", gate.kind);
            let total = expected.split_whitespace().count().to_string();
            assert_eq!(response.header("x-total-count"), Some(total.as_str()), "{query}");
            assert_eq!(response.header("x-ignored-params"), ignored, "{query}");
        }
        assert_eq!(gate.get("/nobody/access?name=x").await.status, 404);
    }
}

#[tokio::test]
async fn a_list_is_sorted_by_the_time_of_creation() {
    #[rustfmt::skip]
    let cases = [
        // query                                                    // usernames     // ignored
        ("sort=-createdAt",                                         "cleo bob ann",  None),
        ("sort=createdAt",                                          "ann bob cleo",  None),
        ("sort=-createdAt&contractId=payg",                         "cleo ann",      None),
        ("status=ACTIVE&sort=-createdAt",                           "cleo bob ann",  None),
        ("sort=-createdAt&startDateTime%3E2020-01-01",              "cleo bob ann",  None),
        ("username=ann;username=cleo&sort=-createdAt",              "cleo ann",      None),
        ("sort=-createdAt&pageSize=2&pageNumber=2",                 "ann",           None),
        ("sort=name",                                               "ann bob cleo",  Some("sort")),
        ("sort",                                                    "ann bob cleo",  Some("sort")),
        ("sort=-CREATEDAT&colour=red",                              "ann bob cleo",  Some("colour, sort")),
    ];
    for gate in Gatehouse::on_each("a_sorted_list").await {
        set_up(&gate).await;
        for (query, expected, ignored) in cases {
            let response = gate.get(&format!("/acme/access?{query}")).await;
            assert_eq!(usernames(&response), expected, "{}: {query}", gate.kind);
            assert_eq!(response.header("x-ignored-params"), ignored, "{query}");
        }
        let first = gate.get("/acme/access?pageSize=2&sort=-createdAt").await;
        let next = "sort=-createdAt&pageNumber=2&pageSize=2".to_owned();
        assert!(links(&first).contains(&("next".into(), next)));
    }
    let gate = Gatehouse::new().await;
    let strict = gate.call("GET", "/acme/access?sort=name", &[("prefer", "handling=strict")], "");
    let faults = strict.await.json()["invalidParams"].take();
    assert_eq!(faults[0]["reason"], "must be createdAt or -createdAt, not `name`");
    let twice = gate.get("/acme/access?sort=createdAt&sort=-createdAt").await;
    assert_eq!(twice.status, 400);
}

#[tokio::test]
async fn a_list_can_do_without_its_total() {
    for gate in Gatehouse::on_each("a_list_without_total").await {
        set_up(&gate).await;
        for query in ["", "status=ACTIVE&", "startDateTime%3E2020-01-01&", "sort=-createdAt&"] {
            for (number, has_next) in [(1, true), (2, false), (3, false)] {
                let path = format!("/acme/access?{query}pageSize=2&pageNumber={number}");
                let response = gate.call("GET", &path, &[("prefer", "count=none")], "").await;
                assert_eq!(response.header("preference-applied"), Some("count=none"), "{path}");
                assert_eq!(response.header("x-total-count"), None);
                let rels: Vec<String> = links(&response).into_iter().map(|(rel, _)| rel).collect();
                let expected: &[&str] = if has_next { &["first", "next"] } else { &["first"] };
                assert_eq!(rels, expected, "{}: {path}", gate.kind);
                let counted = gate.get(&path).await;
                assert_eq!(response.body, counted.body);
                assert_eq!(counted.header("preference-applied"), None);
            }
        }
    }
}

#[tokio::test]
async fn a_page_shows_accesses_without_passwords() {
    let gate = Gatehouse::new().await;
    set_up(&gate).await;
    let response = gate.get("/acme/access?pageSize=1&contractId=payg").await;
    assert!(!response.body.contains("password"));
    let id = response.json()[0]["id"].as_str().unwrap().to_owned();
    assert_snapshot!(response.snapshot().replace(&id, "<id>"), @r#"
    200
    content-type: application/json
    x-total-count: 2
    link: <http://gate.example/acme/access?contractId=payg&pageNumber=1&pageSize=1>; rel="first", <http://gate.example/acme/access?contractId=payg&pageNumber=2&pageSize=1>; rel="last", <http://gate.example/acme/access?contractId=payg&pageNumber=2&pageSize=1>; rel="next"
    x-event-number: 0
    x-correlation-id: <correlation>
    content-length: 316

    [
      {
        "id": "<id>",
        "href": "http://gate.example/acme/access/<id>",
        "contractId": "payg",
        "productOfferingId": "po-use",
        "username": "ann",
        "name": "ann",
        "status": "ACTIVE",
        "startDateTime": "2027-04-01T12:00:00.000Z",
        "@baseType": "Resource",
        "@type": "RealizingResource"
      }
    ]
    "#);
    let head = gate.call("HEAD", "/acme/access?pageSize=1&contractId=payg", &[], "").await;
    assert_eq!((head.status, head.body.as_str()), (200, ""));
    assert_eq!(head.header("link"), response.header("link"));
    assert_eq!(head.header("content-length"), response.header("content-length"));
}

#[tokio::test]
async fn the_list_shows_an_expired_access_as_terminated() {
    let gate = Gatehouse::new().await;
    let contract = r#"{"productOfferingId": "po", "billingModel": "PAY_PER_USE",
                       "endDateTime": "2027-06-01"}"#;
    gate.put("/-/admin/tenants/acme/contracts/ending", contract).await;
    gate.create(r#"{"contractId": "ending"}"#).await;
    for (now, status) in [("2027-05-31", "ACTIVE"), ("2027-06-01", "TERMINATED")] {
        gate.clock.set(at(now));
        let response = gate.get("/acme/access?endDateTime=2027-06-01").await;
        assert_eq!(response.json()[0]["status"], status, "{now}");
    }
}

/// The links of a response by `rel`, each as its query.
fn links(response: &TestResponse) -> Vec<(String, String)> {
    let links = response.header("link").unwrap().split(", ").map(|link| {
        let (address, rel) = link.split_once(">; rel=").unwrap();
        let query = address.strip_prefix("<http://gate.example/acme/access?").unwrap();
        (rel.trim_matches('"').to_owned(), query.to_owned())
    });
    links.collect()
}

#[tokio::test]
async fn links_lead_to_the_other_pages_and_keep_the_rest_of_the_query() {
    let gate = Gatehouse::new().await;
    set_up(&gate).await;
    #[rustfmt::skip]
    let cases = [
        // query                                   // first, last, next page          // rest of the query
        ("pageSize=2",                             (1, 2, Some(2)),                   ""),
        ("pageSize=2&pageNumber=2",                (1, 2, None),                      ""),
        ("pageSize=2&pageNumber=9",                (1, 2, None),                      ""),
        ("pageSize=2&pageNumber=10000000",         (1, 2, None),                      ""),
        ("pageSize=1&contractId=payg",             (1, 2, Some(2)),                   "contractId=payg&"),
        ("pageSize=1&contractId=none",             (1, 1, None),                      "contractId=none&"),
        ("contractId=payg;pageSize=1;username=bob", (1, 3, Some(2)),                  "contractId=payg;username=bob&"),
        ("filter=contractId%3Dpayg%26pageSize%3D1", (1, 2, Some(2)),                  "filter=contractId%3Dpayg&"),
        ("pageSize=1&color=red&filter=contractId%3Dpayg", (1, 2, Some(2)),            "color=red&filter=contractId%3Dpayg&"),
        ("pageSize=3&name=%22a%22",                (1, 1, None),                      "name=%22a%22&"),
    ];
    for (query, (first, last, next), rest) in cases {
        let response = gate.get(&format!("/acme/access?{query}")).await;
        let size = query.split("pageSize").nth(1).unwrap().trim_start_matches(['=', '%', '3', 'D']);
        let size: String = size.chars().take_while(char::is_ascii_digit).collect();
        let size = if query.contains("pageSize=3") { "3" } else { &size };
        let mut expected = vec![("first", first), ("last", last)];
        expected.extend(next.map(|next| ("next", next)));
        let expected: Vec<(String, String)> = expected
            .into_iter()
            .map(|(rel, page)| (rel.into(), format!("{rest}pageNumber={page}&pageSize={size}")))
            .collect();
        assert_eq!(links(&response), expected, "{query}");
    }
    assert_eq!(gate.get("/acme/access?pageNumber=2").await.body, "[]");
    assert_eq!(links(&gate.get("/acme/access").await)[0].1, "pageNumber=1&pageSize=100");
}

#[tokio::test]
async fn all_faults_of_a_list_query_are_reported_at_once() {
    let gate = Gatehouse::new().await;
    let many = |n: usize, separator: &str| vec!["contractId=payg"; n].join(separator);
    let (alternatives, conditions) = (many(33, ";"), many(65, "&"));
    #[rustfmt::skip]
    let cases = [
        // query                                              // faulty parameters
        ("pageNumber=0",                                      vec!["pageNumber"]),
        ("pageNumber=-1",                                     vec!["pageNumber"]),
        ("pageNumber=1.5",                                    vec!["pageNumber"]),
        ("pageNumber=10000001",                               vec!["pageNumber"]),
        ("pageNumber=",                                       vec!["pageNumber"]),
        ("pageNumber",                                        vec!["pageNumber"]),
        ("pageNumber=%31%30x",                                vec!["pageNumber"]),
        ("pageNumber=99999999999999999999999",                vec!["pageNumber"]),
        ("pageSize=0&pageNumber=x",                           vec!["pageNumber", "pageSize"]),
        ("pageSize=1001",                                     vec!["pageSize"]),
        ("pageSize=%FF",                                      vec!["pageSize"]),
        ("pageSize=1&contractId=payg;pageSize=1",             vec!["pageSize"]),
        ("createdAt%3E=yesterday",                            vec!["createdAt"]),
        ("createdAt=",                                        vec!["createdAt"]),
        ("createdAt%3E=2027-02-30",                           vec!["createdAt"]),
        ("createdAt%3E=2027-01-01T00:00:00%2025:00",          vec!["createdAt"]),
        ("contractId=none&startDateTime=x;endDateTime=y&pageSize=0", vec!["startDateTime", "endDateTime", "pageSize"]),
        ("username=%FF",                                      vec!["username"]),
        ("contractId=payg;name=%C3%28",                       vec!["name"]),
        (&alternatives,                                       vec!["filter"]),
        (&conditions,                                         vec!["filter"]),
    ];
    for (query, names) in cases {
        let response = gate.get(&format!("/acme/access?{query}")).await;
        assert_eq!(response.faults(), (400, names.join(" ")), "{query}: {}", response.body);
    }
    let accepted = [many(32, ";"), many(64, "&"), "pageNumber=10000000&pageSize=1000".into()];
    for query in accepted {
        assert_eq!(gate.get(&format!("/acme/access?{query}")).await.status, 200, "{query}");
    }
    // Of two preferences the first counts.
    let lenient = [("prefer", "handling=lenient, handling=strict")];
    assert_eq!(gate.call("GET", "/acme/access?color=red", &lenient, "").await.status, 200);
    // A missing tenant comes before other faults.
    assert_eq!(gate.get("/nobody/access?pageNumber=0").await.status, 404);
    let strict = [("prefer", "handling=strict")];
    for (query, names) in
        [("color=red&contractId%3Ea", vec!["color", "contractId"]), ("contractId=a", vec![])]
    {
        let response = gate.call("GET", &format!("/acme/access?{query}"), &strict, "").await;
        assert_eq!(response.status, if names.is_empty() { 200 } else { 400 }, "{query}");
        if response.status == 400 {
            assert_eq!(response.invalid(), names);
            assert!(
                response.body.contains("can't be compared with `>`, only with ="),
                "{}",
                response.body
            );
            assert!(response.body.contains("color is not known here; known are contractId, "));
        }
    }
}

#[test]
fn a_list_that_takes_too_long_suggests_a_narrower_filter() {
    use crate::http::answer::problem::Problem;
    use gatehouse_store::StoreError;
    for (error, title, hint) in [
        (StoreError::TooSlow, "Too slow", "narrow a filter by contractId"),
        (StoreError::Busy, "Busy", "try again later"),
    ] {
        let reply = Problem::from(error).into_reply("id");
        assert_eq!(reply.status, 503);
        assert!(reply.headers.contains_key("retry-after"));
        let body: Value = serde_json::from_slice(reply.body.bytes()).unwrap();
        assert_eq!(body["title"], title);
        assert!(body["detail"].as_str().unwrap().contains(hint), "{body}");
    }
}

/// Creates accesses, a thousand at a time.
async fn create(store: &Store, prefix: &str, n: usize) {
    let new = |k: usize| {
        let username = format!("{prefix}{k}");
        let mut random = [0; 10];
        random.copy_from_slice(&format!("{username:0>10}").as_bytes()[..10]);
        NewAccess {
            id: AccessId::new(1, &random),
            contract_id: ["payg", "pre", "other"][k % 3].parse().unwrap(),
            is_drawn: false,
            username: username.parse().unwrap(),
            password: StoredHash::new("no password".into()),
            device_name: None,
            labels: Labels::NONE,
            created_by: None,
            idempotent: None,
            origin: ORIGIN.clone(),
        }
    };
    let tenant: TenantName = "acme".parse().unwrap();
    let all: Vec<usize> = (0..n).collect();
    for some in all.chunks(1000) {
        let new = some.iter().map(|k| new(*k)).collect();
        for created in store.create_accesses(&tenant, new).await.unwrap() {
            created.unwrap();
        }
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn following_next_finds_each_access_once_during_creations() {
    let n_before = 100_000;
    for gate in Gatehouse::on_each("a_walk_along_next").await {
        let store = &gate.gate.server.app.store;
        create(store, "a", n_before).await;
        for (n, (query, n_expected)) in [
            ("pageSize=1000", n_before),
            ("pageSize=1000&contractId=payg;contractId=other", n_before - n_before / 3),
            ("pageSize=1000&createdAt%3E=2020-01-01&contractId=pre", n_before / 3),
        ]
        .into_iter()
        .enumerate()
        {
            let mut next = Some(format!("/acme/access?{query}"));
            let mut found = std::collections::HashSet::new();
            let (mut n_found, mut n_pages) = (0, 0);
            while let Some(path) = next {
                n_pages += 1;
                // More accesses are created while the page is read, so the list grows.
                let others = format!("b{n}-{n_pages}-");
                let (response, ()) = tokio::join!(gate.get(&path), create(store, &others, 30));
                for access in response.json().as_array().unwrap() {
                    n_found += 1;
                    found.insert(access["username"].as_str().unwrap().to_owned());
                }
                let links = response.header("link").unwrap().split(", ");
                let mut links = links.filter_map(|link| link.strip_suffix(">; rel=\"next\""));
                let address = links.next().map(|link| link.trim_start_matches('<').to_owned());
                next = address.map(|it| it.strip_prefix("http://gate.example").unwrap().to_owned());
            }
            assert_eq!(found.len(), n_found, "{}: {query}: some occur twice", gate.kind);
            let n_old = found.iter().filter(|name| name.starts_with('a')).count();
            assert_eq!(n_old, n_expected, "{}: {query}: some are missing", gate.kind);
            assert!(n_found > n_expected, "{}: {query}: none were created", gate.kind);
        }
    }
}
