use std::io::{BufRead, BufReader, Read};
use std::process::{Child, ChildStdout, Stdio};

use gatehouse_testing::{Signal, signal};
use reqwest::Method;

use super::*;

/// A command that follows events.
struct Follower {
    child: Child,
    lines: BufReader<ChildStdout>,
}

impl Shell {
    fn follow(&self, words: &[&str]) -> Follower {
        let mut command = self.command(&[&["event", "tail"], words].concat());
        command.stdout(Stdio::piped()).stderr(Stdio::piped());
        let mut child = command.spawn().unwrap();
        let lines = BufReader::new(child.stdout.take().unwrap());
        Follower { child, lines }
    }

    /// Waits until so many streams are open.
    async fn until_streams(&self, n: usize) {
        let line = format!("gatehouse_event_streams {n}\n");
        loop {
            let metrics = self.server.ask(Method::GET, "/-/metrics", None).await;
            if metrics.text().await.unwrap().contains(&line) {
                break;
            }
        }
    }

    /// Waits until so many events have numbers.
    pub(super) fn until_events(&self, n: usize) {
        while self.json(&["event", "list", "--all", "--output", "json"]).as_array().unwrap().len()
            < n
        {}
    }

    fn create(&self, name: &str) -> String {
        let words =
            ["access", "create", "--contract", "C-PAYG", "--username", name, "--output", "json"];
        self.json(&words)["id"].as_str().unwrap().to_owned()
    }
}

impl Follower {
    fn line(&mut self) -> String {
        let mut line = String::new();
        self.lines.read_line(&mut line).unwrap();
        line.trim_end().to_owned()
    }

    /// Presses Ctrl-C; returns the exit code and what it said on standard error.
    fn interrupt(&mut self) -> (i32, String) {
        signal(&self.child, Signal::INT);
        self.end()
    }

    fn end(&mut self) -> (i32, String) {
        let mut said = String::new();
        self.child.stderr.take().unwrap().read_to_string(&mut said).unwrap();
        (self.child.wait().unwrap().code().unwrap(), said)
    }
}

