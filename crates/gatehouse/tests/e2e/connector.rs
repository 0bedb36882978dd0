use super::process::*;
use gatehouse_connectors::simulator;

/// A manifest for the platforms of `gatehouse simulate`.
pub(crate) const MANIFEST: &str = r#"manifest: 1
name: mine
title: Mine
connectivity: CELLULAR
account:
  credentials:
    token: { description: Any token }
every_call:
  headers: { Authorization: "Bearer {credentials.token}" }
paging:
  by: number
  size: { max: 100 }
  total: $.total
list:
  call: { get: /v1/connections, query: { page: "{page.number}", size: "{page.size}" } }
  items: $.connections
look_up:
  id: { call: { get: "/v1/connections/{value}" }, items: $ }
  iccid: { call: { get: /v1/connections, query: { iccid: "{values|luhn_strip}" } }, items: $.connections, at_once: 100 }
  imsi: not_searchable
  msisdn: never_carried
  serial_number: never_carried
product:
  id: $.id
  status: { word: $.state, words: { in-use: ACTIVE, paused: SUSPENDED, stock: CREATED, retired: TERMINATED } }
  identifiers: { iccid: $.iccid, imsi: $.imsi }
  properties:
    - { each: "$.properties[*]", name_from: $.name, value: $.value }
errors:
  message: $.message
"#;

pub(crate) fn run(setup: &Setup, arguments: &[&str]) -> (bool, String) {
    let output = setup.run(&[&["connector"], arguments].concat());
    (output.status.success(), printed(&output))
}

fn setup_with(manifest: &str) -> Setup {
    let setup = Setup::sqlite();
    std::fs::write(setup.path("mine.yaml"), manifest).unwrap();
    setup
}

#[test]
fn connectors_are_listed_and_shown() {
    let setup = Setup::sqlite();
    let (is_well, shown) = run(&setup, &["list", "--output", "json"]);
    let all: Vec<serde_json::Value> = serde_json::from_str(&shown).unwrap();
    assert!(is_well && all.iter().any(|it| it["connector"] == "1nce" && it["imsi"] == "scan"));
    assert!(run(&setup, &["list"]).1.starts_with("CONNECTOR "));
    let shipped = include_str!("../../../../connectors/1nce.yaml");
    assert_eq!(run(&setup, &["show", "1nce"]), (true, shipped.to_owned()));
    let (is_well, shown) = run(&setup, &["show", "nowhere"]);
    assert!(!is_well && shown.contains("there are 1nce, cisco"), "{shown}");
    let simulator = include_str!("../../../../connectors/simulator.yaml");
    assert_eq!(run(&setup, &["show", "simulator"]), (true, simulator.to_owned()));
}

#[test]
fn a_manifest_is_checked_with_file_line_and_column() {
    let setup = setup_with(MANIFEST);
    assert_eq!(run(&setup, &["check", "mine.yaml"]), (true, "ok  mine.yaml: mine, Mine\n".into()));
    std::fs::write(setup.path("bad.yaml"), MANIFEST.replace("title:", "titel:")).unwrap();
    std::fs::write(setup.path("text.yaml"), "{ no").unwrap();
    for (file, expected) in [
        ("bad.yaml", "bad.yaml:3:1: unknown field `titel`"),
        ("text.yaml", "text.yaml:"),
        ("nowhere.yaml", "nowhere.yaml: can't be read: No such file"),
        (".", ".: can't be read: Is a directory"),
    ] {
        let (is_well, shown) = run(&setup, &["check", "mine.yaml", file]);
        assert!(!is_well && shown.contains(expected), "{shown}");
        assert!(shown.contains("ok  mine.yaml") && shown.contains("1 of 2 files"), "{shown}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn an_account_is_queried_and_its_secret_is_not_shown() {
    let setup = setup_with(MANIFEST);
    let platform = simulator::Platform::default_set()[0].clone();
    let server = simulator::Server::start(platform, ([127, 0, 0, 1], 0).into()).unwrap();
    std::fs::write(setup.path("token"), "s3cret-token\n").unwrap();
    let base = format!("baseUrl={}", server.url());
    let account = ["mine.yaml", "--set", &base, "--credential", "token=${file:token}"];
    let with = |verb: &str, more: &[&str]| run(&setup, &[&[verb], &account[..], more].concat());
    let (is_well, shown) = with("try", &["--page-size", "2"]);
    assert!(is_well && shown.contains("1 call, 2 products, no failure"), "{shown}");
    assert!(shown.contains("> authorization: ***") && !shown.contains("s3cret"), "{shown}");
    let (is_well, shown) = with("try", &["--id", "nobody"]);
    assert!(is_well && shown.contains("not found: ID nobody"), "{shown}");
    let (is_well, shown) = with("check", &[]);
    assert!(is_well && shown.contains("ok  the account was queried"), "{shown}");
    let profile =
        simulator::Profile { fault: simulator::Misbehaviour::Unauthorized, ..server.profile() };
    server.set_profile(profile);
    let (is_well, shown) = with("try", &[]);
    assert!(!is_well && shown.contains("FAILED") && !shown.contains("s3cret"), "{shown}");
}

#[test]
fn missing_fields_of_an_account_are_reported() {
    let setup = setup_with(MANIFEST);
    let (is_well, shown) = run(&setup, &["try", "mine.yaml"]);
    assert!(!is_well && shown.contains("settings.baseUrl is missing"), "{shown}");
    assert!(shown.contains("credentials.token is missing"), "{shown}");
    let (_, shown) = run(&setup, &["try", "mine.yaml", "--credential", "s3cret"]);
    assert!(shown.contains("must be a name, `=` and a value") && !shown.contains("s3cret"));
    let in_estate = ["try", "mine.yaml", "--estate", "estate.yaml", "--account", "a"];
    let (_, shown) = run(&setup, &in_estate);
    assert!(shown.contains("has no such account `a`; it has none"), "{shown}");
    let (_, shown) = run(&setup, &["try", "nowhere"]);
    assert!(shown.contains("there is no connector `nowhere`; there are 1nce"), "{shown}");
}

#[test]
fn a_server_reads_custom_connectors_or_does_not_start() {
    let setup = Setup::sqlite();
    std::fs::create_dir(setup.path("own")).unwrap();
    std::fs::write(setup.path("own/mine.yaml"), MANIFEST.replace("name: mine", "name: 1nce"))
        .unwrap();
    let setting = ("PLATFORMS__CONNECTORS_DIR", "own");
    drop(setup.serve_set(&[setting]));
    assert!(setup.log().contains("takes the place of the shipped one"), "{}", setup.log());
    std::fs::write(setup.path("own/bad.yaml"), "manifest: 2\n").unwrap();
    for command in [&["serve", "--listen", "127.0.0.1:0"][..], &["doctor"]] {
        let mut command = setup.command(command);
        let output = command.env("GATEHOUSE_PLATFORMS__CONNECTORS_DIR", "own").output().unwrap();
        let shown = printed(&output);
        assert!(!output.status.success() && shown.contains("own/bad.yaml:1:"), "{shown}");
    }
}
