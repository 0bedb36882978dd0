//! Products of simulated platforms, from the client's request to the platform's call.

use std::collections::{BTreeMap, BTreeSet};

use gatehouse_connectors::simulator::{Misbehaviour, Platform, Profile, Server};
use insta::assert_snapshot;
use serde_json::json;

use super::openapi::assert_documented;
use super::*;
use crate::http::openapi::document;
use crate::http::routes;

/// Connections of each account.
const N_CONNECTIONS: u32 = 7;

/// Tenant `acme` with two accounts at ALPHA, one at BETA (with check digits) and one at GAMMA (satellites, cursors).
struct World {
    gate: Gatehouse,
    alpha: Server,
    beta: Server,
    gamma: Server,
}

/// The accounts in order, with their platforms.
const ACCOUNTS: [(&str, &str); 4] =
    [("one", "ALPHA"), ("two", "ALPHA"), ("three", "BETA"), ("four", "GAMMA")];

impl World {
    async fn new() -> Self {
        Self::around(Gatehouse::new().await).await
    }

    async fn around(gate: Gatehouse) -> Self {
        let [alpha, beta, gamma] = Platform::default_set().map(|platform| {
            let platform = Platform {
                n_connections: N_CONNECTIONS,
                page_size_max: 3,
                look_up_max: 2,
                ..platform
            };
            Server::start(platform, ([127, 0, 0, 1], 0).into()).unwrap()
        });
        let world = Self { gate, alpha, beta, gamma };
        for (name, platform) in ACCOUNTS {
            let (server, paging) = match platform {
                "ALPHA" => (&world.alpha, "page"),
                "BETA" => (&world.beta, "offset"),
                _ => (&world.gamma, "cursor"),
            };
            let body = json!({
                "platform": platform, "connector": "simulator", "platformAccount": format!("no. {name}"),
                "settings": {"baseUrl": server.url(), "paging": paging, "pageSizeMax": 3, "lookUpMax": 2},
                "credentials": {"token": format!("token-of-{name}")},
            });
            let path = format!("/-/admin/tenants/acme/accounts/{name}");
            let response = world.gate.put(&path, &body.to_string()).await;
            assert_eq!(response.status, 201, "{}", response.body);
        }
        world
    }

    /// A page of products.
    async fn list(&self, query: &str) -> Value {
        let response = self.gate.get(&format!("/acme/product?{query}")).await;
        assert_eq!(response.status, 206, "{query}: {}", response.body);
        response.json()
    }

    /// All products that match a filter, in the order of accounts.
    async fn all(&self, filter: &str) -> Vec<Value> {
        let page = self.list(&format!("{filter}&pageSize=1000&pageNumber=1")).await;
        assert_eq!(page["errors"], json!([]), "{filter}");
        page["entities"].as_array().unwrap().clone()
    }

    async fn find(&self, body: &Value) -> Value {
        let response = self.gate.post("/acme/product/find", &body.to_string()).await;
        assert_eq!(response.status, 200, "{}", response.body);
        response.json()
    }
}

fn ids(products: &[Value]) -> Vec<&str> {
    products.iter().map(|it| it["id"].as_str().unwrap()).collect()
}

fn entities(envelope: &Value) -> Vec<&str> {
    ids(envelope["entities"].as_array().unwrap())
}

/// The account of each product.
fn accounts(envelope: &Value) -> Vec<&str> {
    let products = envelope["entities"].as_array().unwrap();
    products.iter().map(|it| it["relatedParty"][0]["name"].as_str().unwrap()).collect()
}

/// The statuses of the problems, in order.
fn errors(envelope: &Value) -> Vec<u64> {
    let errors = envelope["errors"].as_array().unwrap();
    errors.iter().map(|it| it["status"].as_u64().unwrap()).collect()
}

/// The product's first identifier of a kind.
fn number<'p>(product: &'p Value, kind: &str) -> Option<&'p str> {
    let all = product["productCharacteristic"].as_array().unwrap();
    all.iter().find(|it| it["name"] == kind)?["value"].as_str()
}

