use super::*;
use crate::app::Error;
use crate::app::requester::testing::audited;
use crate::http::answer::problem::Problem;
use crate::reader::Fault;
use gatehouse_connectors::AccountSetup;
use gatehouse_store::AccountChange;
use insta::assert_snapshot;

const ADMIN: &str = "/-/admin/tenants/acme/accounts";

const SECRET: &str = "correct horse battery staple";

/// Body of an account on a platform; `more` appends fields.
fn account(platform: &str, more: &str) -> String {
    format!(
        r#"{{"platform": "{platform}", "connector": "simulator", "platformAccount": "100234",
            "settings": {{"baseUrl": "http://127.0.0.1:9700"}}{more}}}"#
    )
}

fn with_secret(platform: &str) -> String {
    account(platform, &format!(r#", "credentials": {{"token": "{SECRET}"}}"#))
}

impl Gatehouse {
    /// The stored credentials of an account.
    async fn credentials(&self, name: &str) -> Vec<(String, String)> {
        let app = &self.gate.server.app;
        let tenant = "acme".parse().unwrap();
        let stored = app.store.account(&tenant, &name.parse().unwrap()).await.unwrap().unwrap();
        let (_, credentials) = app.open_account(&tenant, &stored).unwrap();
        let revealed = |name: &str| (name.to_owned(), credentials.reveal(name).unwrap().to_owned());
        credentials.names().map(revealed).collect()
    }
}

fn token(secret: &str) -> Vec<(String, String)> {
    vec![("token".to_owned(), secret.to_owned())]
}

#[tokio::test]
async fn a_put_creates_an_account_and_then_replaces_it() {
    let gate = Gatehouse::new().await;
    let path = format!("{ADMIN}/acme%2Feu");
    let full = r#"{"name": "acme/eu", "platform": "ALPHA", "connector": "simulator",
        "platformAccount": "100234", "credentials": {"token": "pa\"ss"},
        "settings": {"callsPerSecond": 1.5, "baseUrl": "http://127.0.0.1:9700", "paging": "cursor"}}"#;
    assert_snapshot!(gate.put(&path, full).await.snapshot(), @r#"
    201
    content-type: application/json
    location: http://gate.example/-/admin/tenants/acme/accounts/acme%2Feu
    x-correlation-id: <correlation>
    content-length: 196

    {
      "name": "acme/eu",
      "platform": "ALPHA",
      "connector": "simulator",
      "platformAccount": "100234",
      "settings": {
        "callsPerSecond": 1.5,
        "baseUrl": "http://127.0.0.1:9700",
        "paging": "cursor"
      },
      "hasCredentials": true
    }
    "#);
    let shown = gate.get(&path).await;
    let again = gate.put(&path, &shown.body).await;
    assert_eq!((again.status, &again.json()["changed"]), (200, &serde_json::json!([])));
    assert_eq!(gate.get(&path).await.body, shown.body, "unchanged");
    assert_eq!(gate.credentials("acme/eu").await, token("pa\"ss"));

    let bare = gate.put(&path, &account("BETA", "")).await;
    assert_snapshot!(bare.body, @r#"{"name":"acme/eu","platform":"BETA","connector":"simulator","platformAccount":"100234","settings":{"baseUrl":"http://127.0.0.1:9700"},"hasCredentials":true,"changed":["platform","settings"]}"#);
    assert_eq!(gate.delete(&path).await.status, 204);
    for deleted in [gate.delete(&path).await, gate.get(&path).await] {
        assert_eq!(deleted.problem(), (404, "Not found".into()));
    }
}

#[tokio::test]
async fn a_response_lists_changed_fields_but_no_secret() {
    for gate in Gatehouse::on_each("account_says_what_changed").await {
        let path = format!("{ADMIN}/a");
        let changed = async |body: &str| {
            let response = gate.put(&path, body).await;
            assert!(
                !response.body.contains(SECRET) && !response.body.contains("secret"),
                "{}",
                response.body
            );
            let shown = gate.get(&path).await;
            assert!(!shown.body.contains("token"), "{}", shown.body);
            (response.json()["changed"].to_string(), shown.json()["hasCredentials"].to_string())
        };
        let expect = |changed: &str, has: &str| (changed.to_owned(), has.to_owned());
        let first = with_secret("ALPHA");
        let other = first.replace(SECRET, "another secret");
        let none = account("ALPHA", r#", "credentials": {}"#);
        assert_eq!(changed(&account("ALPHA", "")).await, expect("null", "false"), "{}", gate.kind);
        for (body, expected) in [
            (&first, expect(r#"["credentials"]"#, "true")),
            (&first, expect("[]", "true")),
            (&account("ALPHA", ""), expect("[]", "true")),
            (&with_secret("BETA"), expect(r#"["platform"]"#, "true")),
            (
                &other.replace("9700", "9701"),
                expect(r#"["platform","settings","credentials"]"#, "true"),
            ),
            (&other.replace("9700", "9701"), expect("[]", "true")),
            (&none, expect(r#"["settings","credentials"]"#, "false")),
            (&none, expect("[]", "false")),
        ] {
            assert_eq!(changed(body).await, expected, "{}: {body}", gate.kind);
        }
    }
}

#[tokio::test]
async fn missing_credentials_stay_and_given_ones_replace_all() {
    for gate in Gatehouse::on_each("account_credentials_kept").await {
        let path = format!("{ADMIN}/a");
        gate.put(&path, &with_secret("ALPHA")).await;
        assert_eq!(gate.credentials("a").await, token(SECRET), "{}", gate.kind);
        gate.put(&path, &account("BETA", "")).await;
        assert_eq!(gate.credentials("a").await, token(SECRET), "{}", gate.kind);
        gate.put(&path, &account("BETA", r#", "credentials": {"token": "another"}"#)).await;
        assert_eq!(gate.credentials("a").await, token("another"), "{}", gate.kind);
        // Credentials that the connector doesn't use are refused, and change nothing.
        let odd = gate.put(&path, &account("BETA", r#", "credentials": {"key": "k"}"#)).await;
        assert_eq!(odd.faults(), (400, "credentials.key".into()));
        assert_eq!(gate.credentials("a").await, token("another"), "{}", gate.kind);
        assert_eq!(gate.put(&path, &account("BETA", r#", "credentials": {}"#)).await.status, 200);
        assert_eq!(gate.credentials("a").await, [], "{}", gate.kind);
    }
}

impl Gatehouse {
    /// Opens a stored account, as a list of products does; returns its version.
    async fn open(&self, name: &str) -> i64 {
        let (app, tenant) = (&self.gate.server.app, "acme".parse().unwrap());
        let stored = app.store.account(&tenant, &name.parse().unwrap()).await.unwrap().unwrap();
        let (settings, credentials) = app.open_account(&tenant, &stored).unwrap();
        let (settings, credentials) = (&settings, &credentials);
        let setup = AccountSetup { settings, credentials, address_source: stored.address_source };
        app.platforms.open(&tenant, stored.account, stored.version, setup);
        assert!(self.is_open(name, stored.version));
        stored.version
    }

    /// Whether a version of an account is open.
    fn is_open(&self, name: &str, version: i64) -> bool {
        let (tenant, name) = ("acme".parse().unwrap(), name.parse().unwrap());
        self.gate.server.app.platforms.live(&tenant, &name, version).is_some()
    }
}

#[tokio::test]
async fn a_deleted_or_changed_account_is_closed() {
    for gate in Gatehouse::on_each("an_account_that_is_gone_is_not_kept_open").await {
        let (one, two) = (format!("{ADMIN}/one"), format!("{ADMIN}/two"));
        for path in [&one, &two] {
            assert_eq!(gate.put(path, &with_secret("ALPHA")).await.status, 201);
        }
        let (version, other) = (gate.open("one").await, gate.open("two").await);
        assert_eq!(gate.put(&one, &with_secret("ALPHA")).await.status, 200);
        assert!(gate.is_open("one", version), "{}: nothing changed", gate.kind);
        assert_eq!(gate.put(&one, &with_secret("BETA")).await.status, 200);
        assert!(!gate.is_open("one", version), "{}", gate.kind);

        let version = gate.open("one").await;
        assert_eq!(gate.delete(&one).await.status, 204);
        assert!(!gate.is_open("one", version), "{}", gate.kind);
        assert!(gate.is_open("two", other), "{}", gate.kind);

        assert_eq!(gate.delete("/-/admin/tenants/acme").await.status, 204);
        assert!(!gate.is_open("two", other), "{}", gate.kind);
    }
}

#[tokio::test]
async fn replaced_credentials_are_erased() {
    let gate = Gatehouse::new().await;
    let dir = gate._dir.as_ref().unwrap().path();
    let path = format!("{ADMIN}/one");
    let other = account("ALPHA", r#", "credentials": {"token": "another one"}"#);
    let none = account("ALPHA", r#", "credentials": {}"#);
    gate.put(&path, &with_secret("ALPHA")).await;
    for body in [other, none] {
        let (store, tenant) = (&gate.gate.server.app.store, "acme".parse().unwrap());
        let stored = store.account(&tenant, &"one".parse().unwrap()).await.unwrap().unwrap();
        let sealed = stored.credentials.unwrap();
        assert_eq!(gate.put(&path, &body).await.status, 200);
        let log = std::fs::metadata(dir.join("test.db-wal")).unwrap();
        assert_eq!(log.len(), 0, "the write-ahead log is empty");
        let file = std::fs::read(dir.join("test.db")).unwrap();
        assert!(!file.windows(sealed.len()).any(|it| it == sealed));
    }
}

#[tokio::test]
async fn credentials_sealed_for_one_account_open_no_other() {
    let gate = Gatehouse::new().await;
    for name in ["a", "b"] {
        gate.put(&format!("{ADMIN}/{name}"), &with_secret("ALPHA")).await;
    }
    let app = &gate.gate.server.app;
    let (acme, rival) = ("acme".parse().unwrap(), "rival".parse().unwrap());
    let stored =
        async |name: &str| app.store.account(&acme, &name.parse().unwrap()).await.unwrap().unwrap();
    let (a, mut b) = (stored("a").await, stored("b").await);
    assert!(!a.credentials.as_ref().unwrap().windows(7).any(|it| it == b"correct"));
    assert!(app.open_account(&acme, &a).is_ok() && app.open_account(&acme, &b).is_ok());
    assert!(app.open_account(&rival, &a).is_err(), "another tenant's");
    b.credentials = a.credentials;
    assert!(app.open_account(&acme, &b).is_err(), "another account's");

    // Credentials that can't be opened can still be replaced.
    let change = AccountChange {
        account: b.account,
        settings: b.settings,
        credentials: b.credentials,
        address_source: b.address_source,
        seen_version: Some(b.version),
    };
    app.store.put_account(&acme, change, &audited()).await.unwrap().unwrap();
    let response = gate.put(&format!("{ADMIN}/b"), &account("ALPHA", "")).await;
    assert_eq!(response.faults(), (400, "credentials".into()), "{}", response.body);
    assert_eq!(gate.put(&format!("{ADMIN}/b"), &with_secret("ALPHA")).await.status, 200);
    assert_eq!(gate.credentials("b").await, token(SECRET));
}

#[tokio::test]
async fn accounts_are_listed_by_platform_then_name() {
    for gate in Gatehouse::on_each("accounts_listed").await {
        for (name, platform) in [("b", "BETA"), ("z", "ALPHA"), ("a", "BETA")] {
            let response = gate.put(&format!("{ADMIN}/{name}"), &with_secret(platform)).await;
            assert_eq!(response.status, 201, "{}", response.body);
        }
        for path in ["/acme/account", ADMIN] {
            let names = async |query: &str| {
                let response = gate.get(&format!("{path}?{query}")).await;
                assert!(!response.body.contains(SECRET) && !response.body.contains("token"));
                assert_eq!(response.header("x-total-count"), Some("3"), "{}", gate.kind);
                let json = response.json();
                let names = json.as_array().unwrap().iter().map(|it| it["name"].as_str().unwrap());
                names.collect::<Vec<_>>().join(" ")
            };
            assert_eq!(names("").await, "z a b", "{} {path}", gate.kind);
            assert_eq!(names("pageSize=2&pageNumber=2").await, "b", "{} {path}", gate.kind);
        }
        let response = gate.get("/acme/account?pageSize=1").await;
        let expected =
            r#"[{"name":"z","platform":"ALPHA","platformAccount":"100234","health":"UNKNOWN"}]"#;
        assert_eq!(response.body, expected, "a tenant sees neither settings nor credentials");
        assert_eq!(gate.get("/rival/account").await.body, "[]", "{}", gate.kind);
    }
}

#[tokio::test]
async fn an_invalid_account_is_refused() {
    let gate = Gatehouse::new().await;
    let body = format!(
        r#"{{"name": "y", "platform": "alpha", "connector": "Simulator", "platformAccount": "",
            "settings": {{"a": null}}, "colour": 1, "hasCredentials": "yes",
            "credentials": {{"token": 12345, "": "x", "empty": "", "twice": "1", "twice": "2",
                             "long": "{}"}}}}"#,
        "x".repeat(8 * 1024 + 1)
    );
    let response = gate.put(&format!("{ADMIN}/x"), &body).await;
    let reasons = response.json()["invalidParams"].as_array().unwrap().clone();
    let reasons_text: Vec<String> = reasons
        .iter()
        .map(|it| format!("{} {}", it["name"].as_str().unwrap(), it["reason"].as_str().unwrap()))
        .collect();
    assert_snapshot!(reasons_text.join("\n"), @"
    name must be the name in the path, or left out
    hasCredentials must be a boolean, not a string
    platform must begin with an upper-case letter or digit and hold only upper-case letters, digits and `_` of ASCII, at most 32 in all
    connector must begin with a lower-case letter or digit and hold only lower-case letters, digits, `-` and `_` of ASCII, at most 64 in all
    platformAccount must have 1 to 128 characters, not 0
    settings must not hold null, in `a`
    credentials.token must be a string, not a number
    credentials must hold names of 1 to 64 characters, not 0
    credentials.empty must have 1 to 8192 bytes of UTF-8, not 0
    credentials.twice is there more than once
    credentials.long must have 1 to 8192 bytes of UTF-8, not 8193
    colour is not a field of this object; it may have name, hasCredentials, platform, connector, platformAccount, settings, credentials
    ");
    assert!(!response.body.contains("12345"), "{}", response.body);

    let empty = gate.put(&format!("{ADMIN}/x"), "{}").await;
    assert_eq!(empty.invalid(), ["platform", "connector", "platformAccount", "settings"]);
    let long = "n".repeat(129);
    let response = gate.put(&format!("{ADMIN}/{long}"), &account("ALPHA", "")).await;
    assert_eq!(response.faults(), (400, "accountName".into()));
    assert_eq!(gate.get(ADMIN).await.body, "[]");
}

#[tokio::test]
async fn settings_and_credentials_have_size_limits() {
    let gate = Gatehouse::new().await;
    let body = |settings: &str, credentials: &str| {
        format!(
            r#"{{"platform": "ALPHA", "connector": "simulator", "platformAccount": "1",
                "settings": {settings}, "credentials": {credentials}}}"#
        )
    };
    // `{"a":"…"}` adds eight bytes to the value.
    let settings = |n_bytes: usize| format!(r#"{{ "a": "{}" }}"#, "x".repeat(n_bytes - 8));
    let credentials = |n: usize| {
        let each = (0..n).map(|n| format!(r#""c{n}": "s""#)).collect::<Vec<_>>();
        format!("{{{}}}", each.join(", "))
    };
    let named = |n_chars: usize| format!(r#"{{"{}": "s"}}"#, "ü".repeat(n_chars));
    for (settings, credentials, invalid) in [
        (settings(16 * 1024), "{}".to_owned(), ""),
        (settings(16 * 1024 + 1), "{}".to_owned(), "settings"),
        ("[]".to_owned(), "{}".to_owned(), "settings"),
        (r#"{"a": 1, "a": 2}"#.to_owned(), "{}".to_owned(), "settings"),
        (r#"{"a": {"b": [null]}}"#.to_owned(), "{}".to_owned(), "settings"),
        ("{}".to_owned(), credentials(32), ""),
        ("{}".to_owned(), credentials(33), "credentials"),
        ("{}".to_owned(), "null".to_owned(), "credentials"),
        ("{}".to_owned(), named(64), ""),
        ("{}".to_owned(), named(65), "credentials"),
    ] {
        let response = gate.put(&format!("{ADMIN}/x"), &body(&settings, &credentials)).await;
        // The connector's faults are not tested here.
        let is_bound = |name: &String| ["settings", "credentials"].contains(&name.as_str());
        let bounds: Vec<String> = response.invalid().into_iter().filter(is_bound).collect();
        assert_eq!(bounds.join(" "), invalid, "{}", response.body);
    }
    for (n_bytes, is_bound) in [(8 * 1024, false), (8 * 1024 + 1, true)] {
        let secret = format!(r#"{{"token": "{}"}}"#, "x".repeat(n_bytes));
        let response = gate.put(&format!("{ADMIN}/x"), &body("{}", &secret)).await;
        assert_eq!(
            response.body.contains("must have 1 to 8192 bytes"),
            is_bound,
            "{}",
            response.body
        );
    }
}

#[test]
fn faults_of_an_account_found_by_the_service_are_invalid_params() {
    let shown = |error: Error| serde_json::to_value(Problem::from(error).body("c")).unwrap();
    let too_many = shown(Error::TooManyAccounts);
    assert_eq!(
        (&too_many["status"], &too_many["title"]),
        (&409.into(), &"Too many accounts".into())
    );
    assert_eq!(too_many["detail"], "the tenant has 1000 accounts, and may have no more");

    let fault = |name: &str| Fault { name: name.into(), reason: "must be an address".into() };
    let unfit = Error::InvalidAccount(vec![fault("settings.baseUrl"), fault("settings.other")]);
    let reasons_text = "settings.baseUrl must be an address; settings.other must be an address";
    assert_eq!(unfit.to_string(), reasons_text);
    let unfit = shown(unfit);
    assert_eq!((&unfit["status"], &unfit["detail"]), (&400.into(), &reasons_text.into()));
    assert_eq!(unfit["invalidParams"][1]["name"], "settings.other");
}

#[tokio::test]
async fn an_admin_of_some_tenants_manages_only_their_accounts() {
    let mut gate = Gatehouse::new().await;
    gate.token = gate.token_for("acme", "admin");
    let body = with_secret("ALPHA");
    for (method, path, status) in [
        ("PUT", "/-/admin/tenants/acme/accounts/x", 201),
        ("GET", "/-/admin/tenants/acme/accounts/x", 200),
        ("GET", "/-/admin/tenants/acme/accounts", 200),
        ("DELETE", "/-/admin/tenants/acme/accounts/x", 204),
        ("PUT", "/-/admin/tenants/rival/accounts/x", 403),
        ("GET", "/-/admin/tenants/nobody/accounts", 403),
        ("GET", "/acme/account", 403),
    ] {
        let body = if method == "PUT" { body.as_str() } else { "" };
        let response = gate.call(method, path, &[("content-type", "application/json")], body).await;
        assert_eq!(response.status, status, "{method} {path}: {}", response.body);
    }
}

/// Body of an account without credentials; `more` appends settings.
fn at_address(connector: &str, base_url: &str, more: &str) -> String {
    format!(
        r#"{{"platform": "ALPHA", "connector": "{connector}", "platformAccount": "100234",
            "settings": {{"baseUrl": "{base_url}"{more}}}}}"#
    )
}

#[tokio::test]
async fn a_changed_url_needs_new_credentials() {
    for gate in Gatehouse::on_each("credentials_given_again").await {
        let gate = &gate;
        let path = format!("{ADMIN}/a");
        assert_eq!(gate.put(&path, &with_secret("ALPHA")).await.status, 201);
        let elsewhere = [
            at_address("simulator", "https://evil.example", ""),
            at_address("simulator", "http://127.0.0.1:9701", ""),
            at_address("simulator", "http://127.0.0.1:9700/v2", ""),
            at_address("emnify", "http://127.0.0.1:9700", ""),
        ];
        for bearer in [gate.token_for("acme", "admin"), gate.token.clone()] {
            for body in &elsewhere {
                let response = gate.put_with(&bearer, &path, body).await;
                assert_eq!(response.status, 400, "{body} {}", response.body);
                let about = response.invalid();
                assert!(about.contains(&"credentials".to_owned()), "{body} {about:?}");
                assert!(response.body.contains("must be given again"), "{}", response.body);
                assert_eq!(gate.credentials("a").await, token(SECRET), "{}", gate.kind);
            }
        }
        // The same URL keeps the credentials, however it is written.
        for more in [r#", "callsAtOnce": 3"#, r#", "paging": "cursor""#, ""] {
            let body = at_address("simulator", "http://127.0.0.1:9700/", more);
            assert_eq!(gate.put(&path, &body).await.status, 200, "{body}");
            assert_eq!(gate.credentials("a").await, token(SECRET), "{}", gate.kind);
        }
        // With new credentials, the URL may change.
        let moved = with_secret("ALPHA").replace(":9700", ":9701");
        assert_eq!(gate.put(&path, &moved).await.status, 200);
    }
}

#[tokio::test]
async fn a_setting_that_becomes_a_url_counts_like_the_base_url() {
    let gate = Gatehouse::new().await;
    let path = format!("{ADMIN}/thing");
    let body = |auth: &str, credentials: &str| {
        format!(
            r#"{{"platform": "THING", "connector": "kore-supersim", "platformAccount": "1",
                "settings": {{"authUrl": "{auth}"}}{credentials}}}"#
        )
    };
    let secrets = r#", "credentials": {"clientId": "c", "clientSecret": "correct horse"}"#;
    let created = gate.put(&path, &body("https://a.example/oauth", secrets)).await;
    assert_eq!(created.status, 201, "{}", created.body);
    let response = gate.put(&path, &body("https://b.example/oauth", "")).await;
    assert_eq!(response.faults(), (400, "credentials".into()), "{}", response.body);
    assert_eq!(gate.put(&path, &body("https://a.example/oauth", "")).await.status, 200);
}

#[tokio::test]
async fn private_addresses_are_refused_unless_an_operator_allows_them() {
    let gate = Gatehouse::new().await;
    let inside = [
        "https://10.0.0.7",
        "https://192.168.1.1",
        "https://[fd12::1]",
        "https://100.64.0.1",
        "https://169.254.1.1",
        "http://[::1]:9700",
        "https://[::ffff:10.0.0.7]",
        "https://0xa000007",
        "http://169.254.169.254",
    ];
    for bearer in [gate.token_for("acme", "admin"), gate.token.clone()] {
        for address in inside {
            let body = at_address("simulator", address, "")
                .replace("}}", r#"}, "credentials": {"token": "t"}}"#);
            let response = gate.put_with(&bearer, &format!("{ADMIN}/a"), &body).await;
            let expected = (400, "settings.baseUrl".to_owned());
            assert_eq!(response.faults(), expected, "{address} {}", response.body);
        }
    }
    let networks = vec!["10.0.0.0/8".parse().unwrap()];
    let mut config = Config::default();
    config.platforms.allowed_networks = networks;
    let gate = Gatehouse::with(config).await;
    let body = with_secret("ALPHA").replace("127.0.0.1", "10.0.0.7");
    assert_eq!(gate.put(&format!("{ADMIN}/a"), &body).await.status, 201);
}
