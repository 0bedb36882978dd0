//! Settings of the message broker NATS, to which all tenants' events go.

use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

/// Schemes of NATS servers' addresses.
const SCHEMES: [&str; 2] = ["nats://", "tls://"];

/// How to reach NATS. Without servers no events go there.
#[derive(Clone, Debug, Default, Deserialize, Serialize)]
#[serde(default, deny_unknown_fields)]
pub struct Nats {
    /// Addresses of the servers: `nats://…`, or `tls://…`.
    pub servers: Vec<String>,
    /// File with a user's JWT and key, as NATS's tools write it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub credentials: Option<PathBuf>,
    /// A user's name.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub user: Option<String>,
    /// File with the user's password.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub password_file: Option<PathBuf>,
    /// File with a token.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub token_file: Option<PathBuf>,
    /// File with the authorities of the servers' certificates, in PEM, besides the system's.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub authorities: Option<PathBuf>,
    /// File with gatehouse's own certificate, in PEM.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub certificate: Option<PathBuf>,
    /// File with the certificate's key, in PEM.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub key: Option<PathBuf>,
}

impl Nats {
    /// Whether there is nothing to print.
    pub(super) fn is_unset(&self) -> bool {
        self.servers.is_empty()
    }

    pub(super) fn check(&self) -> Result<(), String> {
        for server in &self.servers {
            let has_scheme = SCHEMES.iter().any(|it| server.starts_with(it));
            if !has_scheme || server.contains('@') {
                return Err(format!(
                    "events.nats.servers must be addresses such as `nats://nats.example:4222` or \
                     `tls://nats.example:4222`, without a password, not `{}`",
                    server.rsplit('@').next().unwrap_or_default()
                ));
            }
        }
        Ok(())
    }

    /// Checks settings that depend on one another, once all of them are read.
    pub(super) fn check_whole(&self) -> Result<(), String> {
        let others: Vec<&str> = self.others().collect();
        match (self.servers.is_empty(), others.first()) {
            (true, Some(first)) => {
                return Err(format!("events.nats.{first} needs events.nats.servers"));
            }
            (_, _) if self.user.is_some() != self.password_file.is_some() => {
                return Err("events.nats.user and events.nats.password_file need each other".into());
            }
            (_, _) if self.certificate.is_some() != self.key.is_some() => {
                return Err("events.nats.certificate and events.nats.key need each other".into());
            }
            _ => {}
        }
        let ways = [self.credentials.is_some(), self.user.is_some(), self.token_file.is_some()];
        if ways.iter().filter(|it| **it).count() > 1 {
            return Err("events.nats may have one of credentials, user and token_file".into());
        }
        Ok(())
    }

    /// Names of the settings that only servers give a meaning.
    fn others(&self) -> impl Iterator<Item = &'static str> {
        let is_set = |path: &Option<PathBuf>| path.is_some();
        [
            ("credentials", is_set(&self.credentials)),
            ("user", self.user.is_some()),
            ("password_file", is_set(&self.password_file)),
            ("token_file", is_set(&self.token_file)),
            ("authorities", is_set(&self.authorities)),
            ("certificate", is_set(&self.certificate)),
            ("key", is_set(&self.key)),
        ]
        .into_iter()
        .filter_map(|(name, is_set)| is_set.then_some(name))
    }

    /// The text of a file that a setting names.
    pub(crate) fn read_file(name: &str, path: &Path) -> Result<String, String> {
        std::fs::read_to_string(path)
            .map_err(|why| format!("events.nats.{name}: {}: {why}", path.display()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn settings_that_make_no_sense_are_refused() {
        for (text, expected) in [
            ("servers = ['nats://a:4222', 'tls://b']", ""),
            ("servers = ['a:4222']", "addresses such as"),
            ("servers = ['nats://ann:secret@a']", "without a password"),
            ("token_file = 'x'", "events.nats.token_file needs events.nats.servers"),
            ("servers = ['nats://a']\nuser = 'ann'", "need each other"),
            ("servers = ['nats://a']\ncertificate = 'x'", "need each other"),
            ("servers = ['nats://a']\ntoken_file = 'x'\ncredentials = 'y'", "one of"),
        ] {
            let nats: Nats = toml::from_str(text).unwrap();
            match nats.check().and_then(|()| nats.check_whole()) {
                Ok(()) => assert_eq!(expected, "", "{text}"),
                Err(why) => {
                    assert!(!expected.is_empty() && why.contains(expected), "{text}: {why}");
                    assert!(!why.contains("secret"), "{why}");
                }
            }
        }
    }
}