#[test]
fn events_are_listed_with_what_changed_and_by_whom() {
    let shell = Shell::open();
    let id = shell.create("pump-one");
    shell.create("meter-two");
    shell.ok(&["access", "suspend", "pump-one"]);
    shell.ok(&["access", "label", "pump-one", "site=kiel"]);
    shell.ok(&["access", "rotate", "meter-two"]);
    shell.until_events(5);

    let (table, _) = shell.terminal(&["event", "list"], 100).finish();
    let seconds = regex::Regex::new(r"12:30:\d\d").unwrap();
    let table = seconds.replace_all(&steady(&table), "12:30:00").into_owned();
    insta::assert_snapshot!(table, @"
    NUMBER  TIME (UTC)           WHAT       CHANGE            BY   TYPE
    1       2026-11-16 12:30:00  pump-one   created ACTIVE    cli  AccessCreateEvent
    2       2026-11-16 12:30:00  meter-two  created ACTIVE    cli  AccessCreateEvent
    3       2026-11-16 12:30:00  pump-one   SUSPENDED         cli  AccessStateChangeEvent
    4       2026-11-16 12:30:00  pump-one   labels site=kiel  cli  AccessAttributeValueChangeEvent
    5       2026-11-16 12:30:00  meter-two  password          cli  AccessAttributeValueChangeEvent
    ");
    let numbers = |words: &[&str]| -> Vec<u64> {
        let all = [&["event", "list", "--output", "json"], words].concat();
        let events = shell.json(&all);
        events.as_array().unwrap().iter().map(|it| it["x-number"].as_u64().unwrap()).collect()
    };
    for (words, expected) in [
        (&["--after", "3"][..], vec![4, 5]),
        (&["--after", "0"], vec![1, 2, 3, 4, 5]),
        (&["--after", "5"], vec![]),
        (&["--type", "accessstatechangeevent"], vec![3]),
        (&["--type", "AccessStateChangeEvent", "--type", "AccessCreateEvent"], vec![1, 2, 3]),
        (&["--access", &id], vec![1, 3, 4]),
        (&["--access", &id, "--after", "1"], vec![3, 4]),
        (&["--access", &id, "--contract", "C-PAYG", "--limit", "2"], vec![1, 3]),
        (&["--contract", "C-PRE"], vec![]),
        (&["--from", "2020-01-01", "--before", "2021-01-01"], vec![]),
    ] {
        assert_eq!(numbers(words), expected, "{words:?}");
    }
    let part = shell.run(&["event", "list", "--limit", "2"]);
    assert_eq!(part.stderr, "2 events; --after 2 shows the next, --all shows all\n");
    assert_eq!(shell.run(&["event", "list", "--after", "5"]).stderr, "no events\n");
    let csv = shell.ok(&["event", "list", "--access", &id, "--limit", "1", "--output", "csv"]);
    let rows: Vec<&str> = csv.lines().collect();
    assert_eq!(
        rows[0],
        "x-number,eventTime,what,change,by,eventType,accessId,contractId,taskId,x-version,correlationId,eventId"
    );
    assert!(rows[1].contains(&format!(",cli,AccessCreateEvent,{id},C-PAYG,,1,")), "{csv}");
}

#[tokio::test]
async fn a_follower_goes_on_over_a_lost_connection_and_says_where_it_ended() {
    let mut shell = Shell::open();
    shell.create("pump-one");
    shell.until_events(1);
    let mut text = shell.follow(&[]);
    let mut json = shell.follow(&["--after", "0", "--output", "json"]);
    let number = |line: String| {
        serde_json::from_str::<serde_json::Value>(&line).unwrap()["x-number"].as_u64()
    };
    assert_eq!(number(json.line()), Some(1));
    shell.until_streams(2).await;
    shell.create("pump-two");
    let line = text.line();
    assert!(
        line.starts_with("2  20") && line.ends_with("  pump-two  created ACTIVE  by cli"),
        "{line}"
    );
    assert_eq!(number(json.line()), Some(2));

    let address = shell.server.address().to_owned();
    shell.server.crash();
    shell.server = shell.setup.serve_with(&["--demo", "--listen", &address]);
    shell.create("pump-three");
    assert!(text.line().contains("pump-three"));
    assert_eq!(number(json.line()), Some(3));
    let (code, said) = text.interrupt();
    assert_eq!(code, 0, "{said}");
    assert!(
        said.contains("; trying again in 1 s\n") && said.contains("connected again\n"),
        "{said}"
    );
    let end = "up to event 3; `gatehouse event tail --after 3` goes on behind the last event\n";
    assert!(said.ends_with(end), "{said}");

    // A server that stops ends its streams at once, and its followers wait for the next one.
    shell.until_streams(1).await;
    let Shell { setup, server } = shell;
    server.terminate();
    assert!(server.wait().success());
    assert!(!setup.log().contains("took too long"), "{}", setup.log());
    let (code, said) = json.interrupt();
    assert_eq!(code, 0, "{said}");
    assert!(said.contains("`gatehouse event tail --after 3`"), "{said}");
}

#[test]
fn a_follower_that_cannot_begin_says_why() {
    let shell = Shell::open();
    let token = shell.setup.token("demo", "access:read");
    for (words, code, said) in [
        (&["--token", &token][..], 4, "event:read"),
        (&["--token", "nonsense"], 4, "401"),
        (&["--tenant", "nosuch"], 5, "404 Unknown tenant"),
        (
            &["--after", "99"],
            6,
            "409 No such event: there is no event number 99: the last one is 0",
        ),
        (&["--after", "x"], 2, "must be the number of an event, 0, or `last`"),
        (&["--type", "x"], 2, "AccessStateChangeEvent"),
        (&["--access", "pump-1"], 2, "--access must be the ID of an access, not `pump-1`"),
        (&["--from", "yesterday"], 6, "from must be a time such as 2026-11-15T03:43:54Z"),
        (&["--url", "http://127.0.0.1:1"], 7, "can't be reached"),
    ] {
        let ran = shell.run(&[&["event", "tail"], words].concat());
        assert_eq!(ran.code, code, "{words:?}: {}", ran.stderr);
        assert!(ran.stderr.contains(said), "{words:?}: {}", ran.stderr);
    }
}
