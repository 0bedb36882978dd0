use super::process::*;
use std::process::Output;

fn apply(setup: &Setup, server: &Server, estate: &str, more: &[&str]) -> Output {
    std::fs::write(setup.path("wanted.yaml"), estate).unwrap();
    let mut arguments = vec!["apply", "-f", "wanted.yaml"];
    arguments.extend(more);
    let mut command = setup.command(&arguments);
    command.env("GATEHOUSE_URL", &server.url).env("GATEHOUSE_TOKEN", &server.token);
    command.output().unwrap()
}

const WANTED: &str = r#"
tenants:
  - name: fleet
    timeZone: Europe/Berlin
    contracts:
      - { id: a/b, productOfferingId: po, billingModel: PAY_PER_USE, maxAccesses: 5 }
      - { id: c, productOfferingId: po, billingModel: PREPAID, validityPeriod: P1Y }
"#;

#[tokio::test]
async fn an_estate_is_applied_and_a_second_run_changes_nothing() {
    for setup in Setup::each("an_estate_is_made_so").await {
        let server = setup.serve();
        let dry = printed(&apply(&setup, &server, WANTED, &["--dry-run"]));
        assert!(dry.contains("3 would change, 0 unchanged"), "{dry}");
        let first = printed(&apply(&setup, &server, WANTED, &[]));
        assert_eq!(dry.replace("would change", "changed"), first, "the dry run showed the same");
        assert!(first.contains("+ tenant fleet\n    name: \"fleet\""), "{first}");
        let second = apply(&setup, &server, WANTED, &[]);
        assert_eq!(printed(&second), "0 changed, 3 unchanged\n", "{}", setup.kind);

        let changed = WANTED.replace(", maxAccesses: 5", ", status: SUSPENDED");
        let shown = printed(&apply(&setup, &server, &changed, &[]));
        assert_eq!(
            shown,
            "~ contract fleet/a/b\n    status: \"ACTIVE\" → \"SUSPENDED\"\n    \
             maxAccesses: 5 → (default)\n1 changed, 2 unchanged\n",
            "{}",
            setup.kind
        );
    }
}

