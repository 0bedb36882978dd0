//! Starts and stops the server program.

use std::ffi::OsStr;
use std::fs::File;
use std::io::{self, BufRead, BufReader};
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};

use rustix::process::{Pid, Signal, kill_process};

use crate::failure::Failure;
use crate::fleet::{CONTRACTS, OFFERINGS, TENANT, offering_of};

/// Master key of a database with the bench's own accesses alone.
pub(crate) const MASTER_KEY: &str =
    "00112233445566778899aabbccddeeff00112233445566778899aabbccddeeff";

/// Program, data directory and database of a server.
#[derive(Clone, Debug)]
pub(crate) struct Instance {
    pub(crate) binary: PathBuf,
    /// The data directory; on PostgreSQL, for the log alone.
    pub(crate) directory: PathBuf,
    pub(crate) database_url: Option<String>,
}

impl Instance {
    pub(crate) fn database_file(&self) -> PathBuf {
        self.directory.join("gatehouse.db")
    }

    /// Lets a server create the schema and the tenant with its contracts.
    pub(crate) fn initialize(&self) -> Result<(), Failure> {
        self.initialize_with(&estate_text())
    }

    /// Lets a server create the schema and the content of a setup file.
    pub(crate) fn initialize_with(&self, text: &str) -> Result<(), Failure> {
        let estate = self.directory.join("estate.yaml");
        std::fs::create_dir_all(&self.directory)
            .and_then(|()| std::fs::write(&estate, text))
            .map_err(|cause| Failure::Step(format!("{}: {cause}", self.directory.display())))?;
        self.start(&["--estate".as_ref(), estate.as_os_str()], None)?.stop()
    }

    /// Starts a server on this data.
    pub(crate) fn serve(&self) -> Result<Server, Failure> {
        self.serve_with(None)
    }

    /// Starts a server with one more environment variable.
    pub(crate) fn serve_with(&self, more: Option<(&str, &PathBuf)>) -> Result<Server, Failure> {
        self.start(&[], more)
    }

    /// Starts a server that writes nothing to the journals.
    pub(crate) fn serve_without_journal(&self) -> Result<Server, Failure> {
        self.start(&["--without-journal".as_ref()], None)
    }

    /// A token for the tenant's accesses, with these scopes.
    pub(crate) fn issue_token(&self, scopes: &str) -> Result<String, Failure> {
        self.issue_token_for(TENANT, scopes)
    }

    /// A token for a tenant, `*` for all, with these scopes.
    pub(crate) fn issue_token_for(&self, tenant: &str, scopes: &str) -> Result<String, Failure> {
        let mut command = self.command("token");
        command.args(["--tenant", tenant, "--scope", scopes, "--ttl", "12h"]);
        let output = command.stderr(Stdio::inherit()).output().map_err(|cause| {
            Failure::Step(format!("cannot run {}: {cause}", self.binary.display()))
        })?;
        match String::from_utf8(output.stdout) {
            Ok(token) if output.status.success() => Ok(token.trim().to_owned()),
            _ => Err(Failure::Step("`gatehouse token` made no token".to_owned())),
        }
    }

    fn start(&self, words: &[&OsStr], more: Option<(&str, &PathBuf)>) -> Result<Server, Failure> {
        let log = self.directory.join("log");
        let file = File::create(&log)
            .map_err(|cause| Failure::Step(format!("{}: {cause}", log.display())))?;
        let mut command = self.command("serve");
        command.envs(more);
        command.args(["--listen", "127.0.0.1:0", "--yardsticks"]).args(words);
        let child = command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(file).spawn();
        let child = child.map_err(|cause| {
            Failure::Step(format!("cannot run {}: {cause}", self.binary.display()))
        })?;
        let mut server = Server { child, address: String::new() };
        server.address = server.read_address().ok_or_else(|| {
            Failure::Step(format!("the server did not start; {} says why", log.display()))
        })?;
        Ok(server)
    }

    /// A command of the program, without settings from the environment.
    fn command(&self, name: &str) -> Command {
        let mut command = Command::new(&self.binary);
        for (variable, _) in std::env::vars_os() {
            if variable.to_string_lossy().starts_with("GATEHOUSE_") {
                command.env_remove(variable);
            }
        }
        command.current_dir(&self.directory).arg(name).arg("--data-dir").arg(&self.directory);
        command.env("GATEHOUSE_PLATFORMS__ALLOWED_NETWORKS", "127.0.0.1");
        if let Some(url) = &self.database_url {
            command.env("GATEHOUSE_DATABASE_URL", url).env("GATEHOUSE_MASTER_KEY", MASTER_KEY);
        }
        command
    }
}

/// A running server. Dropping it kills it, so that a failed measurement leaves none behind.
#[derive(Debug)]
pub(crate) struct Server {
    child: Child,
    address: String,
}

impl Server {
    pub(crate) fn address(&self) -> &str {
        &self.address
    }

    pub(crate) fn process_id(&self) -> i32 {
        self.child.id().cast_signed()
    }

    /// Stops the server, and waits for its end.
    pub(crate) fn stop(mut self) -> Result<(), Failure> {
        let asked =
            kill_process(Pid::from_child(&self.child), Signal::TERM).map_err(io::Error::from);
        let ended = asked.and_then(|_| self.child.wait());
        match ended {
            Ok(status) if status.success() => Ok(()),
            Ok(status) => Err(Failure::Step(format!("the server ended badly: {status}"))),
            Err(cause) => Err(Failure::Step(format!("the server can't be stopped: {cause}"))),
        }
    }

    /// The server's first line has its address.
    fn read_address(&mut self) -> Option<String> {
        let mut line = String::new();
        BufReader::new(self.child.stdout.take()?).read_line(&mut line).ok()?;
        line.trim().strip_prefix("listening on http://").map(str::to_owned)
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        // The server may have ended already.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

fn estate_text() -> String {
    let contracts = CONTRACTS.iter().enumerate().map(|(contract, id)| {
        let offering = OFFERINGS[offering_of(contract)];
        format!(
            "      - {{ id: {id}, productOfferingId: {offering}, billingModel: PAY_PER_USE }}\n"
        )
    });
    format!(
        "tenants:\n  - name: {TENANT}\n    labelKeys: [site, team, model]\n    contracts:\n{}",
        contracts.collect::<String>()
    )
}
