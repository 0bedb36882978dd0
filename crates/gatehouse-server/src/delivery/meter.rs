//! Figures of hubs. A tenant has few of them, and a server shows at most [`HUBS_MAX`].

use std::collections::BTreeSet;

use gatehouse_core::{HubId, TenantName};
use gatehouse_meter::MetricSet;
use gatehouse_store::Store;
use parking_lot::Mutex;
use prometheus::{IntCounterVec, IntGaugeVec};

/// Hubs that have series of their own. Messages of further ones are counted together.
const HUBS_MAX: u64 = 1000;

/// Labels of hubs without series of their own.
const OTHER: &str = "other";

const OUTCOMES: [&str; 2] = ["delivered", "failed"];

type Labels = (String, String);

/// Messages of this server, and how far all hubs are behind.
pub(crate) struct HubMeter {
    messages: IntCounterVec,
    behind: IntGaugeVec,
    waiting: IntGaugeVec,
    dead: IntGaugeVec,
    /// Hubs whose messages are counted.
    counted: Mutex<BTreeSet<Labels>>,
    /// Hubs that were there at the last measurement.
    measured: Mutex<BTreeSet<Labels>>,
    metrics: MetricSet,
}

impl Default for HubMeter {
    fn default() -> Self {
        let mut metrics = MetricSet::default();
        let labels = &["tenant", "hub"];
        Self {
            messages: metrics.counters(
                "gatehouse_hub_messages_total",
                "Messages that this server has sent to subscribers, by hub and outcome",
                &["tenant", "hub", "outcome"],
            ),
            behind: metrics.gauges(
                "gatehouse_hub_lag_events",
                "Events behind a hub's position, of whatever type",
                labels,
            ),
            waiting: metrics.gauges(
                "gatehouse_hub_waiting_events",
                "Events of a hub that wait for another attempt",
                labels,
            ),
            dead: metrics.gauges("gatehouse_hub_dead_letters", "Dead letters of a hub", labels),
            counted: Mutex::default(),
            measured: Mutex::default(),
            metrics,
        }
    }
}

impl HubMeter {
    pub(crate) fn metrics(&self) -> &MetricSet {
        &self.metrics
    }

    /// Counts a message.
    pub(super) fn count(&self, tenant: &TenantName, hub: HubId, is_delivered: bool) {
        let labels = (tenant.to_string(), hub.to_string());
        let has_series = {
            let mut counted = self.counted.lock();
            let has_room = (counted.len() as u64) < HUBS_MAX;
            counted.contains(&labels) || (has_room && counted.insert(labels.clone()))
        };
        let (tenant, hub) = match has_series {
            true => (labels.0.as_str(), labels.1.as_str()),
            false => (OTHER, OTHER),
        };
        let outcome = OUTCOMES[usize::from(!is_delivered)];
        self.messages.with_label_values(&[tenant, hub, outcome]).inc();
    }

    /// Looks how far hubs are behind, and removes the series of those that are gone.
    pub(crate) async fn measure(&self, store: &Store) {
        let Ok(backlogs) = store.hub_backlogs(HUBS_MAX).await else { return };
        let gauge = |n: u64| i64::try_from(n).unwrap_or(i64::MAX);
        let mut present = BTreeSet::new();
        for it in &backlogs {
            let (tenant, hub) = (it.tenant.to_string(), it.hub.to_string());
            let labels = [tenant.as_str(), hub.as_str()];
            self.behind.with_label_values(&labels).set(gauge(it.n_behind));
            self.waiting.with_label_values(&labels).set(gauge(it.n_waiting));
            self.dead.with_label_values(&labels).set(gauge(it.n_dead));
            present.insert((tenant, hub));
        }
        let before = std::mem::replace(&mut *self.measured.lock(), present.clone());
        for (tenant, hub) in before.difference(&present) {
            for series in [&self.behind, &self.waiting, &self.dead] {
                // Another measurement may have removed it.
                let _ = series.remove_label_values(&[tenant, hub]);
            }
        }
        if (backlogs.len() as u64) < HUBS_MAX {
            self.counted.lock().retain(|labels| {
                let is_present = present.contains(labels);
                if !is_present {
                    for outcome in OUTCOMES {
                        // An outcome that was never counted has no series.
                        let _ = self.messages.remove_label_values(&[&labels.0, &labels.1, outcome]);
                    }
                }
                is_present
            });
        }
    }
}
