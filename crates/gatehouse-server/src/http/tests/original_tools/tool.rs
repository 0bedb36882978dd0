//! The tools that make password hashes, from the distribution's packages.

use std::fs;
use std::io::Write;
use std::process::{Command, Stdio};

/// A tool, and how it hashes.
pub(super) struct Tool {
    /// Name for messages.
    pub(super) name: &'static str,
    hash: fn(&[String]) -> Vec<String>,
}

impl Tool {
    /// The hashes of these passwords, in order.
    pub(super) fn hash(&self, passwords: &[String]) -> Vec<String> {
        (self.hash)(passwords)
    }
}

/// Every tool and every format, with low costs.
pub(super) const TOOLS: &[Tool] = &[
    Tool { name: "htpasswd", hash: |all| each(all, htpasswd) },
    Tool {
        name: "mkpasswd bcrypt",
        hash: |all| each(all, |it| run(&["mkpasswd", "-s", "-m", "bcrypt", "-R", "4"], it)),
    },
    Tool {
        name: "mkpasswd bcrypt-a",
        hash: |all| each(all, |it| run(&["mkpasswd", "-s", "-m", "bcrypt-a", "-R", "4"], it)),
    },
    Tool {
        name: "mkpasswd sha-512",
        hash: |all| each(all, |it| run(&["mkpasswd", "-s", "-m", "sha-512", "-R", "1000"], it)),
    },
    Tool { name: "openssl 5", hash: |all| lines(&["openssl", "passwd", "-5", "-stdin"], all) },
    Tool { name: "openssl 6", hash: |all| lines(&["openssl", "passwd", "-6", "-stdin"], all) },
    Tool { name: "mosquitto", hash: |all| mosquitto(&[], all) },
    Tool { name: "mosquitto old", hash: |all| mosquitto(&["-H", "sha512"], all) },
    Tool {
        name: "argon2id",
        hash: |all| {
            each(all, |it| {
                run(&["argon2", SALT, "-id", "-t", "2", "-k", "64", "-p", "2", "-e"], it)
            })
        },
    },
    Tool {
        name: "argon2i",
        hash: |all| each(all, |it| run(&["argon2", SALT, "-i", "-t", "1", "-k", "64", "-e"], it)),
    },
    Tool { name: "scrypt", hash: |all| python("hash.scrypt.using(rounds=4).hash(p)", all) },
    Tool {
        name: "passlib 256",
        hash: |all| python("hash.pbkdf2_sha256.using(rounds=50).hash(p)", all),
    },
    Tool {
        name: "passlib 512",
        hash: |all| python("hash.pbkdf2_sha512.using(rounds=50).hash(p)", all),
    },
    Tool { name: "django", hash: |all| python("django(p)", all) },
    Tool { name: "go-auth", hash: |all| python("go_auth(p)", all) },
    Tool { name: "phc", hash: |all| python("phc(p)", all) },
];

const SALT: &str = "a salt of 20 letters";

/// No package has mosquitto-go-auth's tool, and none writes PBKDF2 as PHC does: Python's own function hashes for both.
const PYTHON: &str = r"
import base64, hashlib, os, sys
from django.utils.crypto import get_random_string
from django.contrib.auth.hashers import PBKDF2PasswordHasher
from passlib import hash

def django(p):
    return PBKDF2PasswordHasher().encode(p, get_random_string(22), 50)

def go_auth(p):
    salt = os.urandom(16)
    made = hashlib.pbkdf2_hmac('sha512', p.encode(), salt, 50, 64)
    return 'PBKDF2$sha512$50$%s$%s' % (base64.b64encode(salt).decode(), base64.b64encode(made).decode())

def phc(p):
    salt = os.urandom(16)
    made = hashlib.pbkdf2_hmac('sha256', p.encode(), salt, 50, 32)
    short = [base64.b64encode(it).decode().rstrip('=') for it in (salt, made)]
    return '$pbkdf2-sha256$i=50,l=32$%s$%s' % tuple(short)

for line in sys.stdin.buffer.read().decode().split('\n'):
    p = line
    print(EXPRESSION)
";

fn each(passwords: &[String], hash: impl Fn(&str) -> String) -> Vec<String> {
    passwords.iter().map(|it| hash(it)).collect()
}

fn htpasswd(password: &str) -> String {
    let line = run(&["htpasswd", "-niB", "-C", "4", "user"], password);
    line.strip_prefix("user:").unwrap().to_owned()
}

/// The hashes of a tool that reads and writes a line for each password.
fn lines(words: &[&str], passwords: &[String]) -> Vec<String> {
    run(words, &passwords.join("\n")).lines().map(str::to_owned).collect()
}

/// The program that packages of the distribution belong to, whatever Python is in PATH.
fn python(expression: &str, passwords: &[String]) -> Vec<String> {
    lines(&["/usr/bin/python3", "-c", &PYTHON.replace("EXPRESSION", expression)], passwords)
}

/// `mosquitto_passwd` hashes a file of passwords in place.
fn mosquitto(flags: &[&str], passwords: &[String]) -> Vec<String> {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("passwd");
    let clear: String = passwords.iter().map(|it| format!("user:{it}\n")).collect();
    fs::write(&path, clear).unwrap();
    let words = [&["mosquitto_passwd"], flags, &["-U", path.to_str().unwrap()]].concat();
    run(&words, "");
    let hashed = fs::read_to_string(&path).unwrap();
    hashed.lines().map(|line| line.strip_prefix("user:").unwrap().to_owned()).collect()
}

/// Runs a tool with this input, and returns the output without its last line end.
fn run(words: &[&str], input: &str) -> String {
    let [program, arguments @ ..] = words else { panic!("no program") };
    let missing = |cause| {
        panic!(
            "{program} can't be run: {cause}; `cargo xtask test` installs it, with the other tools"
        )
    };
    let mut command = Command::new(program);
    command.args(arguments).stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut child = command.spawn().unwrap_or_else(missing);
    // Closed when it is dropped.
    child.stdin.take().unwrap().write_all(input.as_bytes()).unwrap();
    let output = child.wait_with_output().unwrap();
    let errors = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{words:?}: {errors}");
    String::from_utf8(output.stdout).unwrap().trim_end().to_owned()
}
