//! Signing in, staying signed in, and signing out, with files of one's own.

use std::io::{BufRead, BufReader, Read, Write};
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStderr, Command, Output, Stdio};

use super::issuer::Issuer;
use super::process::*;
use serde_json::{Value, json};

/// A time at which every token of these tests is old.
const LONG_AGO: &str = "2020-01-01T00:00:00.000Z";

/// Somebody with a place for files, beside a server.
struct Person<'a> {
    place: &'a Place,
    url: String,
    home: tempfile::TempDir,
}

impl<'a> Person<'a> {
    fn new(place: &'a Place, server: &Server) -> Self {
        Self { place, url: server.url.clone(), home: tempfile::tempdir().unwrap() }
    }

    fn command(&self, arguments: &[&str]) -> Command {
        let mut command = self.place.command(arguments);
        command.env("XDG_CONFIG_HOME", self.home.path()).stdin(Stdio::null());
        command
    }

    fn run(&self, arguments: &[&str]) -> Output {
        self.command(arguments).output().unwrap()
    }

    /// Runs a command that reads this.
    fn run_with(&self, input: &str, arguments: &[&str]) -> Output {
        let mut command = self.command(arguments);
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
        let mut child = command.spawn().unwrap();
        // Who refuses the command line reads nothing, and that is no fault of the test.
        let _ = child.stdin.take().unwrap().write_all(input.as_bytes());
        child.wait_with_output().unwrap()
    }

    /// Signs in at the server itself.
    fn sign_in(&self, client: &Credentials, more: &[&str]) -> Output {
        let mut arguments = vec!["login", "--url", &self.url, "--client-id", &client.id];
        arguments.extend(["--client-secret-file", "-"]);
        arguments.extend(more);
        self.run_with(&client.secret, &arguments)
    }

    /// A command that needs a token, and changes nothing.
    fn look(&self, more: &[&str]) -> Command {
        let mut arguments = vec!["apply", "-f", "estate.yaml", "--dry-run"];
        arguments.extend(more);
        self.command(&arguments)
    }

    fn assert_looks(&self, more: &[&str]) -> String {
        let output = self.look(more).output().unwrap();
        let shown = said(&output);
        assert!(output.status.success() && shown.contains("0 would change"), "{shown}");
        shown
    }

    fn path(&self, name: &str) -> PathBuf {
        self.home.path().join("gatehouse").join(name)
    }

    fn kept_path(&self, profile: &str) -> PathBuf {
        self.path(&format!("sessions/{profile}.json"))
    }

    fn kept(&self, profile: &str) -> Value {
        serde_json::from_slice(&std::fs::read(self.kept_path(profile)).unwrap()).unwrap()
    }

    /// Changes what is kept, in place, so that the file's permissions stay.
    fn change(&self, profile: &str, change: impl FnOnce(&mut Value)) {
        let mut kept = self.kept(profile);
        change(&mut kept);
        std::fs::write(self.kept_path(profile), kept.to_string()).unwrap();
    }

    fn expire(&self, profile: &str) {
        self.change(profile, |kept| kept["expiresAt"] = LONG_AGO.into());
    }

    /// Every secret that is kept.
    fn secrets(&self, profile: &str) -> Vec<String> {
        let kept = self.kept(profile);
        let renewal = &kept["renewal"];
        let all = [&kept["accessToken"], &renewal["clientSecret"], &renewal["refreshToken"]];
        all.iter().filter_map(|it| it.as_str()).map(str::to_owned).collect()
    }
}

/// A client of the server's own.
struct Credentials {
    id: String,
    secret: String,
}

fn client(place: &Place, scope: &str) -> Credentials {
    let create = ["client", "create", "--tenant", "acme", "--output", "json", "--scope", scope];
    let output = place.run(&create);
    assert!(output.status.success(), "{}", said(&output));
    let made: Value = serde_json::from_slice(&output.stdout).unwrap();
    let text = |name: &str| made[name].as_str().unwrap().to_owned();
    Credentials { id: text("clientId"), secret: text("clientSecret") }
}

