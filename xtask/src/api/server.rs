//! The gatehouse server that the API tests send requests to: empty data, an estate, and a token with every scope.

use std::fs::File;
use std::io::{BufRead, BufReader, Read};
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdout, Command, Stdio};

use super::tools::settings_directory;
use crate::cargo;
use crate::failure::Failure;

/// Master key of the tested server: public, because the data is thrown away.
const MASTER_KEY: &str = "00112233445566778899aabbccddeeff00112233445566778899aabbccddeeff";

const EVERY_SCOPE: &str =
    "access:read access:write access:verify product:read event:read event:write admin";

/// A running gatehouse server. Dropping it stops the server.
#[derive(Debug)]
pub(crate) struct ApiServer {
    process: Child,
    /// Standard output of the server: kept open, so that the server can still write to it.
    _output: BufReader<ChildStdout>,
    url: String,
    /// A token for all tenants, with every scope.
    pub(crate) token: String,
    /// Identifier and secret of an OAuth client.
    pub(crate) client: (String, String),
    /// Path of the server's log.
    pub(crate) log: PathBuf,
}

impl ApiServer {
    /// Starts a server; returns when the server listens. `store` is the name of its directory.
    pub(crate) fn start(
        binary: &Path,
        store: &str,
        database_url: Option<&str>,
    ) -> Result<Self, Failure> {
        let directory = cargo::target_directory().join("api").join(store);
        let log = directory.join("log");
        cargo::recreate_directory(&directory)?;
        let file =
            File::create(&log).map_err(|cause| Failure::at_path(&log, "can't be made", cause))?;
        let command = |arguments: &[&str]| {
            let mut command = Command::new(binary);
            command.args(arguments).stdin(Stdio::null());
            for (name, _) in std::env::vars_os() {
                // The developer's own settings must not change the test.
                if name.to_string_lossy().starts_with("GATEHOUSE_") {
                    command.env_remove(name);
                }
            }
            command.env("GATEHOUSE_DATA_DIR", &directory);
            // Schemathesis sends batches as large as the limit allows, so the limit is low.
            command.env("GATEHOUSE_LIMITS__BATCH_ITEMS", "20");
            command.env("GATEHOUSE_PLATFORMS__ALLOWED_NETWORKS", "127.0.0.1");
            // Wrong passwords are part of the test, so they must not lock it out.
            command.env("GATEHOUSE_LIMITS__FAILED_CHECKS", "0");
            if let Some(url) = database_url {
                command.env("GATEHOUSE_DATABASE_URL", url).env("GATEHOUSE_MASTER_KEY", MASTER_KEY);
            }
            command
        };
        let not_run = |cause| Failure::Trouble(format!("cannot run {}: {cause}", binary.display()));
        let mut process = command(&["serve", "--listen", "127.0.0.1:0", "--estate"])
            .arg(settings_directory().join("estate.yaml"))
            .stdout(Stdio::piped())
            .stderr(file)
            .spawn()
            .map_err(not_run)?;
        let mut output = BufReader::new(process.stdout.take().expect("the output is a pipe"));
        let mut line = String::new();
        // The server prints its address or ends, so no timeout is needed.
        let _ = output.read_line(&mut line);
        let url = line.trim().strip_prefix("listening on ").unwrap_or_default().to_owned();
        let mut server = Self {
            process,
            _output: output,
            url,
            token: String::new(),
            client: Default::default(),
            log,
        };
        if server.url.is_empty() {
            let mut why = String::new();
            let _ = File::open(&server.log).and_then(|mut log| log.read_to_string(&mut why));
            return Err(Failure::Trouble(format!("the server did not start:\n{why}")));
        }
        let run = |what: &str, arguments: &[&str]| {
            let made =
                command(arguments).args(["--scope", EVERY_SCOPE]).output().map_err(not_run)?;
            if made.status.success() {
                return Ok(String::from_utf8_lossy(&made.stdout).trim().to_owned());
            }
            let why = String::from_utf8_lossy(&made.stderr);
            Err(Failure::Trouble(format!("no {what} could be made: {why}")))
        };
        server.token = run("token", &["token", "--tenant", "*", "--ttl", "24h"])?;
        let client = run("client", &["client", "create", "--tenant", "demo", "--output", "json"])?;
        let field = |name: &str| {
            let value = client.split(&format!("\"{name}\": \"")).nth(1)?.split('"').next()?;
            Some(value.to_owned())
        };
        let read = field("clientId").zip(field("clientSecret"));
        server.client = read.ok_or_else(|| {
            Failure::Trouble("`gatehouse client create` has printed no client".to_owned())
        })?;
        Ok(server)
    }

    /// URL of the server's OpenAPI document.
    pub(crate) fn document(&self) -> String {
        format!("{}/-/openapi.json", self.url)
    }
}

impl Drop for ApiServer {
    fn drop(&mut self) {
        // The data is thrown away, so an orderly stop isn't needed.
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}
