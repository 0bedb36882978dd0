//! Starting the binary, sending requests, ending it.

use std::io::{BufRead, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitStatus, Output, Stdio};

use gatehouse_testing::{Signal, signal};
use reqwest::{Client, Method, Response};
use serde_json::Value;

pub(crate) const ESTATE: &str = r#"
tenants:
  - name: acme
    contracts:
      - { id: payg, productOfferingId: po-use, billingModel: PAY_PER_USE }
      - { id: payg-2, productOfferingId: po-use, billingModel: PAY_PER_USE }
      - { id: pre, productOfferingId: po-month, billingModel: PREPAID, validityPeriod: P30D }
"#;

pub(crate) const MASTER_KEY: &str =
    "00112233445566778899aabbccddeeff00112233445566778899aabbccddeeff";

/// A wait that is longer than this hangs, however busy the machine is.
pub(crate) const WAIT_LIMIT: std::time::Duration = std::time::Duration::from_secs(600);

/// A working directory with a store, for servers and commands.
pub(crate) struct Setup {
    pub(crate) kind: &'static str,
    pub(crate) dir: tempfile::TempDir,
    pub(crate) database_url: Option<String>,
    /// The master key of every process here, on PostgreSQL.
    pub(crate) master_key: String,
}

impl Setup {
    pub(crate) fn sqlite() -> Self {
        let (dir, master_key) = (tempfile::tempdir().unwrap(), MASTER_KEY.to_owned());
        let setup = Self { kind: "SQLite", dir, database_url: None, master_key };
        std::fs::write(setup.path("estate.yaml"), ESTATE).unwrap();
        setup
    }

    /// An empty PostgreSQL schema, named after the test.
    pub(crate) async fn postgres(test: &str) -> Self {
        let url = gatehouse_testing::empty_schema(&format!("e2e_{test}")).await;
        Self { kind: "PostgreSQL", database_url: Some(url), ..Self::sqlite() }
    }

    pub(crate) async fn each(test: &str) -> [Self; 2] {
        [Self::sqlite(), Self::postgres(test).await]
    }

    pub(crate) fn path(&self, name: &str) -> PathBuf {
        self.dir.path().join(name)
    }

    /// A command of the binary, in this directory, without our environment's variables.
    pub(crate) fn command(&self, arguments: &[&str]) -> Command {
        let binary = std::env::var_os("TEST_GATEHOUSE_BINARY")
            .unwrap_or_else(|| env!("CARGO_BIN_EXE_gatehouse").into());
        let mut command = Command::new(binary);
        for (name, _) in std::env::vars_os() {
            if name.to_string_lossy().starts_with("GATEHOUSE_") {
                command.env_remove(name);
            }
        }
        command.current_dir(self.dir.path()).args(arguments);
        // The tests' platforms are on this machine.
        command.env("GATEHOUSE_PLATFORMS__ALLOWED_NETWORKS", "127.0.0.0/8");
        if let Some(url) = &self.database_url {
            command
                .env("GATEHOUSE_DATABASE_URL", url)
                .env("GATEHOUSE_MASTER_KEY", &self.master_key);
        }
        command
    }

    pub(crate) fn run(&self, arguments: &[&str]) -> Output {
        self.command(arguments).output().unwrap()
    }

    /// Starts a server with the test's estate.
    pub(crate) fn serve(&self) -> Server {
        self.serve_with(&["--estate", "estate.yaml"])
    }

    /// Starts a server with the test's estate that allows any number of attempts with former passwords.
    pub(crate) fn serve_allowing_guesses(&self) -> Server {
        self.serve_set(&[("LIMITS__FAILED_CHECKS", "0")])
    }

    /// Starts a server with the test's estate and these settings, by their variables without `GATEHOUSE_`.
    pub(crate) fn serve_set(&self, settings: &[(&str, &str)]) -> Server {
        self.start(&["--estate", "estate.yaml"], settings)
    }

    pub(crate) fn serve_with(&self, more: &[&str]) -> Server {
        self.start(more, &[])
    }

    fn start(&self, more: &[&str], settings: &[(&str, &str)]) -> Server {
        let log =
            std::fs::File::options().create(true).append(true).open(self.path("log")).unwrap();
        self.start_to(log.into(), more, settings)
    }

    pub(crate) fn serve_to(&self, log: impl Into<Stdio>, more: &[&str]) -> Server {
        self.start_to(log.into(), more, &[])
    }

    fn start_to(&self, log: Stdio, more: &[&str], settings: &[(&str, &str)]) -> Server {
        let mut arguments = vec!["serve"];
        if !more.contains(&"--listen") {
            arguments.extend(["--listen", "127.0.0.1:0"]);
        }
        arguments.extend(more);
        let mut command = self.command(&arguments);
        for (name, value) in settings {
            command.env(format!("GATEHOUSE_{name}"), value);
        }
        self.start_as(command, log)
    }

