use std::collections::HashSet;
use std::io::{BufRead, BufReader};
use std::process::{Child, Stdio};

use super::process::*;
use gatehouse_testing::{Signal, signal};
use reqwest::Client;
use serde_json::Value;

pub(crate) struct Simulation {
    child: Child,
    /// Their output, up to the last line.
    printed: String,
}

impl Simulation {
    pub(crate) fn start(setup: &Setup, more: &[&str]) -> Self {
        let mut arguments = vec!["simulate", "--listen", "127.0.0.1:0"];
        arguments.extend(more);
        let mut child = setup.command(&arguments).stdout(Stdio::piped()).spawn().unwrap();
        let mut printed = String::new();
        let mut stdout = BufReader::new(child.stdout.take().unwrap());
        while !printed.ends_with("Ctrl-C ends them all.\n") {
            assert_ne!(stdout.read_line(&mut printed).unwrap(), 0, "it did not start: {printed}");
        }
        Self { child, printed }
    }

    /// The columns of the platforms' lines.
    pub(crate) fn platforms(&self) -> Vec<[&str; 4]> {
        let lines = self.printed.lines().take_while(|line| !line.is_empty());
        lines.map(|line| columns(line).try_into().unwrap()).collect()
    }

    /// The address and the data of the command after a heading.
    fn command(&self, heading: &str) -> (&str, &str) {
        let line = self.printed.lines().skip_while(|line| *line != heading).nth(1).unwrap();
        let url = line.split([' ', '\'']).find(|part| part.starts_with("http://")).unwrap();
        let data = line.split_once("-d '").map_or("", |(_, data)| data.trim_end_matches('\''));
        (url, data)
    }

    fn end(mut self, with: Signal) -> Option<i32> {
        signal(&self.child, with);
        self.child.wait().unwrap().code()
    }
}

impl Drop for Simulation {
    fn drop(&mut self) {
        // A test that fails must not leave platforms behind.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

fn columns(line: &str) -> Vec<&str> {
    line.split_whitespace().collect()
}

async fn list(url: &str, token: &str) -> Value {
    let response = client().get(url).bearer_auth(token).send().await.unwrap();
    assert_eq!(response.status(), 200, "{url}");
    response.json().await.unwrap()
}

fn client() -> Client {
    Client::builder().no_proxy().timeout(std::time::Duration::from_secs(60)).build().unwrap()
}

#[tokio::test]
async fn three_platforms_run_until_they_are_asked_to_end() {
    let setup = Setup::sqlite();
    let simulation = Simulation::start(&setup, &["--connections", "12", "--seed", "5"]);
    let platforms = simulation.platforms();
    let shown: Vec<_> = platforms.iter().map(|[name, _, kind, n]| [*name, *kind, *n]).collect();
    let expected = [["ALPHA", "page", "12"], ["BETA", "offset", "12"], ["GAMMA", "cursor", "12"]];
    assert_eq!(shown, expected);
    let mut seen = HashSet::new();
    for [name, url, ..] in &platforms {
        let page = list(&format!("{url}/v1/connections"), "some-token").await;
        for connection in page["connections"].as_array().unwrap() {
            assert!(seen.insert(connection["id"].to_string()), "{name}");
        }
    }
    assert_eq!(seen.len(), 36);
    assert!(!setup.path("gatehouse-data").exists(), "platforms keep nothing");
    assert_eq!(simulation.end(Signal::TERM), Some(0));
    assert_eq!(Simulation::start(&setup, &[]).end(Signal::INT), Some(0));
}

#[tokio::test]
async fn the_printed_estate_and_commands_work_unchanged() {
    let setup = Setup::sqlite();
    let simulation = Simulation::start(
        &setup,
        &["--platform", "NORTH_1,kind=offset,connections=7,page-size-max=5,look-up-max=9"],
    );
    let [name, url, kind, n] = simulation.platforms()[0];
    assert_eq!([name, kind, n], ["NORTH_1", "offset", "7"]);
    let account = format!(
        r#"tenants:
  - name: demo
    accounts:
      - name: "north_1"
        platform: "NORTH_1"
        connector: simulator
        platformAccount: "100001"
        settings: {{ baseUrl: "{url}", paging: offset, pageSizeMax: 5, lookUpMax: 9 }}
        credentials: {{ token: "north_1-token" }}

"#
    );
    assert!(simulation.printed.contains(&account), "{}", simulation.printed);
    let (listed, _) = simulation.command("list:");
    let page = list(listed, "north_1-token").await;
    assert_eq!((page["connections"].as_array().unwrap().len(), &page["total"]), (3, &7.into()));
    for (heading, fault) in [("make it fail:", "hang"), ("make it healthy again:", "none")] {
        let (profile, data) = simulation.command(heading);
        let request = match fault {
            "hang" => client().patch(profile),
            _ => client().put(profile),
        };
        let changed: Value =
            request.body(data.to_owned()).send().await.unwrap().json().await.unwrap();
        assert_eq!(changed["fault"], fault);
    }
    assert_eq!(list(listed, "north_1-token").await, page);
}

#[test]
fn faults_of_the_flags_are_reported() {
    let setup = Setup::sqlite();
    for (arguments, expected) in [
        (vec!["--listen", "9700"], "--listen"),
        (vec!["--listen", "127.0.0.1:65535"], "the first can be 65533 at most"),
        (vec!["--connections", "many"], "--connections"),
        (vec!["--connections", "1000001"], "connections must be 0 to 1000000, not 1000001"),
        (vec!["--seed", "odd"], "--seed"),
        (vec!["--latency", "fast"], "--latency: must be a whole number and one of the units"),
        (vec!["--platform", "A,kind=x"], "A: kind must be one of page, offset, cursor, not `x`"),
        (vec!["--platforms", "A"], "--platforms"),
    ] {
        let mut all = vec!["simulate"];
        all.extend(&arguments);
        let output = setup.run(&all);
        let shown = printed(&output);
        assert!(!output.status.success() && shown.contains(expected), "{arguments:?}: {shown}");
    }
    let socket = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let taken = socket.local_addr().unwrap().to_string();
    let output = setup.run(&["simulate", "--listen", &taken, "--platform", "A"]);
    let shown = printed(&output);
    assert!(shown.contains(&format!("can't listen on {taken}")), "{shown}");
    assert!(shown.contains("give another address with --listen"), "{shown}");
}