#[tokio::test]
async fn only_prune_deletes_and_never_a_contract_with_accesses() {
    let setup = Setup::sqlite();
    let server = setup.serve();
    apply(&setup, &server, WANTED, &[]);
    let (status, _) =
        server.json(reqwest::Method::POST, "/fleet/access", Some(r#"{"contractId": "a/b"}"#)).await;
    assert_eq!(status, 201);
    let fewer = "tenants: [{ name: fleet, timeZone: Europe/Berlin }]";
    assert_eq!(printed(&apply(&setup, &server, fewer, &[])), "0 changed, 1 unchanged\n");
    let shown = printed(&apply(&setup, &server, fewer, &["--prune"]));
    insta::assert_snapshot!(shown, @r"
    = contract fleet/a/b stays: it has accesses
    - contract fleet/c
    1 changed, 1 unchanged
    ");
}

#[tokio::test]
async fn a_file_without_credentials_cannot_redirect_them() {
    let setup = Setup::sqlite();
    let server = setup.serve();
    write_token(&setup, "s3cret");
    assert!(apply(&setup, &server, WITH_ACCOUNTS, &[]).status.success());
    let bare: String = WITH_ACCOUNTS
        .lines()
        .filter(|it| !it.contains("credentials:"))
        .map(|it| format!("{it}\n"))
        .collect();
    let moved = bare.replace("127.0.0.1:9700", "127.0.0.1:9799");
    assert_ne!(moved, bare);
    let message = printed(&apply(&setup, &server, &moved, &["--dry-run"]));
    assert!(
        message
            .contains("(refused if that changes where its credentials are sent: give them, too)"),
        "{message}"
    );
    let output = apply(&setup, &server, &moved, &[]);
    let errors = String::from_utf8(output.stderr.clone()).unwrap();
    assert_eq!(output.status.code(), Some(3), "{errors}");
    assert!(errors.contains("credentials must be given again"), "{errors}");
    let (_, kept) =
        server.json(reqwest::Method::GET, "/-/admin/tenants/fleet/accounts/a%2Feu", None).await;
    assert_eq!(kept["settings"]["baseUrl"], "http://127.0.0.1:9700");
    // With the credentials, the account may move there.
    let moved = WITH_ACCOUNTS.replace("127.0.0.1:9700", "127.0.0.1:9799");
    assert!(apply(&setup, &server, &moved, &[]).status.success());
}

/// A failed object may exist under another name: deleted, it would be lost with its credentials.
#[tokio::test]
async fn a_tenant_with_a_failed_object_is_not_pruned() {
    for setup in Setup::each("nothing_of_a_tenant_is_pruned").await {
        let server = setup.serve();
        write_token(&setup, "s3cret");
        let contract =
            "    contracts: [{ id: c, productOfferingId: po, billingModel: PAY_PER_USE }]";
        let other = "  - { name: other, contracts: [{ id: d, productOfferingId: po, billingModel: PAY_PER_USE }] }";
        let before = format!("{WITH_ACCOUNTS}{contract}\n{other}\n");
        assert!(apply(&setup, &server, &before, &[]).status.success());

        // Only the server knows that it refuses this network.
        let renamed = WITH_ACCOUNTS
            .replace("name: a/eu", "name: a-eu")
            .replace("127.0.0.1:9700", "10.1.2.3:9700");
        let renamed = format!("{renamed}  - name: other\n");
        let output = apply(&setup, &server, &renamed, &["--prune"]);
        assert_eq!(output.status.code(), Some(3), "{}", setup.kind);
        let shown = String::from_utf8(output.stdout).unwrap();
        insta::allow_duplicates! {
            insta::assert_snapshot!(shown, @"
            = tenant fleet is not pruned: 1 could not be made as the file says
            - contract other/d
            1 changed, 3 unchanged
            ");
        }
        let accounts = "/-/admin/tenants/fleet/accounts";
        let (_, kept) = server.json(reqwest::Method::GET, accounts, None).await;
        assert_eq!((&kept[0]["name"], &kept[0]["hasCredentials"]), (&"a/eu".into(), &true.into()));
        let contracts = "/-/admin/tenants/fleet/contracts";
        let (_, kept) = server.json(reqwest::Method::GET, contracts, None).await;
        assert_eq!(kept[0]["id"], "c", "{}", setup.kind);

        // A failed contract keeps the accounts as well.
        let (status, _) = server
            .json(reqwest::Method::POST, "/fleet/access", Some(r#"{"contractId": "c"}"#))
            .await;
        assert_eq!(status, 201);
        let changed = contract.replace("po,", "po-2,");
        let changed = format!("tenants:\n  - name: fleet\n{changed}\n");
        let shown = printed(&apply(&setup, &server, &changed, &["--prune"]));
        assert!(shown.contains("= tenant fleet is not pruned: 1 could not be made"), "{shown}");
        let (_, kept) = server.json(reqwest::Method::GET, accounts, None).await;
        assert_eq!(kept.as_array().map(Vec::len), Some(2), "{}", setup.kind);
    }
}

/// This server's links lead elsewhere; the token and the pages stay at `--url`.
#[tokio::test]
async fn many_pages_are_read_from_the_server_itself() {
    let setup = Setup::sqlite();
    std::fs::write(setup.path("g.toml"), "public_url = 'http://127.0.0.1:1/elsewhere'").unwrap();
    let server = setup.serve_with(&["--config", "g.toml"]);
    let mut many = "tenants:\n  - name: fleet\n    contracts:\n".to_owned();
    for n in 0..205 {
        many +=
            &format!("      - {{ id: c{n}, productOfferingId: po, billingModel: PAY_PER_USE }}\n");
    }
    assert!(apply(&setup, &server, &many, &[]).status.success());
    let shown = printed(&apply(&setup, &server, "tenants: [{ name: fleet }]", &["--prune"]));
    assert!(shown.ends_with("205 changed, 1 unchanged\n"), "{shown}");
}

#[tokio::test]
async fn a_failed_object_is_reported_and_the_others_are_applied() {
    let setup = Setup::sqlite();
    let server = setup.serve();
    apply(&setup, &server, WANTED, &[]);
    server.json(reqwest::Method::POST, "/fleet/access", Some(r#"{"contractId": "a/b"}"#)).await;
    let other = WANTED.replace("productOfferingId: po,", "productOfferingId: other,");
    let output = apply(&setup, &server, &other, &[]);
    let shown = printed(&output);
    assert!(!output.status.success());
    assert!(shown.contains("! contract fleet/a/b: 409 In use"), "{shown}");
    assert!(shown.contains("~ contract fleet/c") && shown.contains("1 changed"), "{shown}");
    assert!(shown.contains("1 could not be made as the file says"), "{shown}");
}

#[tokio::test]
async fn errors_say_what_to_do() {
    let setup = Setup::sqlite();
    let mut server = setup.serve();
    let shown = printed(&apply(&setup, &server, "tenants: [{ name: x, contract: [] }]", &[]));
    assert!(shown.contains("tenants[0].contract is not a field"), "{shown}");
    let shown = printed(&apply(&setup, &server, WANTED, &["--url", "http://127.0.0.1:1"]));
    assert!(shown.contains("is the server running"), "{shown}");
    server.token = setup.token("fleet", "admin");
    let shown = printed(&apply(&setup, &server, WANTED, &[]));
    assert!(shown.contains("only a token for all tenants"), "{shown}");
    server.token = "nonsense".into();
    let shown = printed(&apply(&setup, &server, WANTED, &[]));
    assert!(shown.contains("401") && shown.contains("correlation ID"), "{shown}");
    let mut command = setup.command(&["apply", "-f", "wanted.yaml"]);
    let shown = printed(&command.env("GATEHOUSE_URL", &server.url).output().unwrap());
    assert!(shown.contains("GATEHOUSE_TOKEN"), "{shown}");
}

const WITH_ACCOUNTS: &str = r#"
tenants:
  - name: fleet
    accounts:
      - name: a/eu
        platform: ALPHA
        connector: simulator
        platformAccount: "100234"
        settings: { baseUrl: "http://127.0.0.1:9700" }
        credentials: { token: "${file:secrets/token}" }
      - name: b
        platform: BETA
        connector: simulator
        platformAccount: "7"
        settings: { baseUrl: "http://127.0.0.1:9701" }
"#;

fn write_token(setup: &Setup, token: &str) {
    std::fs::create_dir_all(setup.path("secrets")).unwrap();
    std::fs::write(setup.path("secrets/token"), token).unwrap();
}

#[tokio::test]
async fn accounts_are_applied_and_their_secrets_are_not_shown() {
    for setup in Setup::each("accounts_are_made_so").await {
        let server = setup.serve();
        let shown = printed(&apply(&setup, &server, WITH_ACCOUNTS, &[]));
        let said_why = "tenants[0].accounts[0].credentials.token needs the file `secrets/token`";
        assert!(shown.contains(said_why), "{shown}");

        write_token(&setup, "s3cret\n");
        let dry = printed(&apply(&setup, &server, WITH_ACCOUNTS, &["--dry-run"]));
        let first = printed(&apply(&setup, &server, WITH_ACCOUNTS, &[]));
        assert_eq!(dry.replace("would change", "changed"), first, "the dry run showed the same");
        insta::allow_duplicates! {
            insta::assert_snapshot!(first, @r#"
            + tenant fleet
                name: "fleet"
                timeZone: "UTC"
            + account fleet/a/eu
                name: "a/eu"
                platform: "ALPHA"
                connector: "simulator"
                platformAccount: "100234"
                settings: {"baseUrl":"http://127.0.0.1:9700"}
                credentials: set
            + account fleet/b
                name: "b"
                platform: "BETA"
                connector: "simulator"
                platformAccount: "7"
                settings: {"baseUrl":"http://127.0.0.1:9701"}
            3 changed, 0 unchanged
            "#);
        }
        let again = printed(&apply(&setup, &server, WITH_ACCOUNTS, &[]));
        assert_eq!(again, "0 changed, 3 unchanged\n", "{}", setup.kind);
        let dry = printed(&apply(&setup, &server, WITH_ACCOUNTS, &["--dry-run"]));
        insta::allow_duplicates! {
            insta::assert_snapshot!(dry, @"
            ? account fleet/a/eu
                credentials: whether they change is known after they are sent
            0 would change, 2 unchanged, 1 may change
            ");
        }

        write_token(&setup, "another\n");
        let moved = WITH_ACCOUNTS.replace("9701", "9702");
        let shown = printed(&apply(&setup, &server, &moved, &[]));
        insta::allow_duplicates! {
            insta::assert_snapshot!(shown, @r#"
            ~ account fleet/a/eu
                credentials: changed
            ~ account fleet/b
                settings: {"baseUrl":"http://127.0.0.1:9701"} → {"baseUrl":"http://127.0.0.1:9702"}
            2 changed, 1 unchanged
            "#);
        }
        let (_, accounts) =
            server.json(reqwest::Method::GET, "/-/admin/tenants/fleet/accounts", None).await;
        assert!(!accounts.to_string().contains("another"), "{accounts}");
        assert_eq!(accounts[0]["hasCredentials"], true);

        let fewer = "tenants: [{ name: fleet }]";
        assert_eq!(printed(&apply(&setup, &server, fewer, &[])), "0 changed, 1 unchanged\n");
        let pruned = "- account fleet/a/eu\n- account fleet/b\n";
        let dry = printed(&apply(&setup, &server, fewer, &["--prune", "--dry-run"]));
        assert_eq!(dry, format!("{pruned}2 would change, 1 unchanged\n"), "{}", setup.kind);
        let shown = printed(&apply(&setup, &server, fewer, &["--prune"]));
        assert_eq!(shown, format!("{pruned}2 changed, 1 unchanged\n"), "{}", setup.kind);
    }
}

#[tokio::test]
async fn a_server_applies_accounts_when_it_starts() {
    let setup = Setup::sqlite();
    std::fs::write(setup.path("estate.yaml"), WITH_ACCOUNTS).unwrap();
    write_token(&setup, "s3cret");
    let server = setup.serve();
    let (status, accounts) = server.json(reqwest::Method::GET, "/fleet/account", None).await;
    assert_eq!(status, 200);
    let expected = r#"[{"name":"a/eu","platform":"ALPHA","platformAccount":"100234","health":"UNKNOWN"},{"name":"b","platform":"BETA","platformAccount":"7","health":"UNKNOWN"}]"#;
    assert_eq!(accounts.to_string(), expected);
}

#[tokio::test]
async fn a_server_applies_nothing_of_an_estate_with_an_invalid_account() {
    let setup = Setup::sqlite();
    let estate = WITH_ACCOUNTS.replace("127.0.0.1:9701", "169.254.169.254");
    std::fs::write(setup.path("estate.yaml"), estate).unwrap();
    write_token(&setup, "s3cret");
    let mut command =
        setup.command(&["serve", "--listen", "127.0.0.1:0", "--estate", "estate.yaml"]);
    let shown = printed(&command.output().unwrap());
    assert!(shown.contains("account b of tenant fleet: settings.baseUrl must be"), "{shown}");
    let server = setup.serve_with(&[]);
    let (status, _) = server.json(reqwest::Method::GET, "/fleet/account", None).await;
    assert_eq!(status, 404, "no part of it was made");
}

/// Also in a dry run: a change that a server will refuse isn't shown as one.
#[tokio::test]
async fn accounts_that_a_server_would_refuse_are_reported_before_anything_is_sent() {
    for setup in Setup::each("accounts_that_a_server_would_refuse").await {
        let server = setup.serve();
        write_token(&setup, "s3cret");
        let wanted = WITH_ACCOUNTS
            .replacen("connector: simulator", "connector: simulater", 1)
            .replace("http://127.0.0.1:9701", "ftp://x");
        let wanted = format!("{wanted}        credentials: {{ tokn: s3cret-too }}\n");
        for more in [&["--dry-run"][..], &[], &["--prune"], &["--url", "http://127.0.0.1:1"]] {
            let output = apply(&setup, &server, &wanted, more);
            assert_eq!(output.status.code(), Some(2), "{more:?}");
            let shown = printed(&output);
            let lines: Vec<&str> = shown.lines().collect();
            let expected = [
                "gatehouse: nothing of wanted.yaml was applied, its accounts have faults:",
                "  account fleet/b: settings.baseUrl must be an https address",
                "  account fleet/b: credentials.tokn is not a credential of this connector",
            ];
            assert_eq!(lines.len(), expected.len(), "{more:?}: {shown}");
            for (line, start) in lines.iter().zip(expected) {
                assert!(line.starts_with(start), "{more:?}: {shown}");
            }
            assert!(!shown.contains("s3cret"), "{shown}");
        }
        let (status, _) = server.json(reqwest::Method::GET, "/-/admin/tenants/fleet", None).await;
        assert_eq!(status, 404, "nothing was made: {}", setup.kind);
    }
}
