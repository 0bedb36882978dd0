use gatehouse_testing::Subscriber;
use serde_json::{Value, json};

use super::*;

const UNKNOWN: &str = "hub-01a1dd4d-f0c1-7a3e-8b52-9f3d1c000000";

/// A shell whose server sends messages to subscribers on this machine, with more settings of events.
fn open(settings: &str) -> Shell {
    let setup = Setup::sqlite();
    let text = format!("[events]\ncallback_networks = ['127.0.0.0/8']\n{settings}\n");
    std::fs::write(setup.path("gatehouse.toml"), text).unwrap();
    let mut shell = Shell::on(setup, &["--config", "gatehouse.toml"]);
    shell.server.token =
        shell.setup.token("demo", "access:read access:write event:read event:write");
    shell
}

impl Shell {
    /// Makes a hub; returns it as the server's response has it.
    fn subscribe(&self, callback: &str, more: &[&str]) -> Value {
        self.json(&[&["hub", "create", callback, "--output", "json"], more].concat())
    }

    fn hub(&self, id: &str) -> Value {
        self.json(&["hub", "show", id, "--output", "json"])
    }

    /// The hub, as soon as it is as a test wants it.
    fn until_hub(&self, id: &str, is_so: impl Fn(&Value) -> bool) -> Value {
        loop {
            let hub = self.hub(id);
            if is_so(&hub) {
                return hub;
            }
        }
    }

    /// Creates an access, whose event has the next number.
    fn make_event(&self, username: &str) {
        self.ok(&["access", "create", "--contract", "C-PAYG", "--username", username]);
    }
}

fn field<'v>(value: &'v Value, name: &str) -> &'v str {
    value[name].as_str().unwrap_or_default()
}