#[tokio::test]
async fn a_page_of_products_has_all_fields() {
    let world = World::new().await;
    let query =
        "pageSize=1&pageNumber=7&relatedParty.name=two&fields=href,connectivityType,relatedParty";
    let response = world.gate.get(&format!("/acme/product?{query}")).await;
    // The simulator chooses the local identifier.
    let json = response.json();
    let (_, local_id) = entities(&json)[0].split_once('-').unwrap();
    assert_snapshot!(response.snapshot().replace(local_id, "<local>"), @r#"
    206
    content-type: application/json
    link: <http://gate.example/acme/product?relatedParty.name=two&fields=href,connectivityType,relatedParty&pageNumber=7&pageSize=1>;rel="self", <http://gate.example/acme/product?relatedParty.name=two&fields=href,connectivityType,relatedParty&pageNumber=1&pageSize=1>;rel="first", <http://gate.example/acme/product?relatedParty.name=two&fields=href,connectivityType,relatedParty&pageNumber=8&pageSize=1>;rel="next", <http://gate.example/acme/product?relatedParty.name=two&fields=href,connectivityType,relatedParty&pageNumber=6&pageSize=1>;rel="prev"
    x-correlation-id: <correlation>
    content-length: 311

    {
      "entities": [
        {
          "id": "ALPHA-<local>",
          "href": "http://gate.example/acme/product/ALPHA-<local>",
          "connectivityType": "CELLULAR",
          "relatedParty": [
            {
              "name": "two",
              "characteristic": [
                {
                  "name": "PLATFORM_ACCOUNT",
                  "value": "no. two"
                }
              ],
              "role": "customer"
            }
          ]
        }
      ],
      "errors": [],
      "correlationId": "<correlation>"
    }
    "#);
}

#[tokio::test]
async fn following_next_finds_every_product_once() {
    for gate in Gatehouse::on_each("following_next_meets_every").await {
        let world = World::around(gate).await;
        let mut path = "/acme/product?pageSize=11&pageNumber=1&fields=relatedParty".to_owned();
        let mut met = Vec::new();
        loop {
            let response = world.gate.get(&path).await;
            let page = response.json();
            assert_eq!((response.status, errors(&page)), (206, vec![]), "{path}");
            let found: Vec<String> = entities(&page).into_iter().map(str::to_owned).collect();
            // Eleven products for four accounts are two each.
            assert!(found.len() <= 8, "{path}: {}", found.len());
            if found.is_empty() {
                break;
            }
            met.extend(found);
            let link = response.header("link").unwrap();
            let next = link.split(", ").find_map(|it| it.strip_suffix(">;rel=\"next\"")).unwrap();
            path = next.strip_prefix("<http://gate.example").unwrap().to_owned();
            assert!(path.contains("fields=relatedParty"), "{path}");
        }
        let different: BTreeSet<&String> = met.iter().collect();
        assert_eq!((met.len(), different.len()), (28, 28), "{}", world.gate.kind);
    }
}

#[tokio::test]
async fn accounts_share_a_page_in_their_order() {
    let world = World::new().await;
    #[rustfmt::skip]
    let cases = [
        // query                                            // the accounts of the products
        ("pageSize=4&pageNumber=1",                         "one two three four"),
        ("pageSize=7&pageNumber=7",                         "one two three four"),
        ("pageSize=8&pageNumber=2",                         "one one two two three three four four"),
        ("pageSize=9&pageNumber=4",                         "one two three four"),
        ("pageSize=8&pageNumber=5",                         ""),
        ("pageSize=3&pageNumber=1&platform=ALPHA",          "one two"),
        ("pageSize=3&pageNumber=1&platform=BETA",           "three three three"),
        ("pageSize=4&pageNumber=1&platform=BETA;platform=GAMMA", "three three four four"),
        ("pageSize=2&pageNumber=1&platform=GAMMA&relatedParty.name=four", "four four"),
        ("pageSize=2&pageNumber=1&platform=ALPHA&relatedParty.name=four", ""),
        ("pageSize=2&pageNumber=1&platform=ALPHA&platform=BETA", ""),
        ("pageSize=2&pageNumber=1&platform=alpha",          ""),
    ];
    for (query, expected) in cases {
        let page = world.list(query).await;
        assert_eq!(
            (accounts(&page).join(" "), errors(&page)),
            (expected.into(), vec![]),
            "{query}"
        );
    }
}

#[tokio::test]
async fn a_page_smaller_than_the_number_of_accounts_is_trimmed_with_a_problem() {
    let world = World::new().await;
    let page = world.list("pageSize=3&pageNumber=2").await;
    assert_eq!(accounts(&page), ["one", "two", "three"]);
    let error = &page["errors"][0];
    assert_eq!(
        (&error["type"], &error["title"]),
        (&"Bad Request".into(), &"Small page size".into())
    );
    assert_eq!(
        error["detail"],
        "not all items could be retrieved because the requested pageSize (3) is less than the number of \
         configured accounts (4)"
    );
    assert_eq!(errors(&page), [400]);
}

#[tokio::test]
async fn filters_select_the_matching_products() {
    let world = World::new().await;
    let all = world.all("").await;
    let (first, last) = (&all[0], &all[27]);
    let property = all.iter().find_map(|it| it["customProperty"].get(0)).unwrap();
    let (name, value) = (property["name"].as_str().unwrap(), property["value"].as_str().unwrap());
    let having = |wanted: &dyn Fn(&Value) -> bool| {
        let has =
            |it: &&Value| it["customProperty"].as_array().is_some_and(|all| all.iter().any(wanted));
        ids(&all.iter().filter(has).cloned().collect::<Vec<_>>()).join(" ")
    };
    let encoded =
        |text: &str| percent_encoding::utf8_percent_encode(text, crate::http::SEGMENT).to_string();
    let (iccid, imsi) = (number(first, "ICCID").unwrap(), number(&all[9], "IMSI").unwrap());
    let serial = number(last, "SERIAL_NUMBER").unwrap();
    let (one, ten, end) = (ids(&all)[0], ids(&all)[9], ids(&all)[27]);
    let cases = [
        (format!("customProperty.name={}", encoded(name)), having(&|it| it["name"] == name)),
        (format!("customProperty.value={}", encoded(value)), having(&|it| it["value"] == value)),
        (
            format!(
                "customProperty.name={}&customProperty.value={}",
                encoded(name),
                encoded(value)
            ),
            having(&|it| it["name"] == name && it["value"] == value),
        ),
        (format!("ICCID={iccid}"), one.to_owned()),
        (format!("iccid={iccid}&imsi={imsi}&SERIALNUMBER={serial}"), format!("{one} {ten} {end}")),
        (format!("iccid={iccid}&platform=BETA"), String::new()),
        (format!("iccid={iccid};relatedParty.name=two&imsi={imsi}"), format!("{one} {ten}")),
        ("iccid=8900000000000000000".to_owned(), String::new()),
    ];
    for (filter, expected) in cases {
        assert_eq!(ids(&world.all(&filter).await).join(" "), expected, "{filter}");
    }
}

#[tokio::test]
async fn every_product_url_returns_its_product() {
    let world = World::new().await;
    for product in world.all("").await {
        let path = product["href"].as_str().unwrap().strip_prefix("http://gate.example").unwrap();
        let response = world.gate.get(path).await;
        assert_eq!((response.status, &response.json()), (200, &product));
    }
    let response = world.gate.get("/acme/product/ALPHA-unknown").await;
    assert_eq!(response.problem(), (404, "Not found".into()));
}

#[tokio::test]
async fn products_are_found_by_every_identifier() {
    for gate in Gatehouse::on_each("products_are_found_by_whatever").await {
        let world = World::around(gate).await;
        let all = world.all("").await;
        let with = |kind: &str| {
            all.iter().filter_map(|it| number(it, kind)).map(str::to_owned).collect::<Vec<_>>()
        };
        for (list, kind) in [
            ("iccidList", "ICCID"),
            ("imsiList", "IMSI"),
            ("msisdnList", "MSISDN"),
            ("terminalSNList", "SERIAL_NUMBER"),
        ] {
            let found = world.find(&json!({list: with(kind)})).await;
            let expected: Vec<Value> =
                all.iter().filter(|it| number(it, kind).is_some()).cloned().collect();
            assert!(expected.len() > 3, "{kind}");
            assert_eq!(found["entities"], json!(expected), "{} {kind}", world.gate.kind);
            assert_eq!(found["errors"], json!([]), "{kind}");
        }
        // A product with three matching identifiers occurs once; an ICCID matches with and without its check digit.
        let beta = &all[14];
        let iccid = number(beta, "ICCID").unwrap();
        assert_eq!(iccid.len(), 20);
        let found = world
            .find(&json!({
                "iccidList": [&iccid[..19]], "imsiList": [number(beta, "IMSI")],
                "iotConnectionProductIdList": [beta["id"], all[0]["id"]],
            }))
            .await;
        assert_eq!(entities(&found), [ids(&all)[0], ids(&all)[14]]);
        let unknown = json!({
            "iccidList": ["8900000000000000000"], "imsiList": ["999990000000000"],
            "iotConnectionProductIdList": ["ALPHA-unknown", "DELTA-1"],
        });
        assert_eq!(errors(&world.find(&unknown).await), [404, 404, 404]);
    }
}

#[tokio::test]
async fn a_failing_platform_does_not_affect_the_others() {
    let world = World::new().await;
    let all = world.all("").await;
    world.alpha.set_profile(Profile { fault: Misbehaviour::Unauthorized, ..Profile::default() });
    let page = world.list("pageSize=4&pageNumber=1").await;
    assert_eq!((accounts(&page), errors(&page)), (vec!["three", "four"], vec![502, 502]));
    let error = &page["errors"][0];
    assert_eq!(error["externalErrors"][0]["status"], 401);
    assert_eq!(
        error["relatedParty"],
        json!([{
            "name": "one", "role": "customer", "characteristic": [
                {"name": "PLATFORM", "value": "ALPHA"}, {"name": "PLATFORM_ACCOUNT", "value": "no. one"},
            ],
        }])
    );
    assert!(!page.to_string().contains("token-of"), "{page}");

    // Only items that ALPHA can't have are reported as missing.
    let body = json!({
        "iccidList": [number(&all[0], "ICCID"), "1"],
        "terminalSNList": [number(&all[27], "SERIAL_NUMBER")],
        "iotConnectionProductIdList": [all[0]["id"], "BETA-unknown", all[14]["id"]],
    });
    let found = world.find(&body).await;
    assert_eq!(entities(&found), [ids(&all)[14], ids(&all)[27]]);
    assert_eq!(errors(&found), [400, 502, 502, 404]);

    let read = async |at: usize| {
        let response = world.gate.get(&format!("/acme/product/{}", ids(&all)[at])).await;
        (response.status, response.json()["relatedParty"][0]["name"].as_str() == Some("one"))
    };
    assert_eq!(read(0).await, (502, true));
    assert_eq!(read(14).await, (200, false));
}

#[tokio::test]
async fn responses_with_platform_failures_are_in_the_document() {
    let world = World::new().await;
    let document = document(&routes::table(), &Config::default().limits);
    let all = world.all("").await;
    let (list, find) = ("/{tenantName}/product", "/{tenantName}/product/find");
    let read = "/{tenantName}/product/{productId}";
    let search = json!({
        "iotConnectionProductIdList": ids(&all), "terminalSNList": ["SL-DF-unknown", "?"],
    });
    let one = format!("/acme/product/{}", ids(&all)[0]);
    let profile = |fault| Profile { fault, ..Profile::default() };
    for (fault, status) in [
        (Misbehaviour::None, 200),
        (Misbehaviour::Unauthorized, 502),
        (Misbehaviour::Throttled, 429),
    ] {
        world.alpha.set_profile(profile(fault));
        for query in ["pageSize=1&pageNumber=1", "pageSize=4&pageNumber=1&fields=none"] {
            let response = world.gate.get(&format!("/acme/product?{query}")).await;
            assert_documented(&document, list, "GET", &response);
        }
        assert_documented(
            &document,
            find,
            "POST",
            &world.gate.post("/acme/product/find", &search.to_string()).await,
        );
        let response = world.gate.get(&one).await;
        assert_eq!(response.status, status, "{}", response.body);
        assert_documented(&document, read, "GET", &response);
    }
}

#[tokio::test]
async fn a_throttling_platforms_retry_after_is_returned() {
    let world = World::new().await;
    let profile =
        Profile { fault: Misbehaviour::Throttled, retry_after_seconds: 30, ..Profile::default() };
    world.gamma.set_profile(profile);
    let page = world.list("pageSize=4&pageNumber=1").await;
    assert_eq!((accounts(&page), errors(&page)), (vec!["one", "two", "three"], vec![429]));
    let response = world.gate.get("/acme/product/GAMMA-1").await;
    assert_eq!(response.problem(), (429, "Platform throttled".into()));
    let seconds: u64 = response.header("retry-after").unwrap().parse().unwrap();
    assert!((1..=30).contains(&seconds), "{seconds}");
}

#[tokio::test]
async fn a_silent_platform_is_cut_off_at_the_configured_deadline() {
    let mut config = Config::default();
    config.platforms.deadline = "100ms".parse().unwrap();
    let world = World::around(Gatehouse::with(config).await).await;
    world.gamma.set_profile(Profile { fault: Misbehaviour::Hang, ..Profile::default() });
    let page = world.list("pageSize=4&pageNumber=1&platform=GAMMA").await;
    assert_eq!(
        (errors(&page), &page["errors"][0]["title"]),
        (vec![504], &"Platform too slow".into())
    );
    assert_eq!(world.gate.get("/acme/product/GAMMA-1").await.status, 504);
}

#[tokio::test]
async fn a_changed_account_is_used_with_its_new_settings() {
    let world = World::new().await;
    let before = world.all("platform=BETA").await;
    let path = "/-/admin/tenants/acme/accounts/three";
    let other = r#"{"platform": "BETA", "connector": "simulator", "platformAccount": "other",
                    "settings": {"baseUrl": "URL", "paging": "offset", "pageSizeMax": 3}, "credentials": {"token": "another"}}"#;
    world.gate.put(path, &other.replace("URL", &world.beta.url())).await;
    let after = world.all("platform=BETA").await;
    assert_eq!(after[0]["relatedParty"][0]["characteristic"][0]["value"], "other");
    assert!(ids(&after).iter().all(|id| !ids(&before).contains(id)), "other connections");
    assert_eq!(world.gate.delete(path).await.status, 204);
    assert!(world.all("platform=BETA").await.is_empty());
    assert_eq!(world.gate.get(&format!("/acme/product/{}", ids(&after)[0])).await.status, 404);
}

