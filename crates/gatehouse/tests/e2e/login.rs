//! Signing in, staying signed in, and signing out, with files in a home directory.

use std::io::{BufRead, BufReader, Read, Write};
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStderr, Command, Output, Stdio};

use super::issuer::Issuer;
use super::process::*;
use serde_json::{Value, json};

/// A time at which every token of these tests has expired.
const LONG_AGO: &str = "2020-01-01T00:00:00.000Z";

/// A user with a home directory, and a server.
struct User<'a> {
    setup: &'a Setup,
    url: String,
    home: tempfile::TempDir,
}

impl<'a> User<'a> {
    fn new(setup: &'a Setup, server: &Server) -> Self {
        Self { setup, url: server.url.clone(), home: tempfile::tempdir().unwrap() }
    }

    fn command(&self, arguments: &[&str]) -> Command {
        let mut command = self.setup.command(arguments);
        command.env("XDG_CONFIG_HOME", self.home.path()).stdin(Stdio::null());
        command
    }

    fn run(&self, arguments: &[&str]) -> Output {
        self.command(arguments).output().unwrap()
    }

    /// Runs a command with this standard input.
    fn run_with(&self, input: &str, arguments: &[&str]) -> Output {
        let mut command = self.command(arguments);
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
        let mut child = command.spawn().unwrap();
        // A command that refuses its command line doesn't read it.
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
        let shown = printed(&output);
        assert!(output.status.success() && shown.contains("0 would change"), "{shown}");
        shown
    }

    fn path(&self, name: &str) -> PathBuf {
        self.home.path().join("gatehouse").join(name)
    }

    fn session_path(&self, profile: &str) -> PathBuf {
        self.path(&format!("sessions/{profile}.json"))
    }

    fn session(&self, profile: &str) -> Value {
        serde_json::from_slice(&std::fs::read(self.session_path(profile)).unwrap()).unwrap()
    }

    /// Changes the stored session in place, so that the file's permissions stay.
    fn change(&self, profile: &str, change: impl FnOnce(&mut Value)) {
        let mut session = self.session(profile);
        change(&mut session);
        std::fs::write(self.session_path(profile), session.to_string()).unwrap();
    }

    fn expire(&self, profile: &str) {
        self.change(profile, |session| session["expiresAt"] = LONG_AGO.into());
    }

    fn secrets(&self, profile: &str) -> Vec<String> {
        let session = self.session(profile);
        let renewal = &session["renewal"];
        let all = [&session["accessToken"], &renewal["clientSecret"], &renewal["refreshToken"]];
        all.iter().filter_map(|it| it.as_str()).map(str::to_owned).collect()
    }
}

struct Credentials {
    id: String,
    secret: String,
}

fn client(setup: &Setup, scope: &str) -> Credentials {
    let create = ["client", "create", "--tenant", "acme", "--output", "json", "--scope", scope];
    let output = setup.run(&create);
    assert!(output.status.success(), "{}", printed(&output));
    let made: Value = serde_json::from_slice(&output.stdout).unwrap();
    let text = |name: &str| made[name].as_str().unwrap().to_owned();
    Credentials { id: text("clientId"), secret: text("clientSecret") }
}

fn mode(path: &Path) -> u32 {
    std::fs::metadata(path).unwrap().permissions().mode() & 0o777
}

#[track_caller]
fn assert_ends(output: &Output, code: i32, expected: &str) {
    let shown = printed(output);
    assert!(output.status.code() == Some(code) && shown.contains(expected), "{output:?}: {shown}");
}

