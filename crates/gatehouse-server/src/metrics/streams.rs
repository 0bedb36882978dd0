//! Figures of streamed responses: concurrency, and how they ended.

use gatehouse_meter::{GaugeGuard, MetricSet};
use prometheus::{IntCounterVec, IntGauge};

/// Figures of streamed responses.
pub(crate) struct StreamMeter {
    in_flight: IntGauge,
    ended: IntCounterVec,
    endless: IntGauge,
}

/// Whether a streamed response has an end.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum StreamKind {
    /// A long response.
    Finite,
    /// Events, which a client follows for as long as it likes.
    Endless,
}

/// How a streamed response ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum StreamEnd {
    /// The client received all of it.
    Whole,
    /// The client disconnected or didn't read.
    Unread,
    /// The server failed to produce the rest.
    Failed,
}

impl StreamEnd {
    const ALL: [Self; 3] = [Self::Whole, Self::Unread, Self::Failed];

    fn label(self) -> &'static str {
        match self {
            Self::Whole => "whole",
            Self::Unread => "unread",
            Self::Failed => "failed",
        }
    }
}

impl StreamMeter {
    pub(super) fn new(metrics: &mut MetricSet) -> Self {
        let ended: IntCounterVec = metrics.counters(
            "gatehouse_http_streams_total",
            "Streamed responses that have ended",
            &["outcome"],
        );
        for end in StreamEnd::ALL {
            ended.with_label_values(&[end.label()]);
        }
        let in_flight =
            metrics.gauge("gatehouse_http_streams_in_flight", "Streamed responses in progress");
        let endless =
            metrics.gauge("gatehouse_event_streams", "Streams of events that clients follow");
        Self { in_flight, ended, endless }
    }

    /// Counts a streamed response until the guard is dropped.
    pub(crate) fn begin(&self, kind: StreamKind) -> StreamGuard<'_> {
        let (gauge, ended) = match kind {
            StreamKind::Finite => (&self.in_flight, Some(&self.ended)),
            // Every client ends it by leaving, which says nothing.
            StreamKind::Endless => (&self.endless, None),
        };
        StreamGuard { ended, _in_flight: GaugeGuard::new(gauge), end: StreamEnd::Unread }
    }
}

/// A streamed response in progress. If it is dropped early, the client didn't read it to the end.
pub(crate) struct StreamGuard<'m> {
    ended: Option<&'m IntCounterVec>,
    _in_flight: GaugeGuard,
    pub(crate) end: StreamEnd,
}

impl Drop for StreamGuard<'_> {
    fn drop(&mut self) {
        if let Some(ended) = self.ended {
            ended.with_label_values(&[self.end.label()]).inc();
        }
    }
}
