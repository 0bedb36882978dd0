//! Libraries that receivers use, and the receivers of docs/events.md, with messages of a server.

use std::collections::HashSet;
use std::fs::File;
use std::io::{BufRead, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};

use super::batch::{Wait, text};
use super::process::*;
use gatehouse_testing::{Message, Subscriber};
use reqwest::Method;
use serde_json::{Value, json};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::{mpsc, watch};
use tokio::task::JoinSet;
use tokio::time::timeout;

/// Each form of messages, with the query of a hub that gets it.
const FORMS: [(&str, &str); 5] = [
    ("tmf", ""),
    ("tmf-batch", "batch=10"),
    ("cloudevents", "format=cloudevents"),
    ("cloudevents-batch", "format=cloudevents&batch=10"),
    ("cloudevents-binary", "format=cloudevents-binary"),
];

/// A program below `tests/subscribers`, installed with its libraries.
#[derive(Clone, Copy, Debug)]
struct Program {
    /// The program that runs it.
    interpreter: &'static str,
    path: &'static str,
}

const CHECKS: [Program; 2] = [
    Program { interpreter: "python/bin/python", path: "python/check.py" },
    Program { interpreter: "node", path: "node/check.js" },
];

const RECEIVERS: [Program; 2] = [
    Program { interpreter: "python/bin/python", path: "python/receiver.py" },
    Program { interpreter: "node", path: "node/receiver.js" },
];

impl Program {
    fn command(self) -> Command {
        let directory = std::env::var_os("TEST_SUBSCRIBERS").expect(
            "TEST_SUBSCRIBERS names the directory of the receivers with their libraries; `cargo xtask test` installs \
             and sets it",
        );
        let directory = PathBuf::from(directory);
        let mut command = match self.interpreter {
            "node" => Command::new("node"),
            below => Command::new(directory.join(below)),
        };
        command.arg(directory.join(self.path));
        command
    }
}

/// A server that sends messages to subscribers on this machine.
fn serve(setup: &Setup) -> Server {
    let mut server = setup.serve_set(&[("EVENTS__CALLBACK_NETWORKS", "127.0.0.0/8")]);
    server.token = setup.token("acme", "access:read access:write event:read event:write");
    server
}

/// A hub, with its secrets from the oldest on.
struct Hub {
    path: String,
    secrets: Vec<String>,
}

impl Hub {
    async fn create(server: &Server, callback: &str, query: &str) -> Self {
        let body = json!({"callback": callback, "query": query}).to_string();
        let (status, hub) = server.json(Method::POST, "/acme/hub", Some(&body)).await;
        assert_eq!(status, 201, "{hub}");
        let path = format!("/acme/hub/{}", text(&hub, "id"));
        Self { path, secrets: vec![text(&hub, "secret").to_owned()] }
    }

    fn secret(&self) -> &str {
        self.secrets.last().unwrap()
    }

    async fn change(&mut self, server: &Server, body: Value) {
        let (status, hub) = server.json(Method::PATCH, &self.path, Some(&body.to_string())).await;
        assert_eq!(status, 200, "{hub}");
        self.secrets.extend(hub["secret"].as_str().map(str::to_owned));
    }

    /// Statuses of the responses to its messages, as soon as there are so many.
    async fn statuses(&self, server: &Server, n_messages: usize) -> Vec<u64> {
        let wait = Wait::new(format!("{} has sent {n_messages} messages", self.path));
        loop {
            let path = format!("{}/delivery", self.path);
            let (status, deliveries) = server.json(Method::GET, &path, None).await;
            assert_eq!(status, 200, "{deliveries}");
            let deliveries = deliveries.as_array().unwrap();
            if deliveries.len() >= n_messages {
                return deliveries.iter().map(|it| it["status"].as_u64().unwrap_or(0)).collect();
            }
            wait.check_limit();
        }
    }
}

async fn create_access(server: &Server, username: &str) -> Value {
    let body = json!({"contractId": "payg", "username": username}).to_string();
    let (status, access) = server.json(Method::POST, "/acme/access", Some(&body)).await;
    assert_eq!(status, 201, "{access}");
    access
}

async fn suspend(server: &Server, access: &Value) {
    let path = format!("/acme/access/{}", text(access, "id"));
    let body = r#"{"status": "SUSPENDED"}"#;
    let (status, access) = server.json(Method::PATCH, &path, Some(body)).await;
    assert_eq!((status, &access["status"]), (200, &json!("SUSPENDED")), "{access}");
}

