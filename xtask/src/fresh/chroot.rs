//! Runs a command in the root directory of a bare Debian, and reads its output.

use std::env;
use std::fs;
use std::io::{BufRead, BufReader, Read};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitStatus, Stdio};
use std::sync::mpsc::{Receiver, Sender, channel};
use std::thread;

use crate::failure::Failure;

/// Script that mounts the usual file systems and devices, and runs the command.
const SCRIPT: &str = include_str!("chroot.sh");

/// The user who runs a command.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum User {
    Root,
    /// A user who may not become root.
    Ordinary,
}

impl User {
    pub(super) fn name(self) -> &'static str {
        match self {
            User::Root => "root",
            User::Ordinary => "visitor",
        }
    }

    pub(super) fn home(self) -> &'static str {
        match self {
            User::Root => "/root",
            User::Ordinary => "/home/visitor",
        }
    }
}

/// Network settings that a command gets.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Network {
    /// None: the command needs only the loopback interface.
    None,
    /// This machine's proxies, registries and certificates, for downloads.
    Registries,
}

/// Environment variables that name a proxy or a registry.
const REGISTRY_VARIABLES: [&str; 8] = [
    "http_proxy",
    "https_proxy",
    "no_proxy",
    "HTTP_PROXY",
    "HTTPS_PROXY",
    "NO_PROXY",
    "NPM_CONFIG_REGISTRY",
    "PIP_INDEX_URL",
];

/// Environment variables that name a file with certificates.
const CERTIFICATE_VARIABLES: [&str; 3] = ["SSL_CERT_FILE", "NODE_EXTRA_CA_CERTS", "PIP_CERT"];

/// A running command. Dropping it kills the command and its children.
#[derive(Debug)]
pub(super) struct ChrootCommand {
    process: Child,
    lines: Receiver<String>,
}

/// Result of a command that has ended.
#[derive(Debug)]
pub(super) struct FinishedCommand {
    pub(super) status: ExitStatus,
    /// Lines of standard output and standard error.
    pub(super) output: Vec<String>,
}

impl FinishedCommand {
    /// Fails if the command has failed.
    pub(super) fn check(&self, name: &str) -> Result<(), Failure> {
        Failure::check(name, self.status)
    }
}

impl ChrootCommand {
    pub(super) fn start(
        root: &Path,
        toolchain: &Path,
        user: User,
        network: Network,
        command: &str,
    ) -> Result<Self, Failure> {
        let variables = match network {
            Network::None => Vec::new(),
            Network::Registries => registry_variables(root)?,
        };
        eprintln!("xtask: in {}, as {}: {command}", root.display(), user.name());
        let mut process = isolated()
            .args(["sh", "-c", SCRIPT, "chroot"])
            .args([root, toolchain])
            .args([user.name(), user.home(), command])
            .args(variables)
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .map_err(|cause| Failure::Trouble(format!("cannot run unshare: {cause}")))?;
        let (sender, lines) = channel();
        forward_lines(process.stdout.take(), sender.clone());
        forward_lines(process.stderr.take(), sender);
        Ok(Self { process, lines })
    }

    /// Waits for the next line of output; `None` if the command has ended.
    pub(super) fn next_line(&mut self) -> Option<String> {
        self.lines.recv().ok()
    }

    /// Waits until the command ends.
    pub(super) fn finish(mut self) -> Result<FinishedCommand, Failure> {
        let output: Vec<String> = std::iter::from_fn(|| self.next_line()).collect();
        let status = self
            .process
            .wait()
            .map_err(|cause| Failure::Trouble(format!("cannot wait for a command: {cause}")))?;
        Ok(FinishedCommand { status, output })
    }
}

impl Drop for ChrootCommand {
    fn drop(&mut self) {
        // Its children are in its process namespace, and are killed with it.
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}

/// A command in new mount and process namespaces: everything that it mounts or starts ends with it, and it ends with
/// this process, however that ends.
pub(super) fn isolated() -> Command {
    let mut command = Command::new("setpriv");
    command.args(["--pdeathsig", "KILL", "unshare", "--mount", "--pid", "--fork", "--kill-child"]);
    command.arg("--mount-proc");
    command
}

/// Prints the lines of a pipe, and sends them to a channel.
fn forward_lines(pipe: Option<impl Read + Send + 'static>, lines: Sender<String>) {
    let Some(pipe) = pipe else { return };
    thread::spawn(move || {
        for line in BufReader::new(pipe).split(b'\n').map_while(Result::ok) {
            let line = String::from_utf8_lossy(&line).into_owned();
            eprintln!("{line}");
            // The receiver is gone if the command was dropped.
            let _ = lines.send(line);
        }
    });
}

/// Variables of [`Network::Registries`]. Certificates are copied to a directory that no package uses.
fn registry_variables(root: &Path) -> Result<Vec<String>, Failure> {
    let given = |name: &&str| env::var(name).is_ok_and(|value| !value.is_empty());
    let value = |name: &str| env::var(name).unwrap_or_default();
    let plain = REGISTRY_VARIABLES.into_iter().filter(given);
    let mut variables: Vec<String> = plain.map(|name| format!("{name}={}", value(name))).collect();
    for name in CERTIFICATE_VARIABLES.into_iter().filter(given) {
        let (from, to) = (value(name), PathBuf::from("/opt/registries").join(name));
        let copy = root.join(to.strip_prefix("/").unwrap_or(&to));
        let made = fs::create_dir_all(root.join("opt/registries"));
        made.and_then(|()| fs::copy(&from, copy))
            .map_err(|cause| Failure::Trouble(format!("{from}, which {name} names: {cause}")))?;
        variables.push(format!("{name}={}", to.display()));
    }
    Ok(variables)
}