#[tokio::test]
async fn accounts_show_the_health_and_latency_of_their_platforms() {
    let world = World::new().await;
    let document = document(&routes::table(), &Config::default().limits);
    let shown = async || {
        let response = world.gate.get("/acme/account").await;
        assert_documented(&document, "/{tenantName}/account", "GET", &response);
        let shown = |it: &Value| {
            let text = |field: &str| it[field].as_str().unwrap().to_owned();
            (text("name"), (text("health"), it.get("latencyMilliseconds").and_then(Value::as_u64)))
        };
        let accounts = response.json().as_array().unwrap().iter().map(shown).collect();
        let accounts: BTreeMap<String, (String, Option<u64>)> = accounts;
        assert_eq!(accounts.len(), ACCOUNTS.len());
        accounts
    };
    let unknown = ("UNKNOWN".to_owned(), None);
    assert!(shown().await.values().all(|it| *it == unknown), "no platform was called yet");

    world.all("platform=ALPHA").await;
    let accounts = shown().await;
    assert_eq!([&accounts["three"], &accounts["four"]], [&unknown; 2]);
    for account in ["one", "two"] {
        let (health, latency) = &accounts[account];
        assert!(health == "UP" && latency.is_some(), "{accounts:?}");
    }

    world.beta.set_profile(Profile { latency_ms: 20, ..Profile::default() });
    world.all("platform=BETA").await;
    let (health, latency) = &shown().await["three"];
    assert!(health == "UP" && latency.is_some_and(|it| it >= 20), "{latency:?}");

    world.beta.set_profile(Profile { fault: Misbehaviour::Unauthorized, ..Profile::default() });
    let page = world.list("pageSize=4&pageNumber=1&platform=BETA").await;
    assert_eq!(errors(&page), [502]);
    assert_eq!(shown().await["three"], ("DOWN".to_owned(), *latency), "the latency stays");

    let three = "/-/admin/tenants/acme/accounts/three";
    let mut other = world.gate.get(three).await.json();
    other["platformAccount"] = "other".into();
    assert_eq!(world.gate.put(three, &other.to_string()).await.status, 200);
    assert_eq!(shown().await["three"], unknown, "the account is another one now");
}