fn mode(path: &Path) -> u32 {
    std::fs::metadata(path).unwrap().permissions().mode() & 0o777
}

#[track_caller]
fn assert_ends(output: &Output, code: i32, expected: &str) {
    let shown = said(output);
    assert!(output.status.code() == Some(code) && shown.contains(expected), "{output:?}: {shown}");
}

#[test]
fn a_client_signs_in_and_its_token_is_renewed() {
    let place = Place::sqlite();
    let server = place.serve();
    let person = Person::new(&place, &server);
    let client = client(&place, "access:read admin");
    assert_ends(&person.look(&[]).output().unwrap(), 4, "nobody is signed in");

    let output = person.sign_in(&client, &["--tenant", "acme", "-v"]);
    assert_ends(&output, 0, &format!("signed in at {}", server.url));
    let shown = said(&output);
    assert!(shown.contains("/-/oauth2/token") && shown.contains("/acme/contract"), "{shown}");
    assert!(!shown.contains("note:"), "{shown}");
    for secret in person.secrets("default") {
        assert!(!shown.contains(&secret), "a secret is shown: {shown}");
    }
    let config = std::fs::read_to_string(person.path("config.toml")).unwrap();
    assert_eq!(
        config,
        format!("[profiles.default]\nurl = \"{}\"\ntenant = \"acme\"\n", server.url)
    );
    for (name, expected) in [
        ("", 0o700),
        ("config.toml", 0o600),
        ("sessions", 0o700),
        ("sessions/default.json", 0o600),
        ("sessions/default.lock", 0o600),
    ] {
        assert_eq!(mode(&person.path(name)), expected, "{name}");
    }

    let first = person.kept("default");
    person.assert_looks(&[]);
    assert_eq!(person.kept("default"), first, "a good token is not renewed");
    person.expire("default");
    let shown = person.assert_looks(&["-v"]);
    assert!(shown.contains(r#""grant_type":"client_credentials""#), "{shown}");
    for secret in person.secrets("default") {
        assert!(!shown.contains(&secret), "a secret is shown: {shown}");
    }
    let second = person.kept("default");
    assert_ne!(second["expiresAt"], LONG_AGO, "{second}");
    assert_eq!(second["renewal"], first["renewal"], "it goes on the same way");
    assert_eq!(mode(&person.kept_path("default")), 0o600);

    // A token that the server no longer takes, whatever its own account says.
    person.change("default", |kept| kept["accessToken"] = "e30.e30.bad".into());
    let shown = person.assert_looks(&["-v"]);
    assert_eq!(shown.matches("< 401").count(), 1, "{shown}");
    assert_eq!(shown.matches(r#""grant_type":"client_credentials""#).count(), 1, "{shown}");

    let deleted = place.run(&["client", "delete", "--tenant", "acme", &client.id]);
    assert!(deleted.status.success(), "{}", said(&deleted));
    person.expire("default");
    let output = person.look(&[]).output().unwrap();
    assert_ends(&output, 4, "is not renewed");
    assert_ends(&output, 4, "gatehouse login --profile default");
}

#[test]
fn what_keeps_a_client_out_is_said_and_nothing_is_kept() {
    let place = Place::sqlite();
    let server = place.serve();
    let person = Person::new(&place, &server);
    let client = client(&place, "access:read");
    let wrong = Credentials { secret: "wrong".into(), id: client.id.clone() };
    assert_ends(&person.sign_in(&wrong, &[]), 4, "invalid_client");
    assert_ends(&person.sign_in(&client, &["--scope", "admin"]), 4, "invalid_scope");
    assert_ends(&person.sign_in(&client, &["--tenant", "a b"]), 2, "--tenant");
    assert_ends(&person.sign_in(&client, &["--profile", "../x"]), 2, "a profile's name");
    assert_ends(
        &person.run_with("", &["login", "--client-id", "x", "--client-secret-file", "-"]),
        2,
        "empty",
    );
    assert_ends(&person.run(&["login", "--client-id", "x"]), 2, "--client-secret-file");
    assert_ends(&person.run(&["login"]), 2, "--issuer");
    assert_ends(&person.run(&["login", "--profile", "new", "--with-token"]), 2, "no profile `new`");
    assert_ends(&person.run(&["login", "--issuer", "http://id.example"]), 2, "https");
    assert_ends(&person.run(&["login", "--with-token", "--issuer", "x"]), 2, "cannot be used with");
    let nowhere = person.run_with(
        "x",
        &["login", "--url", "http://127.0.0.1:1", "--client-id", "x", "--client-secret-file", "-"],
    );
    assert_ends(&nowhere, 7, "can't be reached");
    assert!(!person.path("").exists(), "something is kept");
}

#[test]
fn a_client_that_may_do_little_is_signed_in_with_a_note() {
    let place = Place::sqlite();
    let server = place.serve();
    let person = Person::new(&place, &server);
    let output = person.sign_in(&client(&place, "access:verify"), &[]);
    assert_ends(&output, 0, "doesn't allow reading the contracts of acme");
    assert!(person.kept_path("default").exists());
}

#[test]
fn a_token_is_kept_for_the_server_that_it_was_given_for() {
    let place = Place::sqlite();
    let server = place.serve();
    let person = Person::new(&place, &server);
    let login = ["login", "--profile", "lab", "--url", &server.url, "--with-token"];
    let output = person.run_with("not-a-token\n", &[&login[..], &["--tenant", "acme"]].concat());
    assert_ends(&output, 4, "nothing is kept");
    assert!(!person.path("").exists(), "something is kept");

    let old = place.run(&["token", "--tenant", "acme", "--scope", "access:read", "--ttl", "1s"]);
    let old = String::from_utf8(old.stdout).unwrap();
    let began = std::time::Instant::now();
    loop {
        let output = person.run_with(&old, &login);
        if output.status.code() == Some(4) {
            assert_ends(&output, 4, "the token has expired; nothing is stored");
            break;
        }
        person.run(&["logout", "--profile", "lab"]);
        assert!(began.elapsed().as_secs() < 60, "it never expires");
    }
    assert_ends(&person.run(&["login", "--token", "x", "--url", &server.url]), 2, "--with-token");

    let output = person.run_with(&format!("{}\n", server.token), &login);
    assert_ends(&output, 0, "this token can't be renewed");
    assert_ends(&output, 0, "no tenant is known");
    assert!(!said(&output).contains(&server.token));
    person.assert_looks(&["--profile", "lab"]);
    let elsewhere = person.look(&["--profile", "lab", "--url", "http://127.0.0.1:1"]).output();
    assert_ends(&elsewhere.unwrap(), 4, &format!("signed in at {}", server.url));

    person.expire("lab");
    let output = person.look(&["--profile", "lab"]).output().unwrap();
    assert_ends(&output, 4, "can't be renewed");
    assert_ends(&output, 4, "gatehouse login --profile lab --with-token");
    let mut with_token = person.look(&["--profile", "lab"]);
    let output = with_token.env("GATEHOUSE_TOKEN", &server.token).output().unwrap();
    assert_ends(&output, 0, "0 would change");
}

#[test]
fn a_file_that_others_can_read_is_not_used() {
    let place = Place::sqlite();
    let server = place.serve();
    let person = Person::new(&place, &server);
    let client = client(&place, "access:read admin");
    assert_ends(&person.sign_in(&client, &[]), 0, "signed in");
    let path = person.kept_path("default");
    std::fs::set_permissions(&path, std::fs::Permissions::from_mode(0o640)).unwrap();
    let output = person.look(&[]).output().unwrap();
    assert_ends(&output, 4, "0640");
    assert_ends(&output, 4, "chmod 600");
    assert_ends(&person.run(&["profile", "list"]), 0, "0640");
    assert_ends(&person.sign_in(&client, &[]), 0, "signed in");
    assert_eq!(mode(&path), 0o600);
    person.assert_looks(&[]);
    std::fs::write(&path, "{").unwrap();
    assert_ends(&person.look(&[]).output().unwrap(), 2, "is not what `gatehouse login` wrote");
    assert_ends(&person.run(&["logout"]), 0, "signed out");
}

#[test]
fn profiles_are_listed_chosen_and_left_as_people_wrote_them() {
    let place = Place::sqlite();
    let server = place.serve();
    let person = Person::new(&place, &server);
    assert_ends(&person.run(&["profile", "list"]), 0, "there is no profile");
    assert_ends(&person.run(&["profile", "use", "prod"]), 2, "no profile `prod`");
    let mine = "# mine\n[profiles.prod] # the real one\nurl = 'https://gatehouse.example'\n";
    std::fs::create_dir_all(person.path("")).unwrap();
    std::fs::write(person.path("elsewhere.toml"), mine).unwrap();
    std::os::unix::fs::symlink("elsewhere.toml", person.path("config.toml")).unwrap();
    let client = client(&place, "access:read admin");
    let more = ["--profile", "lab", "--tenant", "acme"];
    assert_ends(&person.sign_in(&client, &more), 0, "profile `lab`");
    assert_ends(&person.run(&["profile", "use", "lab"]), 0, "`lab` is the default now");
    let config = std::fs::read_to_string(person.path("config.toml")).unwrap();
    assert!(config.contains(mine.strip_prefix("# mine\n").unwrap()), "{config}");
    assert!(config.contains("# mine\n") && config.contains("default = \"lab\"\n"), "{config}");
    assert!(person.path("config.toml").is_symlink(), "who has the file elsewhere keeps it there");
    person.assert_looks(&[]);

    let output = person.run(&["profile", "list", "--output", "json"]);
    let listed: Value = serde_json::from_slice(&output.stdout).unwrap();
    let seen: Vec<_> = listed.as_array().unwrap().iter().collect();
    assert_eq!(seen.len(), 2, "{listed}");
    for (field, lab, prod) in [
        ("name", json!("lab"), json!("prod")),
        ("isDefault", json!(true), json!(false)),
        ("url", json!(server.url), json!("https://gatehouse.example")),
        ("tenant", json!("acme"), Value::Null),
        ("isSignedIn", json!(true), json!(false)),
        ("isRenewed", json!(true), json!(false)),
    ] {
        assert_eq!((&seen[0][field], &seen[1][field]), (&lab, &prod), "{field}");
    }
    let table = said(&person.run(&["profile", "list"]));
    let lines: Vec<_> = table.lines().map(|it| it.split_whitespace().collect::<Vec<_>>()).collect();
    assert_eq!(lines[0].join(" "), "NAME DEFAULT URL TENANT SIGNED IN");
    assert_eq!(lines[1].join(" "), format!("lab * {} acme yes, renewed by itself", server.url));
    assert_eq!(lines[2].join(" "), "prod https://gatehouse.example —");
    let csv = said(&person.run(&["profile", "list", "--output", "csv"]));
    assert!(csv.starts_with("name,isDefault,url,tenant,signedIn"), "{csv}");

    assert_ends(&person.run(&["logout", "--profile", "prod"]), 0, "nobody is signed in");
    assert_ends(&person.run(&["logout"]), 0, "profile `lab`: signed out");
    assert!(!person.kept_path("lab").exists());
    assert_ends(&person.look(&[]).output().unwrap(), 4, "nobody is signed in");
    for profile in ["a", "b"] {
        assert_ends(&person.sign_in(&client, &["--profile", profile]), 0, "signed in");
    }
    let shown = said(&person.run(&["logout", "--all"]));
    assert!(shown.contains("`a`: signed out") && shown.contains("`b`: signed out"), "{shown}");
    assert_ends(&person.run(&["logout", "--all"]), 0, "nobody is signed in");
}

#[test]
fn a_file_of_profiles_with_a_fault_is_said_and_stays() {
    let place = Place::sqlite();
    let server = place.serve();
    let person = Person::new(&place, &server);
    let client = client(&place, "access:read admin");
    std::fs::create_dir_all(person.path("")).unwrap();
    for (text, expected) in [
        ("[profiles.a\n", "config.toml has a fault"),
        ("profiles = 3\n", "invalid type"),
        ("[profiles.a]\ntoken = 'x'\n", "unknown field `token`"),
    ] {
        std::fs::write(person.path("config.toml"), text).unwrap();
        assert_ends(&person.look(&[]).output().unwrap(), 2, expected);
        assert_ends(&person.sign_in(&client, &[]), 2, expected);
        assert_ends(&person.run(&["profile", "list"]), 2, expected);
        assert_eq!(std::fs::read_to_string(person.path("config.toml")).unwrap(), text);
    }
    std::fs::write(person.path("config.toml"), "default = 'gone'\n").unwrap();
    assert_ends(&person.look(&[]).output().unwrap(), 2, "there is no profile `gone`");
    assert_ends(&person.look(&["--profile", "nobody"]).output().unwrap(), 2, "no profile `nobody`");
}

/// Whether a terminal shows what is typed, as it does until it is told otherwise.
fn shows_what_is_typed(terminal: &impl std::os::fd::AsFd) -> bool {
    let stdin = terminal.as_fd().try_clone_to_owned().unwrap();
    let output = Command::new("stty").arg("-a").stdin(stdin).output().unwrap();
    let settings = String::from_utf8(output.stdout).unwrap();
    assert!(settings.contains("echo"), "{settings}");
    !settings.split_whitespace().any(|it| it == "-echo")
}

#[test]
fn a_secret_that_is_typed_is_not_seen() {
    let place = Place::sqlite();
    let server = place.serve();
    let person = Person::new(&place, &server);
    let client = client(&place, "access:read admin");
    let mut command = place.command(&["login", "--url", &server.url, "--client-id", &client.id]);
    command.env("XDG_CONFIG_HOME", person.home.path());
    let (mut terminal, inside) = pty_process::blocking::open().unwrap();
    let command = pty_process::blocking::Command::from(command);
    let mut child = command.spawn(inside).unwrap();
    let mut seen = Vec::new();
    let mut bytes = [0; 1024];
    let mut is_typed = false;
    // A terminal whose other side is gone reads as an error.
    while let Ok(n @ 1..) = terminal.read(&mut bytes) {
        seen.extend_from_slice(&bytes[..n]);
        if !is_typed && String::from_utf8_lossy(&seen).contains("Secret of ") {
            let began = std::time::Instant::now();
            while shows_what_is_typed(&terminal) {
                assert!(began.elapsed().as_secs() < 60, "what is typed is shown");
            }
            writeln!(terminal, "{}", client.secret).unwrap();
            is_typed = true;
        }
    }
    let (ended, seen) = (child.wait().unwrap(), String::from_utf8_lossy(&seen).into_owned());
    assert!(ended.success() && seen.contains("signed in at"), "{seen}");
    assert!(!seen.contains(&client.secret), "{seen}");
    person.assert_looks(&[]);
}

/// A sign-in that waits for somebody with a browser.
struct Waiting {
    child: Child,
    stderr: BufReader<ChildStderr>,
    /// What it has said so far.
    shown: String,
    user_code: String,
}

impl Waiting {
    fn start(person: &Person<'_>, arguments: &[&str]) -> Self {
        let mut command = person.command(&[&["login", "-v"], arguments].concat());
        let mut child = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
        let mut stderr = BufReader::new(child.stderr.take().unwrap());
        let (mut shown, mut user_code) = (String::new(), String::new());
        let mut is_next = false;
        while !shown.contains("Waiting for that") {
            let mut line = String::new();
            assert_ne!(stderr.read_line(&mut line).unwrap(), 0, "it ended: {shown}");
            if is_next && !line.trim().is_empty() {
                user_code = line.trim().to_owned();
                is_next = false;
            }
            is_next |= line.contains("enter this code");
            shown += &line;
        }
        Self { child, stderr, shown, user_code }
    }

    /// What comes of it: how it ends, and all that it says.
    fn end(mut self) -> (Option<i32>, String) {
        self.stderr.read_to_string(&mut self.shown).unwrap();
        let output = self.child.wait_with_output().unwrap();
        (output.status.code(), self.shown + &String::from_utf8_lossy(&output.stdout))
    }
}

#[tokio::test]
async fn a_person_signs_in_with_a_browser_and_stays_signed_in() {
    let (place, issuer) = (Place::sqlite(), Issuer::start());
    let server = issuer.serve(&place, "fleet");
    let person = Person::new(&place, &server);
    let login = ["--url", &server.url, "--issuer", &issuer.url, "--tenant", "acme"];
    let waiting =
        Waiting::start(&person, &[&login[..], &["--scope", "access:read admin"]].concat());
    let code = waiting.user_code.clone();
    let uri = format!("{}/device\n", issuer.url);
    assert!(waiting.shown.contains(&uri), "{}", waiting.shown);
    assert!(waiting.shown.contains(&format!("/device?user_code={code}")), "{}", waiting.shown);
    issuer.tell(&format!("approve?user_code={code}")).await;
    let (ended, shown) = waiting.end();
    assert!(ended == Some(0) && shown.contains("signed in at"), "{shown}");
    assert!(shown.contains(r#""device_code":"***""#), "{shown}");
    for secret in person.secrets("default") {
        assert!(!shown.contains(&secret), "a secret is shown: {shown}");
    }
    let refresh = || person.kept("default")["renewal"]["refreshToken"].as_str().unwrap().to_owned();
    let first = refresh();
    person.assert_looks(&[]);
    assert_eq!(refresh(), first, "a good token is not renewed");

    // The issuer takes each refresh token once, and gives up on whoever sends one twice.
    for _ in 0..2 {
        let earlier = refresh();
        person.expire("default");
        let shown = person.assert_looks(&["-v"]);
        assert!(shown.contains(r#""refresh_token":"***""#), "{shown}");
        assert!(!shown.contains(&earlier) && !shown.contains(&refresh()), "{shown}");
        assert_ne!(refresh(), earlier);
    }
    // Tokens that are old as soon as they are there: every request of a command has the next one.
    issuer.tell("lifetimes?token=20").await;
    person.expire("default");
    let before = issuer.tell("asked").await["tokens"].as_u64().unwrap();
    person.assert_looks(&[]);
    let after = issuer.tell("asked").await["tokens"].as_u64().unwrap();
    assert!(after >= before + 3, "{before} and {after}");
    issuer.tell("lifetimes?token=600").await;

    person.expire("default");
    let before = issuer.tell("asked").await["tokens"].as_u64().unwrap();
    let looks: Vec<_> = (0..4)
        .map(|_| {
            let mut look = person.look(&[]);
            look.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap()
        })
        .collect();
    for look in looks {
        assert_ends(&look.wait_with_output().unwrap(), 0, "0 would change");
    }
    let after = issuer.tell("asked").await["tokens"].as_u64().unwrap();
    assert_eq!(after, before + 1, "one of them renews the token for all");

    // An issuer that has forgotten the session.
    let kept = std::fs::read(person.kept_path("default")).unwrap();
    // What others may have read is forgotten there, too.
    let open = std::fs::Permissions::from_mode(0o640);
    std::fs::set_permissions(person.kept_path("default"), open).unwrap();
    let output = person.run(&["logout"]);
    assert_ends(&output, 0, "signed out");
    assert_ends(&output, 0, "has been told to forget the refresh token");
    let restored = person.kept_path("default");
    std::fs::write(&restored, kept).unwrap();
    std::fs::set_permissions(&restored, std::fs::Permissions::from_mode(0o600)).unwrap();
    person.expire("default");
    let output = person.look(&[]).output().unwrap();
    assert_ends(&output, 4, "invalid_grant");
    assert_ends(&output, 4, "gatehouse login --profile default");

    let waiting = Waiting::start(&person, &[]);
    issuer.tell(&format!("approve?user_code={}", waiting.user_code)).await;
    let (ended, shown) = waiting.end();
    assert!(ended == Some(0), "it is known where to sign in again: {shown}");
    person.assert_looks(&[]);
}

#[tokio::test]
async fn a_sign_in_that_comes_to_nothing_keeps_nothing() {
    let (place, issuer) = (Place::sqlite(), Issuer::start());
    let server = issuer.serve(&place, "another-service");
    let person = Person::new(&place, &server);
    let login = ["--url", &server.url, "--issuer", &issuer.url, "--tenant", "acme"];

    let waiting = Waiting::start(&person, &login);
    issuer.tell(&format!("deny?user_code={}", waiting.user_code)).await;
    let (ended, shown) = waiting.end();
    assert!(ended == Some(4) && shown.contains("denied"), "{ended:?} {shown}");

    issuer.tell("lifetimes?code=1").await;
    let (ended, shown) = Waiting::start(&person, &login).end();
    assert!(ended == Some(4) && shown.contains("nobody signed in"), "{ended:?} {shown}");
    issuer.tell("lifetimes?code=600").await;

    let waiting = Waiting::start(&person, &login);
    issuer.tell(&format!("approve?user_code={}", waiting.user_code)).await;
    let (ended, shown) = waiting.end();
    assert!(ended == Some(4) && shown.contains("nothing is kept"), "{ended:?} {shown}");
    assert!(shown.contains("auth.issuers"), "{shown}");

    let other = format!("{}/", issuer.url);
    let output = person.run(&["login", "--url", &server.url, "--issuer", &other]);
    assert_ends(&output, 6, "calls itself");
    let unknown = [&["login"], &login[..], &["--client-id", "nobody"]].concat();
    assert_ends(&person.run(&unknown), 4, "invalid_client");
    assert!(!person.path("").exists(), "something is kept");
}

#[tokio::test]
async fn a_machine_signs_in_at_an_issuer_as_that_wants_it() {
    let (place, issuer) = (Place::sqlite(), Issuer::start());
    let server = issuer.serve(&place, "fleet");
    let person = Person::new(&place, &server);
    for (id, secret, proof) in [
        ("robot", "secret-of-the-robot", "basic"),
        ("robot-by-form", "secret-of-the-other-robot", "form"),
    ] {
        std::fs::write(place.path("secret"), format!("{secret}\n")).unwrap();
        let mut login = vec!["login", "--url", &server.url, "--tenant", "acme"];
        login.extend([
            "--issuer",
            &issuer.url,
            "--client-id",
            id,
            "--client-secret-file",
            "secret",
        ]);
        login.extend(["--scope", "access:read admin", "--resource", "urn:fleet", "-v"]);
        let output = person.run(&login);
        assert_ends(&output, 0, "renewed by itself");
        let shown = said(&output);
        for secret in person.secrets("default") {
            assert!(!shown.contains(&secret), "a secret is shown: {shown}");
        }
        assert_eq!(person.kept("default")["renewal"]["proof"], proof);
        person.expire("default");
        issuer.tell("busy?answers=3").await;
        person.assert_looks(&[]);
        assert_ne!(person.kept("default")["expiresAt"], LONG_AGO);
    }
    person.expire("default");
    issuer.tell("busy?answers=4").await;
    let output = person.look(&[]).output().unwrap();
    assert_ends(&output, 7, "the token can't be renewed");
    person.assert_looks(&[]);

    // Where nothing can be locked, a token that can be got again at any time is got all the same.
    std::fs::remove_file(person.path("sessions/default.lock")).unwrap();
    std::fs::create_dir(person.path("sessions/default.lock")).unwrap();
    person.expire("default");
    person.assert_looks(&[]);
}
