//! The PostgreSQL cluster under test: its primary, and how to kill it.

use std::path::PathBuf;
use std::process::Command;
use std::time::Duration;

use super::until;
use serde_json::Value;

/// Three nodes under Patroni, and a proxy that leads to the primary.
pub(crate) struct Cluster {
    directory: PathBuf,
    postgres: Vec<String>,
    patroni: Vec<String>,
    proxy: String,
    client: reqwest::Client,
}

impl Cluster {
    pub(crate) fn of_environment() -> Self {
        let setting = |name: &str| {
            std::env::var(name).unwrap_or_else(|_| {
                panic!("this test needs a cluster, and {name}: run `cargo xtask test --failover`")
            })
        };
        let list = |name: &str| setting(name).split(',').map(str::to_owned).collect();
        let client = reqwest::Client::builder().timeout(Duration::from_secs(2)).build().unwrap();
        Self {
            directory: setting("TEST_CLUSTER_DIRECTORY").into(),
            postgres: list("TEST_CLUSTER_POSTGRES"),
            patroni: list("TEST_CLUSTER_PATRONI"),
            proxy: setting("TEST_CLUSTER_PROXY"),
            client,
        }
    }

    /// The address of an empty schema, through the proxy.
    pub(crate) async fn behind_proxy(&self, schema: &str) -> String {
        let url = format!("postgres://gatehouse@{}/postgres", self.proxy);
        gatehouse_testing::execute(&url, &format!("CREATE SCHEMA {schema}")).await;
        format!("{url}?options=-c%20search_path%3D{schema}")
    }

    /// The address of an empty schema that names every node and asks for the writable one.
    pub(crate) async fn all_hosts(&self, schema: &str) -> String {
        self.behind_proxy(schema).await;
        format!(
            "postgres://gatehouse@{}/postgres?target_session_attrs=read-write\
             &options=-c%20search_path%3D{schema}",
            self.postgres.join(",")
        )
    }

    pub(crate) async fn primary(&self) -> Option<usize> {
        self.primary_but(usize::MAX).await
    }

    /// The present primary, if it isn't `other`.
    pub(crate) async fn primary_but(&self, other: usize) -> Option<usize> {
        for (node, patroni) in self.patroni.iter().enumerate().filter(|it| it.0 != other) {
            let answer = self.client.get(format!("http://{patroni}/primary")).send().await;
            if answer.is_ok_and(|it| it.status() == 200) {
                return Some(node);
            }
        }
        None
    }

    /// Waits until every node runs, and one of them follows the primary closely.
    pub(crate) async fn until_whole(&self) {
        until("every node runs", async || {
            let answer = self.client.get(format!("http://{}/cluster", self.patroni[0]));
            let cluster: Value = answer.send().await.ok()?.json().await.ok()?;
            let members = cluster["members"].as_array()?;
            let running = members.iter().filter(|it| {
                matches!(it["state"].as_str(), Some("running" | "streaming"))
                    && (it["role"] == "leader" || it["lag"].as_u64().is_some())
            });
            let has = |role: &str| members.iter().any(|it| it["role"] == role);
            let is_whole = running.count() == self.patroni.len();
            (is_whole && has("leader") && has("sync_standby")).then_some(())
        })
        .await;
    }

    /// Kills a node's PostgreSQL with all its processes. Patroni stays, as it would after a server's crash.
    pub(crate) fn kill(&self, node: usize) {
        let file = self.directory.join(format!("n{node}/data/postmaster.pid"));
        let text = std::fs::read_to_string(file).unwrap();
        let postmaster = text.lines().next().unwrap();
        let children = Command::new("ps").args(["-o", "pid=", "--ppid", postmaster]).output();
        let children = String::from_utf8(children.unwrap().stdout).unwrap();
        // A child may have ended meanwhile.
        let ids = children.split_whitespace();
        Command::new("kill").args(["-KILL", postmaster]).args(ids).output().unwrap();
    }
}
