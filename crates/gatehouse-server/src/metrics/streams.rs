//! The figures of answers that are made while they go out: how many at once, and how they ended.

use prometheus::core::Collector;
use prometheus::{IntCounterVec, IntGauge, Opts};

use super::SOUND;

/// The figures of streamed answers.
pub(crate) struct StreamMeter {
    under_way: IntGauge,
    ended: IntCounterVec,
}

/// How a streamed answer ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum StreamEnd {
    /// The client was given all of it.
    Whole,
    /// The client went away, or didn't read.
    Unread,
    /// It could not be made to its end.
    Failed,
}

impl StreamEnd {
    const ALL: [Self; 3] = [Self::Whole, Self::Unread, Self::Failed];

    fn word(self) -> &'static str {
        match self {
            Self::Whole => "whole",
            Self::Unread => "unread",
            Self::Failed => "failed",
        }
    }
}

impl StreamMeter {
    pub(super) fn new() -> Self {
        let ended = Opts::new(
            "gatehouse_http_streams_total",
            "Answers that were made while they went out, and have ended",
        );
        let ended = IntCounterVec::new(ended, &["outcome"]).expect(SOUND);
        for end in StreamEnd::ALL {
            ended.with_label_values(&[end.word()]);
        }
        let under_way = IntGauge::new(
            "gatehouse_http_streams_in_flight",
            "Answers that are being made while they go out",
        );
        Self { under_way: under_way.expect(SOUND), ended }
    }

    pub(super) fn collectors(&self) -> Vec<Box<dyn Collector>> {
        vec![Box::new(self.under_way.clone()), Box::new(self.ended.clone())]
    }

    /// Counts an answer that has begun to go out, until what this returns is dropped.
    pub(crate) fn begin(&self) -> StreamGuard<'_> {
        self.under_way.inc();
        StreamGuard { meter: self, end: StreamEnd::Unread }
    }
}

/// An answer that is going out. One that is dropped before its end was not read to it.
pub(crate) struct StreamGuard<'m> {
    meter: &'m StreamMeter,
    pub(crate) end: StreamEnd,
}

impl Drop for StreamGuard<'_> {
    fn drop(&mut self) {
        self.meter.under_way.dec();
        self.meter.ended.with_label_values(&[self.end.word()]).inc();
    }
}