/// The events in a message.
fn events_of(form: &str, message: &Message) -> Vec<Value> {
    let body = message.json();
    match form {
        "tmf" | "cloudevents-binary" => vec![body],
        "tmf-batch" => body.as_array().unwrap().clone(),
        "cloudevents" => vec![body["data"].clone()],
        "cloudevents-batch" => {
            body.as_array().unwrap().iter().map(|it| it["data"].clone()).collect()
        }
        _ => panic!("there is no form {form}"),
    }
}

/// Messages, without those that came again.
fn without_repeats(messages: &[Message]) -> Vec<Message> {
    let mut seen = HashSet::new();
    let is_first = |it: &&Message| seen.insert(it.header("webhook-id").to_owned());
    messages.iter().filter(is_first).cloned().collect()
}

fn all_events(form: &str, messages: &[Message]) -> Vec<Value> {
    without_repeats(messages).iter().flat_map(|it| events_of(form, it)).collect()
}

/// The events of the tenant, as soon as the end of this Task is among them.
async fn feed_until_end(server: &Server, task: &str) -> Vec<Value> {
    let wait = Wait::new(format!("the event of the end of {task}"));
    loop {
        let (status, feed) = server.json(Method::GET, "/acme/event?after=0", None).await;
        assert_eq!(status, 200, "{feed}");
        let feed = feed.as_array().unwrap();
        let is_end = |it: &Value| {
            it["event"]["task"]["id"] == task && it["event"]["task"]["state"] == "DONE"
        };
        if feed.iter().any(is_end) {
            return feed.clone();
        }
        wait.check_limit();
    }
}

/// A message as a line for the check programs.
fn line(form: &str, message: &Message, secrets: &[String]) -> Value {
    let headers = message.headers.keys().map(|it| (it.to_string(), message.header(it.as_str())));
    let headers: serde_json::Map<String, Value> =
        headers.map(|(name, value)| (name, value.into())).collect();
    json!({
        "form": form, "secrets": secrets, "headers": headers, "source": "/acme",
        "body": std::str::from_utf8(&message.body).unwrap(), "events": events_of(form, message),
    })
}

/// Runs a check program with messages; returns its exit code and output.
fn check(setup: &Setup, program: Program, lines: &[Value]) -> (Option<i32>, String) {
    let input: String = lines.iter().map(|it| format!("{it}\n")).collect();
    std::fs::write(setup.path("messages"), input).unwrap();
    let messages = File::open(setup.path("messages")).unwrap();
    let output = program.command().stdin(messages).output().unwrap();
    (output.status.code(), printed(&output))
}

/// Number of the lines that start and end so.
fn count(shown: &str, start: &str, end: &str) -> usize {
    shown.lines().filter(|it| it.starts_with(start) && it.ends_with(end)).count()
}

/// Messages of all forms: one that one secret has signed, and after the rotation several that two have signed, the last
/// of them about the end of the hub.
async fn messages_of_all_forms(setup: &Setup) -> Vec<Value> {
    let server = serve(setup);
    let mut hubs = Vec::new();
    for (form, query) in FORMS {
        let subscriber = Subscriber::willing().await;
        let hub = Hub::create(&server, subscriber.url(), query).await;
        hubs.push((form, hub, subscriber));
    }
    let pump = create_access(&server, "pömp").await;
    for (form, hub, subscriber) in &mut hubs {
        subscriber.until(|it| all_events(form, it).len() == 1).await;
        // Paused, so that the events after the rotation are in one message of a batch.
        hub.change(&server, json!({"state": "PAUSED", "rotateSecret": true})).await;
    }
    suspend(&server, &pump).await;
    let batch = json!({"contractId": "payg", "numberOfAccesses": 2});
    let task = server.batch("acme", "batch", &batch).await;
    let feed = feed_until_end(&server, &task).await;

    let mut lines = Vec::new();
    for (form, hub, subscriber) in &mut hubs {
        hub.change(&server, json!({"state": "ACTIVE"})).await;
        let messages = subscriber.until(|it| all_events(form, it).len() == feed.len()).await;
        let mut events = all_events(form, &messages);
        events.sort_by_key(|it| it["x-number"].as_u64());
        assert_eq!(events, feed, "{form}");
        assert_eq!(server.ask(Method::DELETE, &hub.path, None).await.status(), 204);
        let messages = subscriber.until(|it| all_events(form, it).len() > feed.len()).await;
        let is_end = |it: &Value| it["eventType"] == "HubDeleteEvent";
        assert!(all_events(form, &messages).last().is_some_and(is_end), "{form}");
        for (index, message) in without_repeats(&messages).iter().enumerate() {
            let n_signatures = if index == 0 { 1 } else { 2 };
            lines.push(line(form, message, &hub.secrets[..n_signatures]));
        }
    }
    lines
}