#[tokio::test]
async fn tenants_see_only_their_own_accounts() {
    let world = World::new().await;
    let of_acme = world.all("").await;
    let page = world.gate.get("/rival/product?pageSize=10&pageNumber=1").await.json();
    assert_eq!((entities(&page), errors(&page)), (vec![], vec![]));
    assert_eq!(world.gate.get(&format!("/rival/product/{}", ids(&of_acme)[0])).await.status, 404);
    let body = json!({"iotConnectionProductIdList": ids(&of_acme)}).to_string();
    let found = world.gate.post("/rival/product/find", &body).await.json();
    assert_eq!((entities(&found).len(), errors(&found).len()), (0, 28));
}

#[tokio::test]
async fn a_tenants_silent_platform_does_not_block_other_tenants() {
    /// Product requests of one tenant: a quarter of all requests.
    const SHARE: u64 = 16;
    let mut config = Config::default();
    config.limits.concurrent_requests = 4 * SHARE;
    config.platforms.deadline = "60s".parse().unwrap();
    let world = World::around(Gatehouse::with(config).await).await;
    let account = json!({
        "platform": "ALPHA", "connector": "simulator", "platformAccount": "theirs",
        "settings": {"baseUrl": world.alpha.url(), "pageSizeMax": 3}, "credentials": {"token": "token-of-rival"},
    });
    let path = "/-/admin/tenants/rival/accounts/theirs";
    assert_eq!(world.gate.put(path, &account.to_string()).await.status, 201);
    world.gamma.set_profile(Profile { fault: Misbehaviour::Hang, ..Profile::default() });

    let waiting =
        (0..SHARE).map(async |n| world.gate.get(&format!("/acme/product/GAMMA-{n}")).await);
    let others = async {
        while world.gamma.requests() < SHARE {
            tokio::task::yield_now().await;
        }
        // Also for platforms that respond.
        let search = r#"{"iotConnectionProductIdList": ["ALPHA-1"]}"#;
        for response in [
            world.gate.get("/acme/product?pageSize=1&pageNumber=1&platform=ALPHA").await,
            world.gate.post("/acme/product/find", search).await,
            world.gate.get("/acme/product/ALPHA-1").await,
        ] {
            assert_eq!(response.problem(), (503, "Busy".into()));
            let detail = "16 requests for products of tenant `acme` are being worked on, which is the most \
                          allowed; try again later";
            assert_eq!(response.json()["detail"], detail);
            assert!(response.header("retry-after").is_some());
        }
        let page = world.gate.get("/rival/product?pageSize=9&pageNumber=1").await;
        assert_eq!((page.status, entities(&page.json()).len()), (206, 7), "{}", page.body);
        assert_eq!(world.gate.get("/acme/access").await.status, 200, "other requests");
    };
    tokio::select! {
        answered = futures_util::future::select_all(waiting.map(Box::pin)) => {
            panic!("a silent platform responded: {}", answered.0.body);
        }
        () = others => {}
    }
}