/// Replaces identifiers, times, addresses and secrets.
fn steady_hub(text: &str) -> String {
    let secret = regex::Regex::new(r"whsec_[A-Za-z0-9+/=]{44}").unwrap();
    let text = secret.replace_all(text, "whsec_AAECAwQFBgcICQoLDA0ODxAREhMUFRYXGBkaGxwdHh8=");
    steady(&text)
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_hub_gets_events_and_shows_its_secret_once() {
    let shell = open("");
    let subscriber = Subscriber::willing().await;
    let none = shell.run(&["hub", "list"]);
    assert_eq!((none.stdout.as_str(), none.stderr.as_str()), ("", "no hubs\n"));

    let words =
        ["hub", "create", subscriber.url(), "--type", "accesscreateevent,TaskStateChangeEvent"];
    let (made, code) = shell.terminal(&words, 100).finish();
    assert_eq!(code, 0, "{made}");
    insta::assert_snapshot!(steady_hub(&made), @"
    id            hub-01234567-89ab-7cde-f012-3456789abcde
    secret        whsec_AAECAwQFBgcICQoLDA0ODxAREhMUFRYXGBkaGxwdHh8=
    state         ACTIVE
    callback      http://127.0.0.1:54321/events
    query         eventType=AccessCreateEvent,TaskStateChangeEvent
    waiting       0
    dead letters  0
    missed        0
    position      0
    created       2026-11-16T12:30:00.000Z
    the secret is shown only now
    ");

    shell.make_event("pump-one");
    let messages = subscriber.until(|all| !all.is_empty()).await;
    assert_eq!(messages[0].json()["eventType"], "AccessCreateEvent");
    assert_eq!(messages[0].json()["event"]["access"]["name"], "pump-one");

    let hubs = shell.json(&["hub", "list", "--output", "json"]);
    let id = field(&hubs[0], "id").to_owned();
    let hub = shell.until_hub(&id, |it| it["position"] == 1);
    assert_eq!(hub["query"], "eventType=AccessCreateEvent,TaskStateChangeEvent");
    let (listed, _) = shell.terminal(&["hub", "list"], 80).finish();
    insta::assert_snapshot!(steady_hub(&listed), @"
    ID                                        STATE   CALLBACK          DEAD LETTERS
    hub-01234567-89ab-7cde-f012-3456789abcde  ACTIVE  http://127.0.0.…  0
    ");
    let (shown, _) = shell.terminal(&["hub", "show", &id.to_uppercase()], 80).finish();
    insta::assert_snapshot!(steady_hub(&shown), @"
    id            hub-01234567-89ab-7cde-f012-3456789abcde
    state         ACTIVE
    callback      http://127.0.0.1:54321/events
    query         eventType=AccessCreateEvent,TaskStateChangeEvent
    waiting       0
    dead letters  0
    missed        0
    position      1
    created       2026-11-16T12:30:00.000Z
    ");
    for format in ["table", "json", "csv"] {
        for words in [&["hub", "list"][..], &["hub", "show", &id]] {
            let shown = shell.ok(&[words, &["--output", format]].concat());
            assert!(!shown.contains("secret  ") && !shown.contains("whsec_"), "{shown}");
        }
    }

    let (deliveries, _) = shell.terminal(&["hub", "deliveries", &id], 80).finish();
    let pattern = regex::Regex::new(r"12:30:\d\d( +1 +1 +204 +)\d+").unwrap();
    let deliveries = steady(&deliveries);
    assert!(pattern.is_match(&deliveries), "{deliveries}");
    let head = "SENT (UTC)           EVENT  EVENTS  STATUS  MS  ERROR";
    assert!(deliveries.starts_with(head), "{deliveries}");
    let deliveries = shell.json(&["hub", "deliveries", &id, "--output", "json"]);
    assert_eq!(deliveries.as_array().unwrap().len(), 1);
    assert_eq!((&deliveries[0]["eventNumber"], &deliveries[0]["status"]), (&1.into(), &204.into()));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn flags_become_the_query_of_a_hub() {
    let shell = open("");
    let subscriber = Subscriber::willing().await;
    let access = "01a1dd4d-f036-7005-9379-54b08ec1966e";
    for (flags, query) in [
        (&[][..], ""),
        (&["--format", "tmf"], ""),
        (&["--format", "cloudevents-binary"], "format=cloudevents-binary"),
        (&["--contract", "C 1&batch=2"], "contractId=C%201%26batch%3D2"),
        (
            &["--access", &access.to_uppercase(), "--format", "cloudevents", "--batch", "7"],
            &format!("accessId={access}&format=cloudevents&batch=7"),
        ),
        (
            &["--type", "AccessCreateEvent", "--type", "AccessStateChangeEvent"],
            "eventType=AccessCreateEvent,AccessStateChangeEvent",
        ),
    ] {
        let hub = shell.subscribe(subscriber.url(), flags);
        assert_eq!(hub["query"], query, "{flags:?}");
        assert!(field(&hub, "secret").starts_with("whsec_"), "{hub}");
    }
    let csv = shell.ok(&["hub", "create", subscriber.url(), "--output", "csv"]);
    let rows: Vec<&str> = csv.lines().collect();
    assert_eq!(
        rows[0],
        "id,secret,state,callback,query,waiting,deadLetters,missed,failingSince,nextAttempt,position,createdAt,formerSecretUntil"
    );
    assert!(rows[1].contains(",whsec_"), "{csv}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_paused_hub_keeps_its_events_until_it_is_resumed() {
    let shell = open("");
    let subscriber = Subscriber::willing().await;
    let hub = shell.subscribe(subscriber.url(), &[]);
    let id = field(&hub, "id");
    assert!(shell.ok(&["hub", "pause", id]).contains("state         PAUSED\n"));
    shell.make_event("pump-one");
    shell.until_events(1);
    let paused = shell.hub(id);
    assert_eq!((&paused["state"], &paused["position"]), (&"PAUSED".into(), &0.into()));
    assert!(subscriber.messages().is_empty());
    assert_eq!(shell.run(&["hub", "deliveries", id]).stderr, "no deliveries\n");

    let resumed = shell.json(&["hub", "resume", id, "--output", "json"]);
    assert_eq!(resumed["state"], "ACTIVE");
    let messages = subscriber.until(|all| !all.is_empty()).await;
    assert_eq!(messages[0].json()["x-number"], 1);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_subscriber_that_comes_back_is_tried_at_once_by_request() {
    let shell = open("");
    let subscriber = Subscriber::start(|_| 503).await;
    let hub = shell.subscribe(subscriber.url(), &[]);
    let id = field(&hub, "id");
    shell.make_event("pump-one");
    // Each failure makes the pause longer, up to minutes here.
    for _ in 0..3 {
        shell.until_hub(id, |it| it.get("nextAttempt").is_some());
        let n_before = subscriber.messages().len();
        shell.ok(&["hub", "resume", id]);
        subscriber.until(|all| all.len() > n_before).await;
    }
    let hub = shell.until_hub(id, |it| it.get("nextAttempt").is_some());
    assert_eq!((&hub["waiting"], hub.get("failingSince").is_some()), (&1.into(), true), "{hub}");

    subscriber.answer(|_| 204);
    shell.ok(&["hub", "resume", id]);
    shell.until_hub(id, |it| it["waiting"] == 0);
    let deliveries = shell.json(&["hub", "deliveries", id, "--output", "json"]);
    assert_eq!((&deliveries[0]["status"], &deliveries[1]["status"]), (&204.into(), &503.into()));
    assert!(field(&deliveries[0], "sentAt") < field(&hub, "nextAttempt"), "{deliveries} {hub}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_new_secret_signs_beside_the_former_one() {
    let shell = open("");
    let subscriber = Subscriber::willing().await;
    let hub = shell.subscribe(subscriber.url(), &[]);
    let (id, first) = (field(&hub, "id"), field(&hub, "secret"));
    shell.make_event("pump-one");
    subscriber.until(|all| all.len() == 1).await;

    let rotated = shell.run(&["hub", "rotate", id]);
    assert_eq!(rotated.code, 0, "{}", rotated.stderr);
    let said = "the secret is shown only now; for a day, the former one signs too\n";
    assert_eq!(rotated.stderr, said);
    assert!(rotated.stdout.contains("whsec_") && !rotated.stdout.contains(first));
    assert!(rotated.stdout.contains("former secret until  20"), "{}", rotated.stdout);
    assert!(shell.hub(id).get("formerSecretUntil").is_some());

    shell.make_event("pump-two");
    let messages = subscriber.until(|all| all.len() == 2).await;
    let n_signatures = |n: usize| messages[n].header("webhook-signature").split(' ').count();
    assert_eq!((n_signatures(0), n_signatures(1)), (1, 2));
    assert!(!shell.setup.log().contains("whsec_"));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn dead_letters_are_listed_and_sent_again() {
    let shell = open("callback_retry_for = '1s'");
    let subscriber = Subscriber::start(|_| 500).await;
    let hub = shell.subscribe(subscriber.url(), &[]);
    let id = field(&hub, "id");
    assert_eq!(shell.run(&["hub", "dead-letters", id]).stderr, "no dead letters\n");
    assert_eq!(shell.ok(&["hub", "replay", id]), "no dead letters to send again\n");
    for name in ["pump-one", "pump-two", "pump-three"] {
        shell.make_event(name);
    }
    shell.until_hub(id, |it| it["deadLetters"] == 3);

    let (table, _) = shell.terminal(&["hub", "dead-letters", id], 80).finish();
    assert!(table.starts_with("EVENT  SINCE (UTC)          ATTEMPTS  ERROR"), "{table}");
    assert!(table.contains("the subscriber answered 500"), "{table}");
    let numbers = |more: &[&str]| -> Vec<u64> {
        let words = [&["hub", "dead-letters", id, "--output", "json"], more].concat();
        let letters = shell.json(&words);
        letters.as_array().unwrap().iter().map(|it| it["eventNumber"].as_u64().unwrap()).collect()
    };
    for (words, expected) in [
        (&[][..], vec![1, 2, 3]),
        (&["--after", "1"], vec![2, 3]),
        (&["--limit", "2"], vec![1, 2]),
        (&["--limit", "3"], vec![1, 2, 3]),
        (&["--after", "3"], vec![]),
        (&["--all"], vec![1, 2, 3]),
    ] {
        assert_eq!(numbers(words), expected, "{words:?}");
    }
    let part = shell.run(&["hub", "dead-letters", id, "--limit", "2"]);
    assert_eq!(part.stderr, "2 dead letters; --after 2 shows the next, --all shows all\n");
    assert_eq!(shell.run(&["hub", "dead-letters", id, "--limit", "3"]).stderr, "");
    let (listed, _) = shell.terminal(&["hub", "deliveries", id], 80).finish();
    assert!(listed.contains("the subscriber answered 500"), "{listed}");

    subscriber.answer(|_| 204);
    let some = shell.run(&["hub", "replay", id, "2", "99", "2"]);
    assert_eq!(some.stdout, "1 dead letter is sent again\n");
    assert_eq!(some.stderr, "no dead letter has 1 of the 2 numbers\n");
    let rest = shell.json(&["hub", "replay", id, "--output", "json"]);
    assert_eq!(rest, json!({"replayed": 2}));
    let messages =
        subscriber.until(|all| all.iter().filter(|it| it.status == 204).count() == 3).await;
    let mut arrived: Vec<u64> = messages
        .iter()
        .filter(|it| it.status == 204)
        .map(|it| it.json()["x-number"].as_u64().unwrap())
        .collect();
    arrived.sort_unstable();
    assert_eq!(arrived, [1, 2, 3]);
    shell.until_hub(id, |it| it["waiting"] == 0 && it["deadLetters"] == 0);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn deleting_asks_at_a_terminal_and_sends_a_last_event() {
    let shell = open("");
    let subscriber = Subscriber::willing().await;
    let hubs: Vec<Value> = (0..3).map(|_| shell.subscribe(subscriber.url(), &[])).collect();
    let ids: Vec<&str> = hubs.iter().map(|it| field(it, "id")).collect();

    let mut terminal = shell.terminal(&["hub", "delete", ids[0]], 100);
    let asked = terminal.until("a question", |screen| screen.contains("[y/N]"));
    insta::assert_snapshot!(steady(&asked), @"
    hub-01234567-89ab-7cde-f012-3456789abcde is deleted for good: http://127.0.0.1:54321/events gets no further events, and its waiting events (0) and dead letters (0) are lost.
    Go on? [y/N]
    ");
    terminal.press("n\n");
    let (screen, code) = terminal.finish();
    assert!(code == 1 && screen.contains("nothing was changed"), "{screen}");
    assert_eq!(shell.hub(ids[0])["state"], "ACTIVE");

    let mut terminal = shell.terminal(&["hub", "delete", ids[0]], 100);
    terminal.until("a question", |screen| screen.contains("[y/N]"));
    terminal.press("y\n");
    assert_eq!(terminal.finish().1, 0);
    assert_eq!(shell.terminal(&["hub", "delete", ids[1], "--yes"], 80).finish().1, 0);
    assert_eq!(shell.ok(&["hub", "delete", ids[2]]), format!("{} is deleted\n", ids[2]));
    assert_eq!(shell.json(&["hub", "list", "--output", "json"]), json!([]));
    let messages = subscriber.until(|all| all.len() == 3).await;
    for message in &messages {
        assert_eq!(message.json()["eventType"], "HubDeleteEvent");
    }
    let again = shell.run(&["hub", "delete", ids[0]]);
    assert!(again.code == 5 && again.stderr.contains("there is no hub"), "{}", again.stderr);
}

#[test]
fn errors_about_hubs_name_the_fault() {
    let mut shell = Shell::open();
    shell.server.token = shell.setup.token("demo", "event:write");
    let reader = shell.setup.token("demo", "event:read");
    let create = |more: &[&'static str]| [&["hub", "create"], more].concat();
    let public = "https://crm.example.com/events";
    for (words, code, said) in [
        (create(&["http://8.8.8.8/events"]), 6, "http is for the networks"),
        (create(&["https://10.0.0.1/"]), 6, "must be a public address"),
        (create(&["nonsense"]), 6, "callback must be an https address"),
        (create(&[]), 2, "<CALLBACK>"),
        (create(&[public, "--type", "TenantCreateEvent"]), 2, "AccessStateChangeEvent"),
        (create(&[public, "--access", "pump-1"]), 2, "--access must be the ID of an access"),
        (create(&[public, "--contract", ""]), 2, "--contract: ``"),
        (create(&[public, "--format", "xml"]), 2, "cloudevents-binary"),
        (create(&[public, "--batch", "1001"]), 2, "1..=1000"),
        (
            create(&[public, "--batch", "2", "--format", "cloudevents-binary"]),
            2,
            "--batch can't be combined",
        ),
        (vec!["hub", "list", "--token", &reader], 4, "event:write"),
        (vec!["hub", "list", "--tenant", "nosuch"], 4, "403"),
        (vec!["hub", "show", "pump-1"], 2, "`pump-1` is no hub"),
        (vec!["hub", "show", UNKNOWN], 5, "404 Not found: there is no hub `hub-"),
        (vec!["hub", "pause", UNKNOWN], 5, "there is no hub"),
        (vec!["hub", "resume", UNKNOWN], 5, "there is no hub"),
        (vec!["hub", "rotate", UNKNOWN], 5, "there is no hub"),
        (vec!["hub", "delete", UNKNOWN], 5, "there is no hub"),
        (vec!["hub", "deliveries", UNKNOWN], 5, "there is no hub"),
        (vec!["hub", "dead-letters", UNKNOWN], 5, "there is no hub"),
        (vec!["hub", "replay", UNKNOWN], 5, "there is no hub"),
        (vec!["hub", "replay", UNKNOWN, "0"], 2, "NUMBER"),
    ] {
        let ran = shell.run(&words);
        assert_eq!(ran.code, code, "{words:?}: {}", ran.stderr);
        assert!(ran.stderr.contains(said), "{words:?}: {}", ran.stderr);
    }
}