#[tokio::test]
async fn libraries_accept_genuine_messages_and_refuse_tampered_ones() {
    let setup = Setup::sqlite();
    let lines = messages_of_all_forms(&setup).await;
    let mut tampered = lines.clone();
    for line in &mut tampered {
        line["body"] = line["body"].as_str().unwrap().replace("eventId", "eventid").into();
    }
    for program in CHECKS {
        let (code, shown) = check(&setup, program, &lines);
        assert!(code == Some(0) && !shown.contains("FAILED"), "{program:?}:\n{shown}");
        for (form, _) in FORMS {
            let ok = format!("ok      {form} evt-");
            for library in ["standardwebhooks", "svix"] {
                for outcome in [
                    "secret 1, accepts the message",
                    "secret 2, accepts the message",
                    "secret 1, refuses a changed byte",
                    "secret 2, refuses a message that is ten minutes old",
                ] {
                    let n = count(&shown, &ok, &format!(": {library}, {outcome}"));
                    assert!(n > 0, "{form}, {library}, {outcome}:\n{shown}");
                }
            }
            let n_read = count(&shown, &ok, ": cloudevents gives every event");
            assert_eq!(n_read > 0, form.starts_with("cloudevents"), "{form}:\n{shown}");
        }
        let n_accepted = count(&shown, "ok ", " accepts the message");

        let (code, shown) = check(&setup, program, &tampered);
        assert_eq!(code, Some(1), "{program:?}:\n{shown}");
        assert_eq!(count(&shown, "ok ", " accepts the message"), 0, "{program:?}:\n{shown}");
        let refused = " accepts the message: refused: No matching signature found";
        assert_eq!(count(&shown, "FAILED ", refused), n_accepted, "{program:?}:\n{shown}");
    }
}

/// A running receiver of docs/events.md.
struct Receiver {
    child: Child,
    url: String,
    lines: mpsc::UnboundedReceiver<String>,
}

impl Receiver {
    async fn start(program: Program, secret: &str) -> Self {
        let mut command = program.command();
        command.arg("0").env("WEBHOOK_SECRET", secret).stdin(Stdio::null());
        let mut child = command.stdout(Stdio::piped()).stderr(Stdio::null()).spawn().unwrap();
        let stdout = BufReader::new(child.stdout.take().unwrap());
        let (sender, lines) = mpsc::unbounded_channel();
        // Ends with the receiver.
        std::thread::spawn(move || {
            for line in stdout.lines().map_while(Result::ok) {
                let _ = sender.send(line);
            }
        });
        let mut receiver = Self { child, url: String::new(), lines };
        let started = receiver.line().await;
        receiver.url = started.strip_prefix("listening on ").expect("it listens").to_owned();
        receiver
    }

    /// The next line that it prints.
    async fn line(&mut self) -> String {
        let line = timeout(WAIT_LIMIT, self.lines.recv()).await;
        line.expect("the receiver prints a line").expect("the receiver runs")
    }

    /// Ends it; returns the lines that were not read.
    async fn end(mut self) -> Vec<String> {
        self.child.kill().unwrap();
        self.child.wait().unwrap();
        let mut rest = Vec::new();
        while let Some(line) = self.lines.recv().await {
            rest.push(line);
        }
        rest
    }
}