#[tokio::test]
async fn raw_responses_from_a_url_set_by_a_tenants_admin_are_hidden() {
    for gate in Gatehouse::on_each("raw_text_is_not_told").await {
        let world = World::around(gate).await;
        let gate = &world.gate;
        let path = "/-/admin/tenants/acme/accounts/three";
        let body = |more: &str| {
            json!({
                "platform": "BETA", "connector": "simulator", "platformAccount": "no. three",
                "settings": {"baseUrl": format!("{}{more}", world.beta.url()), "paging": "offset"},
                "credentials": {"token": "token-of-three"},
            })
        };
        let external = async || {
            let page = world.list("platform=BETA&pageSize=4&pageNumber=1").await;
            page["errors"][0]["externalErrors"][0].clone()
        };
        let refuse = Profile { fault: Misbehaviour::Unauthorized, ..Profile::default() };
        world.beta.set_profile(refuse);
        // An operator set the URL: the response contains the platform's body.
        assert!(external().await["body"].as_str().unwrap().contains("message"), "{}", gate.kind);
        // A PUT by a tenant's admin that keeps the URL changes nothing about that.
        let admin = gate.token_for("acme", "admin");
        let mut same = body("");
        same["settings"]["pageSizeMax"] = 3.into();
        assert_eq!(gate.put_with(&admin, path, &same.to_string()).await.status, 200);
        assert!(external().await["body"].is_string(), "{}", gate.kind);
        // A tenant's admin set the URL: the response has only the status and message that the connector parsed.
        assert_eq!(gate.put_with(&admin, path, &body("/").to_string()).await.status, 200);
        assert!(external().await["body"].is_string(), "the same URL, written differently");
        let mut moved_body = body("");
        moved_body["settings"]["baseUrl"] = format!("{}/x", world.beta.url()).into();
        assert_eq!(gate.put_with(&admin, path, &moved_body.to_string()).await.status, 200);
        let hidden = external().await;
        assert_eq!(hidden["body"], Value::Null, "{} {hidden}", gate.kind);
        assert!(hidden["status"].is_number() && hidden["message"].is_string(), "{hidden}");
        // An operator's PUT of the same account approves its URL.
        assert_eq!(gate.put(path, &moved_body.to_string()).await.status, 200);
        assert!(external().await["body"].is_string(), "{}", gate.kind);
    }
}