    pub(crate) fn start_as(&self, mut command: Command, log: impl Into<Stdio>) -> Server {
        let mut child = command.stdout(Stdio::piped()).stderr(log).spawn().unwrap();
        let mut printed = String::new();
        let mut stdout = BufReader::new(child.stdout.take().unwrap());
        stdout.read_line(&mut printed).unwrap();
        let url = printed.trim().strip_prefix("listening on ").map(str::to_owned);
        let url = url.unwrap_or_else(|| panic!("it did not start: {printed} {}", self.log()));
        let client = Client::builder().timeout(WAIT_LIMIT).build().unwrap();
        let token =
            self.token("*", "access:read access:write access:verify product:read event:read admin");
        Server { child, url, client, token, stdout }
    }

    /// Creates a client of tenant `acme` at the command line; returns its identifier and secret.
    pub(crate) fn create_client(&self, scope: &str) -> (String, String) {
        let arguments =
            ["client", "create", "--tenant", "acme", "--output", "json", "--scope", scope];
        let client: serde_json::Value =
            serde_json::from_slice(&self.run(&arguments).stdout).unwrap();
        let text = |name: &str| client[name].as_str().unwrap().to_owned();
        (text("clientId"), text("clientSecret"))
    }

    pub(crate) fn token(&self, tenant: &str, scope: &str) -> String {
        let output = self.run(&["token", "--tenant", tenant, "--scope", scope]);
        assert!(output.status.success(), "{}", printed(&output));
        String::from_utf8(output.stdout).unwrap().trim().to_owned()
    }

    pub(crate) fn log(&self) -> String {
        std::fs::read_to_string(self.path("log")).unwrap_or_default()
    }
}

/// A command's output, of both streams.
pub(crate) fn printed(output: &Output) -> String {
    String::from_utf8_lossy(&output.stdout).into_owned() + &String::from_utf8_lossy(&output.stderr)
}

pub(crate) struct Server {
    child: Child,
    pub(crate) url: String,
    pub(crate) client: Client,
    pub(crate) token: String,
    pub(crate) stdout: BufReader<std::process::ChildStdout>,
}

impl Server {
    pub(crate) fn id(&self) -> u32 {
        self.child.id()
    }

    pub(crate) fn address(&self) -> &str {
        self.url.split_once("://").unwrap().1
    }

    /// The address of the operators' listener, from the server's output.
    pub(crate) fn operator_url(&mut self) -> String {
        let mut printed = String::new();
        self.stdout.read_line(&mut printed).unwrap();
        let url = printed.trim().strip_prefix("operator listening on ");
        url.unwrap_or_else(|| panic!("{printed}")).to_owned()
    }

    pub(crate) async fn ask(&self, method: Method, path: &str, body: Option<&str>) -> Response {
        let mut request = self
            .client
            .request(method.clone(), format!("{}{path}", self.url))
            .bearer_auth(&self.token);
        if let Some(body) = body {
            let kind = match method {
                Method::PATCH => "application/merge-patch+json",
                _ => "application/json",
            };
            request = request.header("content-type", kind).body(body.to_owned());
        }
        request.send().await.unwrap()
    }

    pub(crate) async fn json(
        &self,
        method: Method,
        path: &str,
        body: Option<&str>,
    ) -> (u16, Value) {
        let response = self.ask(method, path, body).await;
        (response.status().as_u16(), response.json().await.unwrap_or_default())
    }

    /// Ends it with `-9`, as a crash would.
    pub(crate) fn kill(mut self) {
        self.crash();
        self.child.wait().unwrap();
    }

    /// Kills it with `-9`, and doesn't wait.
    pub(crate) fn crash(&self) {
        signal(&self.child, Signal::KILL);
    }

    pub(crate) fn terminate(&self) {
        signal(&self.child, Signal::TERM);
    }

    pub(crate) fn wait(mut self) -> ExitStatus {
        self.child.wait().unwrap()
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        // A test that fails must not leave a server behind.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// Whether a file of this directory, or below, holds these bytes.
pub(crate) fn holds(dir: &Path, needle: &[u8]) -> bool {
    std::fs::read_dir(dir).unwrap().flatten().any(|entry| {
        if entry.path().is_dir() {
            return holds(&entry.path(), needle);
        }
        let bytes = std::fs::read(entry.path()).unwrap_or_default();
        bytes.windows(needle.len()).any(|window| window == needle)
    })
}

/// Waits until a condition holds; fails after a limit.
pub(crate) async fn until(what: &str, is_so: impl Fn() -> bool) {
    let began = std::time::Instant::now();
    while !is_so() {
        assert!(began.elapsed() < WAIT_LIMIT, "waited in vain: {what}");
        tokio::task::yield_now().await;
    }
}