impl Drop for Receiver {
    fn drop(&mut self) {
        // A test that fails must not leave a receiver behind.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// A port for the callback of a hub, whose receiver can start only later: with the secret that the creation shows.
struct Callback {
    url: String,
    receiver: watch::Sender<Option<String>>,
    _tasks: JoinSet<()>,
}

impl Callback {
    async fn reserve() -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let url = format!("http://{}/events", listener.local_addr().unwrap());
        let (receiver, started) = watch::channel(None::<String>);
        let mut tasks = JoinSet::new();
        tasks.spawn(async move {
            let mut connections = JoinSet::new();
            while let Ok((mut client, _)) = listener.accept().await {
                let mut started = started.clone();
                connections.spawn(async move {
                    let Ok(address) = started.wait_for(Option::is_some).await.map(|it| it.clone())
                    else {
                        return;
                    };
                    let mut receiver = TcpStream::connect(address.unwrap()).await.unwrap();
                    // An error is the end of a connection.
                    let _ = tokio::io::copy_bidirectional(&mut client, &mut receiver).await;
                });
            }
        });
        Self { url, receiver, _tasks: tasks }
    }

    /// Passes connections on to the receiver, from the first one on.
    fn lead_to(&self, receiver: &Receiver) {
        let address = receiver.url.strip_prefix("http://").unwrap();
        self.receiver.send_replace(Some(address.to_owned()));
    }
}

#[tokio::test]
async fn receivers_print_events_and_refuse_those_of_another_hub() {
    for program in RECEIVERS {
        let setup = Setup::sqlite();
        let server = serve(&setup);
        let (callback, other_callback) = (Callback::reserve().await, Callback::reserve().await);
        let hub = Hub::create(&server, &callback.url, "").await;
        let other_hub = Hub::create(&server, &other_callback.url, "").await;
        let mut receiver = Receiver::start(program, hub.secret()).await;
        let with_wrong_secret = Receiver::start(program, hub.secret()).await;
        callback.lead_to(&receiver);
        other_callback.lead_to(&with_wrong_secret);

        let access = create_access(&server, "pump").await;
        let (id, status) = (text(&access, "id"), text(&access, "status"));
        assert_eq!(receiver.line().await, format!("AccessCreateEvent access {id} {status}"));
        suspend(&server, &access).await;
        assert_eq!(receiver.line().await, format!("AccessStateChangeEvent access {id} SUSPENDED"));
        assert_eq!(hub.statuses(&server, 2).await, [204, 204], "{program:?}");
        let task = server
            .batch("acme", "batch", &json!({"contractId": "payg", "numberOfAccesses": 1}))
            .await;
        let end = format!("TaskStateChangeEvent task {task} DONE");
        while receiver.line().await != end {}

        let refused = other_hub.statuses(&server, 1).await;
        assert!(refused.iter().all(|it| *it == 400), "{program:?}: {refused:?}");
        assert_eq!(with_wrong_secret.end().await, [""; 0], "{program:?}");
        assert_eq!(server.ask(Method::DELETE, &hub.path, None).await.status(), 204);
        let hub_id = hub.path.rsplit('/').next().unwrap();
        let end = format!("HubDeleteEvent hub {hub_id} ");
        while !receiver.line().await.starts_with(&end) {}
        assert_eq!(receiver.end().await, [""; 0], "{program:?}");
    }
}

#[tokio::test]
async fn receivers_handle_a_message_once_and_refuse_a_changed_one() {
    let setup = Setup::sqlite();
    let server = serve(&setup);
    let subscriber = Subscriber::willing().await;
    let hub = Hub::create(&server, subscriber.url(), "").await;
    let access = create_access(&server, "pump").await;
    suspend(&server, &access).await;
    let messages = without_repeats(&subscriber.until(|it| without_repeats(it).len() == 2).await);
    let changed = Message { body: messages[0].body.slice(1..), ..messages[0].clone() };
    let mut unsigned = messages[0].clone();
    unsigned.headers.remove("webhook-signature");
    let mut strange = messages[0].clone();
    strange.headers.insert("webhook-signature", "v1,AAAA v1 v2,x,y".parse().unwrap());

    for program in RECEIVERS {
        let receiver = Receiver::start(program, hub.secret()).await;
        for (message, expected) in [
            (&messages[0], 204),
            (&messages[0], 204),
            (&changed, 400),
            (&unsigned, 400),
            (&strange, 400),
            (&messages[1], 204),
            (&messages[0], 204),
        ] {
            let mut request = server.client.post(&receiver.url).body(message.body.clone());
            for name in ["webhook-id", "webhook-timestamp", "webhook-signature"] {
                if let Some(value) = message.headers.get(name) {
                    request = request.header(name, value);
                }
            }
            let status = request.send().await.unwrap().status();
            assert_eq!(status, expected, "{program:?}: {message:?}");
        }
        let expected = messages.iter().map(|it| {
            let (event, id) = (it.json(), text(&access, "id"));
            let status = text(&event["event"]["access"], "status");
            format!("{} access {id} {status}", text(&event, "eventType"))
        });
        assert_eq!(receiver.end().await, expected.collect::<Vec<_>>(), "{program:?}");
    }
}

#[test]
fn the_page_of_events_shows_the_receivers() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let page = std::fs::read_to_string(root.join("docs/events.md")).unwrap();
    for (heading, language, file) in [
        ("## A receiver in Python\n", "python", "receiver.py"),
        ("## A receiver in Node.js\n", "js", "receiver.js"),
    ] {
        let receiver = std::fs::read_to_string(root.join("tests/subscribers").join(file)).unwrap();
        let (_, section) = page.split_once(heading).unwrap();
        let section = section.split("\n## ").next().unwrap();
        let (_, shown) = section.split_once(&format!("```{language}\n")).unwrap();
        let (shown, _) = shown.split_once("```\n").unwrap();
        assert_eq!(shown, receiver, "docs/events.md shows another {file}");
    }
}
