//! A request's place in a trace (W3C Trace Context): taken from its headers, given back with its answer,
//! and passed on with whatever is asked of others meanwhile.
//!
//! Where traces are exported, somebody listens to spans, and a request's span is its place. Where they
//! are not, a client's trace is honoured all the same: its identifier is in the log, goes back, and is
//! passed on.

use std::str::FromStr;

use gatehouse_vault::random;
use http::{HeaderMap, HeaderName, HeaderValue, Method, StatusCode};
use opentelemetry::trace::{
    SpanContext, SpanId, Status, TraceContextExt, TraceFlags, TraceId, TraceState,
};
use opentelemetry::{Context, KeyValue};
use tracing::{Instrument, Span};
use tracing_opentelemetry::OpenTelemetrySpanExt;

use crate::metrics::{UNKNOWN_ROUTE, method_label};

pub(crate) const TRACEPARENT: HeaderName = HeaderName::from_static("traceparent");
const TRACESTATE: HeaderName = HeaderName::from_static("tracestate");

tokio::task_local! {
    /// The place of the request that this task answers, where there are no spans.
    static PLACE: SpanContext;
}

/// A request's place in a trace, if it has one.
#[derive(Clone)]
pub(crate) struct Trace {
    span: Span,
    /// Holds the span as OpenTelemetry knows it, where somebody listens.
    context: Context,
    place: Option<SpanContext>,
}

/// What a trace tells about a request, beside its own parts.
pub(crate) struct RequestAttributes<'t> {
    pub(crate) method: &'t Method,
    pub(crate) scheme: &'t str,
    pub(crate) route: &'static str,
    pub(crate) status: StatusCode,
    pub(crate) tenant: Option<&'t str>,
    pub(crate) correlation_id: &'t str,
}

impl Trace {
    /// Begins a request's part of a trace: of its client's, where that names one.
    pub(crate) fn begin(headers: &HeaderMap) -> Self {
        let parent = parent(headers);
        let span = tracing::info_span!(parent: None, "request", otel.kind = "server");
        if span.is_disabled() {
            let place = parent.map(|parent| {
                let id = SpanId::from_bytes(random::bytes());
                let state = parent.trace_state().clone();
                SpanContext::new(parent.trace_id(), id, parent.trace_flags(), false, state)
            });
            return Self { span, context: Context::new(), place };
        }
        if let Some(parent) = parent {
            // It fails only for a span that has begun, or that nobody listens to.
            let _ = span.set_parent(Context::new().with_remote_span_context(parent));
        }
        let context = span.context();
        let place = Some(context.span().span_context().clone()).filter(SpanContext::is_valid);
        Self { span, context, place }
    }

    /// Does some work at this place.
    pub(crate) async fn run<Work: Future>(&self, work: Work) -> Work::Output {
        let work = work.instrument(self.span.clone());
        match &self.place {
            Some(place) => PLACE.scope(place.clone(), work).await,
            None => work.await,
        }
    }

    /// The trace's identifier, for the log.
    pub(crate) fn id(&self) -> Option<String> {
        self.place.as_ref().map(|place| place.trace_id().to_string())
    }

    /// Tells the client where in the trace its request was.
    pub(crate) fn write_header(&self, headers: &mut HeaderMap) {
        if let Some(place) = &self.place {
            headers.insert(TRACEPARENT, traceparent(place));
        }
    }

    /// Tells whoever looks at the trace what came of the request.
    pub(crate) fn record(&self, request: &RequestAttributes<'_>) {
        let span = self.context.span();
        if !span.is_recording() {
            return;
        }
        let method = method_label(request.method);
        // The words of OpenTelemetry's semantic conventions.
        let is_known = request.route != UNKNOWN_ROUTE;
        let name = method.unwrap_or("HTTP").to_owned();
        span.update_name(if is_known { format!("{name} {}", request.route) } else { name });
        span.set_attribute(KeyValue::new("http.request.method", method.unwrap_or("_OTHER")));
        span.set_attribute(KeyValue::new("url.scheme", request.scheme.to_owned()));
        if is_known {
            span.set_attribute(KeyValue::new("http.route", request.route));
        }
        let status = i64::from(request.status.as_u16());
        span.set_attribute(KeyValue::new("http.response.status_code", status));
        if let Some(tenant) = request.tenant {
            span.set_attribute(KeyValue::new("gatehouse.tenant", tenant.to_owned()));
        }
        let correlation_id = request.correlation_id.to_owned();
        span.set_attribute(KeyValue::new("gatehouse.correlation_id", correlation_id));
        if request.status.is_server_error() {
            span.set_status(Status::error(""));
        }
    }
}

/// The headers that carry the present trace on, for a request that we send ourselves; none where there
/// is no trace.
pub fn outgoing_headers() -> HeaderMap {
    let mut headers = HeaderMap::new();
    let context = Span::current().context();
    let here = context.span().span_context().clone();
    let place = if here.is_valid() { Some(here) } else { PLACE.try_with(Clone::clone).ok() };
    if let Some(place) = place {
        headers.insert(TRACEPARENT, traceparent(&place));
        if let Some(state) = HeaderValue::from_str(&place.trace_state().header()).ok()
            && !state.is_empty()
        {
            headers.insert(TRACESTATE, state);
        }
    }
    headers
}

pub(crate) fn traceparent(place: &SpanContext) -> HeaderValue {
    let (trace, span) = (place.trace_id(), place.span_id());
    let flags = place.trace_flags() & TraceFlags::SAMPLED;
    let text = format!("00-{trace}-{span}-{:02x}", flags.to_u8());
    HeaderValue::from_str(&text).expect("hexadecimal digits are a header's value")
}

/// The client's place, where its headers name one properly.
pub(crate) fn parent(headers: &HeaderMap) -> Option<SpanContext> {
    let mut given = headers.get_all(TRACEPARENT).iter();
    // Of two, nobody can say which is meant.
    let one = given.next().filter(|_| given.next().is_none())?.to_str().ok()?;
    let (trace, span, flags) = read_traceparent(one)?;
    let states = headers.get_all(TRACESTATE).iter().map(|it| it.to_str());
    let states = states.collect::<Result<Vec<_>, _>>().ok();
    // A state that can't be read doesn't spoil the trace.
    let state = states.and_then(|it| TraceState::from_str(&it.join(",")).ok());
    Some(SpanContext::new(trace, span, flags, true, state.unwrap_or_default()))
}

/// Reads `version-trace-parent-flags`, each in lower-case hexadecimal digits. A later version may say
/// more after that.
fn read_traceparent(text: &str) -> Option<(TraceId, SpanId, TraceFlags)> {
    let fields: Vec<&str> = text.split('-').collect();
    let [version, trace, span, flags, more @ ..] = &fields[..] else { return None };
    for (field, n_digits) in [(version, 2), (trace, 32), (span, 16), (flags, 2)] {
        let is_digit = |b: u8| b.is_ascii_digit() || (b'a'..=b'f').contains(&b);
        if field.len() != n_digits || !field.bytes().all(is_digit) {
            return None;
        }
    }
    if *version == "ff" || *version == "00" && !more.is_empty() {
        return None;
    }
    let trace = TraceId::from_hex(trace).ok().filter(|it| *it != TraceId::INVALID)?;
    let span = SpanId::from_hex(span).ok().filter(|it| *it != SpanId::INVALID)?;
    let flags = u8::from_str_radix(flags, 16).ok()?;
    Some((trace, span, TraceFlags::new(flags) & TraceFlags::SAMPLED))
}

#[cfg(test)]
mod tests;