#[test]
fn a_client_signs_in_and_its_token_is_renewed() {
    let setup = Setup::sqlite();
    let server = setup.serve();
    let user = User::new(&setup, &server);
    let client = client(&setup, "access:read admin");
    assert_ends(&user.look(&[]).output().unwrap(), 4, "not signed in");

    let output = user.sign_in(&client, &["--tenant", "acme", "-v"]);
    assert_ends(&output, 0, &format!("signed in at {}", server.url));
    let shown = printed(&output);
    assert!(shown.contains("/-/oauth2/token") && shown.contains("/acme/contract"), "{shown}");
    assert!(!shown.contains("note:"), "{shown}");
    for secret in user.secrets("default") {
        assert!(!shown.contains(&secret), "a secret is shown: {shown}");
    }
    let config = std::fs::read_to_string(user.path("config.toml")).unwrap();
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
        assert_eq!(mode(&user.path(name)), expected, "{name}");
    }

    let first = user.session("default");
    user.assert_looks(&[]);
    assert_eq!(user.session("default"), first, "a good token is not renewed");
    user.expire("default");
    let shown = user.assert_looks(&["-v"]);
    assert!(shown.contains(r#""grant_type":"client_credentials""#), "{shown}");
    for secret in user.secrets("default") {
        assert!(!shown.contains(&secret), "a secret is shown: {shown}");
    }
    let second = user.session("default");
    assert_ne!(second["expiresAt"], LONG_AGO, "{second}");
    assert_eq!(second["renewal"], first["renewal"], "it goes on the same way");
    assert_eq!(mode(&user.session_path("default")), 0o600);

    // A token that the server refuses, although it hasn't expired.
    user.change("default", |session| session["accessToken"] = "e30.e30.bad".into());
    let shown = user.assert_looks(&["-v"]);
    assert_eq!(shown.matches("< 401").count(), 1, "{shown}");
    assert_eq!(shown.matches(r#""grant_type":"client_credentials""#).count(), 1, "{shown}");

    let deleted = setup.run(&["client", "delete", "--tenant", "acme", &client.id]);
    assert!(deleted.status.success(), "{}", printed(&deleted));
    user.expire("default");
    let output = user.look(&[]).output().unwrap();
    assert_ends(&output, 4, "is not renewed");
    assert_ends(&output, 4, "gatehouse login --profile default");
}

#[test]
fn a_refused_client_sees_the_reason_and_nothing_is_stored() {
    let setup = Setup::sqlite();
    let server = setup.serve();
    let user = User::new(&setup, &server);
    let client = client(&setup, "access:read");
    let wrong = Credentials { secret: "wrong".into(), id: client.id.clone() };
    assert_ends(&user.sign_in(&wrong, &[]), 4, "invalid_client");
    assert_ends(&user.sign_in(&client, &["--scope", "admin"]), 4, "invalid_scope");
    assert_ends(&user.sign_in(&client, &["--tenant", "a b"]), 2, "--tenant");
    assert_ends(&user.sign_in(&client, &["--profile", "../x"]), 2, "a profile's name");
    assert_ends(
        &user.run_with("", &["login", "--client-id", "x", "--client-secret-file", "-"]),
        2,
        "empty",
    );
    assert_ends(&user.run(&["login", "--client-id", "x"]), 2, "--client-secret-file");
    assert_ends(&user.run(&["login"]), 2, "--issuer");
    assert_ends(&user.run(&["login", "--profile", "new", "--with-token"]), 2, "no profile `new`");
    assert_ends(&user.run(&["login", "--issuer", "http://id.example"]), 2, "https");
    assert_ends(&user.run(&["login", "--with-token", "--issuer", "x"]), 2, "cannot be used with");
    let nowhere = user.run_with(
        "x",
        &["login", "--url", "http://127.0.0.1:1", "--client-id", "x", "--client-secret-file", "-"],
    );
    assert_ends(&nowhere, 7, "can't be reached");
    assert!(!user.path("").exists(), "something is kept");
}

#[test]
fn a_client_with_few_rights_is_signed_in_with_a_note() {
    let setup = Setup::sqlite();
    let server = setup.serve();
    let user = User::new(&setup, &server);
    let output = user.sign_in(&client(&setup, "access:verify"), &[]);
    assert_ends(&output, 0, "doesn't allow reading the contracts of acme");
    assert!(user.session_path("default").exists());
}

#[test]
fn a_stored_token_is_sent_only_to_its_server() {
    let setup = Setup::sqlite();
    let server = setup.serve();
    let user = User::new(&setup, &server);
    let login = ["login", "--profile", "lab", "--url", &server.url, "--with-token"];
    let output = user.run_with("not-a-token\n", &[&login[..], &["--tenant", "acme"]].concat());
    assert_ends(&output, 4, "nothing is stored");
    assert!(!user.path("").exists(), "something is kept");

    let old = setup.run(&["token", "--tenant", "acme", "--scope", "access:read", "--ttl", "1s"]);
    let old = String::from_utf8(old.stdout).unwrap();
    let began = std::time::Instant::now();
    loop {
        let output = user.run_with(&old, &login);
        if output.status.code() == Some(4) {
            assert_ends(&output, 4, "the token has expired; nothing is stored");
            break;
        }
        user.run(&["logout", "--profile", "lab"]);
        assert!(began.elapsed().as_secs() < 60, "it never expires");
    }
    assert_ends(&user.run(&["login", "--token", "x", "--url", &server.url]), 2, "--with-token");

    let output = user.run_with(&format!("{}\n", server.token), &login);
    assert_ends(&output, 0, "this token can't be renewed");
    assert_ends(&output, 0, "no tenant is known");
    assert!(!printed(&output).contains(&server.token));
    user.assert_looks(&["--profile", "lab"]);
    let elsewhere = user.look(&["--profile", "lab", "--url", "http://127.0.0.1:1"]).output();
    assert_ends(&elsewhere.unwrap(), 4, &format!("signed in at {}", server.url));

    user.expire("lab");
    let output = user.look(&["--profile", "lab"]).output().unwrap();
    assert_ends(&output, 4, "can't be renewed");
    assert_ends(&output, 4, "gatehouse login --profile lab --with-token");
    let mut with_token = user.look(&["--profile", "lab"]);
    let output = with_token.env("GATEHOUSE_TOKEN", &server.token).output().unwrap();
    assert_ends(&output, 0, "0 would change");
}

#[test]
fn a_file_that_others_can_read_is_not_used() {
    let setup = Setup::sqlite();
    let server = setup.serve();
    let user = User::new(&setup, &server);
    let client = client(&setup, "access:read admin");
    assert_ends(&user.sign_in(&client, &[]), 0, "signed in");
    let path = user.session_path("default");
    std::fs::set_permissions(&path, std::fs::Permissions::from_mode(0o640)).unwrap();
    let output = user.look(&[]).output().unwrap();
    assert_ends(&output, 4, "0640");
    assert_ends(&output, 4, "chmod 600");
    assert_ends(&user.run(&["profile", "list"]), 0, "0640");
    assert_ends(&user.sign_in(&client, &[]), 0, "signed in");
    assert_eq!(mode(&path), 0o600);
    user.assert_looks(&[]);
    std::fs::write(&path, "{").unwrap();
    assert_ends(&user.look(&[]).output().unwrap(), 2, "is not what `gatehouse login` wrote");
    assert_ends(&user.run(&["logout"]), 0, "signed out");
}

#[test]
fn profiles_are_listed_chosen_and_left_as_people_wrote_them() {
    let setup = Setup::sqlite();
    let server = setup.serve();
    let user = User::new(&setup, &server);
    assert_ends(&user.run(&["profile", "list"]), 0, "there is no profile");
    assert_ends(&user.run(&["profile", "use", "prod"]), 2, "no profile `prod`");
    let mine = "# mine\n[profiles.prod] # the real one\nurl = 'https://gatehouse.example'\n";
    std::fs::create_dir_all(user.path("")).unwrap();
    std::fs::write(user.path("elsewhere.toml"), mine).unwrap();
    std::os::unix::fs::symlink("elsewhere.toml", user.path("config.toml")).unwrap();
    let client = client(&setup, "access:read admin");
    let more = ["--profile", "lab", "--tenant", "acme"];
    assert_ends(&user.sign_in(&client, &more), 0, "profile `lab`");
    assert_ends(&user.run(&["profile", "use", "lab"]), 0, "`lab` is the default now");
    let config = std::fs::read_to_string(user.path("config.toml")).unwrap();
    assert!(config.contains(mine.strip_prefix("# mine\n").unwrap()), "{config}");
    assert!(config.contains("# mine\n") && config.contains("default = \"lab\"\n"), "{config}");
    assert!(user.path("config.toml").is_symlink(), "a symbolic link stays one");
    user.assert_looks(&[]);

    let output = user.run(&["profile", "list", "--output", "json"]);
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
    let table = printed(&user.run(&["profile", "list"]));
    let lines: Vec<_> = table.lines().map(|it| it.split_whitespace().collect::<Vec<_>>()).collect();
    assert_eq!(lines[0].join(" "), "NAME DEFAULT URL TENANT SIGNED IN");
    assert_eq!(lines[1].join(" "), format!("lab * {} acme yes, renewed by itself", server.url));
    assert_eq!(lines[2].join(" "), "prod https://gatehouse.example —");
    let csv = printed(&user.run(&["profile", "list", "--output", "csv"]));
    assert!(csv.starts_with("name,isDefault,url,tenant,signedIn"), "{csv}");

    assert_ends(&user.run(&["logout", "--profile", "prod"]), 0, "not signed in");
    assert_ends(&user.run(&["logout"]), 0, "profile `lab`: signed out");
    assert!(!user.session_path("lab").exists());
    assert_ends(&user.look(&[]).output().unwrap(), 4, "not signed in");
    for profile in ["a", "b"] {
        assert_ends(&user.sign_in(&client, &["--profile", profile]), 0, "signed in");
    }
    let shown = printed(&user.run(&["logout", "--all"]));
    assert!(shown.contains("`a`: signed out") && shown.contains("`b`: signed out"), "{shown}");
    assert_ends(&user.run(&["logout", "--all"]), 0, "no profile is signed in");
}

#[test]
fn a_faulty_profiles_file_is_reported_and_unchanged() {
    let setup = Setup::sqlite();
    let server = setup.serve();
    let user = User::new(&setup, &server);
    let client = client(&setup, "access:read admin");
    std::fs::create_dir_all(user.path("")).unwrap();
    for (text, expected) in [
        ("[profiles.a\n", "config.toml has a fault"),
        ("profiles = 3\n", "invalid type"),
        ("[profiles.a]\ntoken = 'x'\n", "unknown field `token`"),
    ] {
        std::fs::write(user.path("config.toml"), text).unwrap();
        assert_ends(&user.look(&[]).output().unwrap(), 2, expected);
        assert_ends(&user.sign_in(&client, &[]), 2, expected);
        assert_ends(&user.run(&["profile", "list"]), 2, expected);
        assert_eq!(std::fs::read_to_string(user.path("config.toml")).unwrap(), text);
    }
    std::fs::write(user.path("config.toml"), "default = 'gone'\n").unwrap();
    assert_ends(&user.look(&[]).output().unwrap(), 2, "there is no profile `gone`");
    assert_ends(&user.look(&["--profile", "nobody"]).output().unwrap(), 2, "no profile `nobody`");
}

/// Whether a terminal echoes typed characters.
fn echoes_input(terminal: &impl std::os::fd::AsFd) -> bool {
    let stdin = terminal.as_fd().try_clone_to_owned().unwrap();
    let output = Command::new("stty").arg("-a").stdin(stdin).output().unwrap();
    let settings = String::from_utf8(output.stdout).unwrap();
    assert!(settings.contains("echo"), "{settings}");
    !settings.split_whitespace().any(|it| it == "-echo")
}

#[test]
fn a_typed_secret_is_not_echoed() {
    let setup = Setup::sqlite();
    let server = setup.serve();
    let user = User::new(&setup, &server);
    let client = client(&setup, "access:read admin");
    let mut command = setup.command(&["login", "--url", &server.url, "--client-id", &client.id]);
    command.env("XDG_CONFIG_HOME", user.home.path());
    let (mut terminal, inside) = pty_process::blocking::open().unwrap();
    let command = pty_process::blocking::Command::from(command);
    let mut child = command.spawn(inside).unwrap();
    let mut seen = Vec::new();
    let mut bytes = [0; 1024];
    let mut is_typed = false;
    // Reading a terminal whose other side is closed is an error.
    while let Ok(n @ 1..) = terminal.read(&mut bytes) {
        seen.extend_from_slice(&bytes[..n]);
        if !is_typed && String::from_utf8_lossy(&seen).contains("Secret of ") {
            let began = std::time::Instant::now();
            while echoes_input(&terminal) {
                assert!(began.elapsed().as_secs() < 60, "what is typed is shown");
            }
            writeln!(terminal, "{}", client.secret).unwrap();
            is_typed = true;
        }
    }
    let (ended, seen) = (child.wait().unwrap(), String::from_utf8_lossy(&seen).into_owned());
    assert!(ended.success() && seen.contains("signed in at"), "{seen}");
    assert!(!seen.contains(&client.secret), "{seen}");
    user.assert_looks(&[]);
}

/// A sign-in that waits for a user with a browser.
struct Waiting {
    child: Child,
    stderr: BufReader<ChildStderr>,
    shown: String,
    user_code: String,
}

impl Waiting {
    fn start(user: &User<'_>, arguments: &[&str]) -> Self {
        let mut command = user.command(&[&["login", "-v"], arguments].concat());
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

    /// Waits for the end: the exit code, and all output.
    fn end(mut self) -> (Option<i32>, String) {
        self.stderr.read_to_string(&mut self.shown).unwrap();
        let output = self.child.wait_with_output().unwrap();
        (output.status.code(), self.shown + &String::from_utf8_lossy(&output.stdout))
    }
}

#[tokio::test]
async fn a_person_signs_in_with_a_browser_and_stays_signed_in() {
    let (setup, issuer) = (Setup::sqlite(), Issuer::start());
    let server = issuer.serve(&setup, "fleet");
    let user = User::new(&setup, &server);
    let login = ["--url", &server.url, "--issuer", &issuer.url, "--tenant", "acme"];
    let waiting = Waiting::start(&user, &[&login[..], &["--scope", "access:read admin"]].concat());
    let code = waiting.user_code.clone();
    let uri = format!("{}/device\n", issuer.url);
    assert!(waiting.shown.contains(&uri), "{}", waiting.shown);
    assert!(waiting.shown.contains(&format!("/device?user_code={code}")), "{}", waiting.shown);
    issuer.tell(&format!("approve?user_code={code}")).await;
    let (ended, shown) = waiting.end();
    assert!(ended == Some(0) && shown.contains("signed in at"), "{shown}");
    assert!(shown.contains(r#""device_code":"***""#), "{shown}");
    for secret in user.secrets("default") {
        assert!(!shown.contains(&secret), "a secret is shown: {shown}");
    }
    let refresh =
        || user.session("default")["renewal"]["refreshToken"].as_str().unwrap().to_owned();
    let first = refresh();
    user.assert_looks(&[]);
    assert_eq!(refresh(), first, "a good token is not renewed");

    // The issuer accepts each refresh token once, and revokes the session if one comes twice.
    for _ in 0..2 {
        let earlier = refresh();
        user.expire("default");
        let shown = user.assert_looks(&["-v"]);
        assert!(shown.contains(r#""refresh_token":"***""#), "{shown}");
        assert!(!shown.contains(&earlier) && !shown.contains(&refresh()), "{shown}");
        assert_ne!(refresh(), earlier);
    }
    // Tokens that expire at once: every request of a command needs a new one.
    issuer.tell("lifetimes?token=20").await;
    user.expire("default");
    let before = issuer.tell("asked").await["tokens"].as_u64().unwrap();
    user.assert_looks(&[]);
    let after = issuer.tell("asked").await["tokens"].as_u64().unwrap();
    assert!(after >= before + 3, "{before} and {after}");
    issuer.tell("lifetimes?token=600").await;

    user.expire("default");
    let before = issuer.tell("asked").await["tokens"].as_u64().unwrap();
    let looks: Vec<_> = (0..4)
        .map(|_| {
            let mut look = user.look(&[]);
            look.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap()
        })
        .collect();
    for look in looks {
        assert_ends(&look.wait_with_output().unwrap(), 0, "0 would change");
    }
    let after = issuer.tell("asked").await["tokens"].as_u64().unwrap();
    assert_eq!(after, before + 1, "one of them renews the token for all");

    // An issuer that has revoked the session.
    let session = std::fs::read(user.session_path("default")).unwrap();
    // A session that others may have read is revoked, too.
    let open = std::fs::Permissions::from_mode(0o640);
    std::fs::set_permissions(user.session_path("default"), open).unwrap();
    let output = user.run(&["logout"]);
    assert_ends(&output, 0, "signed out");
    assert_ends(&output, 0, "has revoked the refresh token");
    let restored = user.session_path("default");
    std::fs::write(&restored, session).unwrap();
    std::fs::set_permissions(&restored, std::fs::Permissions::from_mode(0o600)).unwrap();
    user.expire("default");
    let output = user.look(&[]).output().unwrap();
    assert_ends(&output, 4, "invalid_grant");
    assert_ends(&output, 4, "gatehouse login --profile default");

    let waiting = Waiting::start(&user, &[]);
    issuer.tell(&format!("approve?user_code={}", waiting.user_code)).await;
    let (ended, shown) = waiting.end();
    assert!(ended == Some(0), "it is known where to sign in again: {shown}");
    user.assert_looks(&[]);
}

#[tokio::test]
async fn a_failed_sign_in_stores_nothing() {
    let (setup, issuer) = (Setup::sqlite(), Issuer::start());
    let server = issuer.serve(&setup, "another-service");
    let user = User::new(&setup, &server);
    let login = ["--url", &server.url, "--issuer", &issuer.url, "--tenant", "acme"];

    let waiting = Waiting::start(&user, &login);
    issuer.tell(&format!("deny?user_code={}", waiting.user_code)).await;
    let (ended, shown) = waiting.end();
    assert!(ended == Some(4) && shown.contains("denied"), "{ended:?} {shown}");

    issuer.tell("lifetimes?code=1").await;
    let (ended, shown) = Waiting::start(&user, &login).end();
    assert!(ended == Some(4) && shown.contains("the code has expired"), "{ended:?} {shown}");
    issuer.tell("lifetimes?code=600").await;

    let waiting = Waiting::start(&user, &login);
    issuer.tell(&format!("approve?user_code={}", waiting.user_code)).await;
    let (ended, shown) = waiting.end();
    assert!(ended == Some(4) && shown.contains("nothing is stored"), "{ended:?} {shown}");
    assert!(shown.contains("auth.issuers"), "{shown}");

    let other = format!("{}/", issuer.url);
    let output = user.run(&["login", "--url", &server.url, "--issuer", &other]);
    assert_ends(&output, 6, "calls itself");
    let unknown = [&["login"], &login[..], &["--client-id", "nobody"]].concat();
    assert_ends(&user.run(&unknown), 4, "invalid_client");
    assert!(!user.path("").exists(), "something is kept");
}

#[tokio::test]
async fn a_machine_signs_in_with_the_method_that_the_issuer_supports() {
    let (setup, issuer) = (Setup::sqlite(), Issuer::start());
    let server = issuer.serve(&setup, "fleet");
    let user = User::new(&setup, &server);
    for (id, secret, proof) in [
        ("robot", "secret-of-the-robot", "basic"),
        ("robot-by-form", "secret-of-the-other-robot", "form"),
    ] {
        std::fs::write(setup.path("secret"), format!("{secret}\n")).unwrap();
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
        let output = user.run(&login);
        assert_ends(&output, 0, "renewed by itself");
        let shown = printed(&output);
        for secret in user.secrets("default") {
            assert!(!shown.contains(&secret), "a secret is shown: {shown}");
        }
        assert_eq!(user.session("default")["renewal"]["proof"], proof);
        user.expire("default");
        issuer.tell("busy?answers=3").await;
        user.assert_looks(&[]);
        assert_ne!(user.session("default")["expiresAt"], LONG_AGO);
    }
    user.expire("default");
    issuer.tell("busy?answers=4").await;
    let output = user.look(&[]).output().unwrap();
    assert_ends(&output, 7, "the token can't be renewed");
    user.assert_looks(&[]);

    // Where nothing can be locked, client credentials get a token all the same.
    std::fs::remove_file(user.path("sessions/default.lock")).unwrap();
    std::fs::create_dir(user.path("sessions/default.lock")).unwrap();
    user.expire("default");
    user.assert_looks(&[]);
}
