//! Creations per transaction, by the servers' own metrics.

use crate::client::{self, Client};
use crate::failure::Failure;
use crate::server::Server;

/// Reads the servers' metrics.
pub(crate) struct GatherMetrics {
    /// An operator's token.
    pub(crate) token: String,
}

/// Creations so far, and their transactions.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(crate) struct CreationCounts {
    n_creations: f64,
    n_transactions: f64,
}

impl GatherMetrics {
    /// Sum over these servers.
    pub(crate) fn of(&self, servers: &[Server]) -> Result<CreationCounts, Failure> {
        let mut all = CreationCounts::default();
        for server in servers {
            let mut client = Client::connect(server.address())?;
            let answer = client.call(&client::get("/-/metrics", &self.token))?;
            let text = String::from_utf8_lossy(answer.body);
            let carried = read(&text).ok_or_else(|| {
                Failure::WrongAnswer(format!("{} no figures in {text}", answer.status))
            })?;
            all.n_creations += carried.n_creations;
            all.n_transactions += carried.n_transactions;
        }
        Ok(all)
    }
}

impl CreationCounts {
    /// Creations per transaction since an earlier reading.
    pub(crate) fn since(self, earlier: Self) -> f64 {
        (self.n_creations - earlier.n_creations) / (self.n_transactions - earlier.n_transactions)
    }
}

fn read(text: &str) -> Option<CreationCounts> {
    let figure = |name: &str| {
        let value = text.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix(' '))?;
        value.parse().ok()
    };
    Some(CreationCounts {
        n_creations: figure("gatehouse_store_gathered_creations_sum")?,
        n_transactions: figure("gatehouse_store_gathered_creations_count")?,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn metrics_are_found_among_others() {
        let text = "# TYPE gatehouse_store_gathered_creations histogram\n\
                    gatehouse_store_gathered_creations_bucket{le=\"1\"} 2\n\
                    gatehouse_store_gathered_creations_sum 30\n\
                    gatehouse_store_gathered_creations_count 4\n";
        let carried = read(text).unwrap();
        let earlier = CreationCounts { n_creations: 10.0, n_transactions: 2.0 };
        assert_eq!(carried.since(earlier), 10.0);
        assert_eq!(read("gatehouse_replicas 1\n"), None);
    }
}
