//! A request's span in a trace (W3C Trace Context): read from its headers, and passed on with responses and requests.
//!
//! If traces are exported, the request's span is recorded. If not, the server still honours a client's trace: its id is
//! in the log, in the response and in outgoing requests.

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
    /// The span of this task's request, if spans are not recorded.
    static SPAN_CONTEXT: SpanContext;
}

/// A request's span, if it has one.
#[derive(Clone)]
pub(crate) struct Trace {
    span: Span,
    /// The recorded span, if traces are exported.
    context: Context,
    span_context: Option<SpanContext>,
}

/// Attributes of a request's span.
pub(crate) struct RequestAttributes<'t> {
    pub(crate) method: &'t Method,
    pub(crate) scheme: &'t str,
    pub(crate) route: &'static str,
    pub(crate) status: StatusCode,
    pub(crate) tenant: Option<&'t str>,
    pub(crate) correlation_id: &'t str,
}

impl Trace {
    /// Starts a request's span, as a child of the client's span if the headers name one.
    pub(crate) fn begin(headers: &HeaderMap) -> Self {
        let parent = parent(headers);
        let span = tracing::info_span!(parent: None, "request", otel.kind = "server");
        if span.is_disabled() {
            let span_context = parent.map(|parent| {
                let id = SpanId::from_bytes(random::bytes());
                let state = parent.trace_state().clone();
                SpanContext::new(parent.trace_id(), id, parent.trace_flags(), false, state)
            });
            return Self { span, context: Context::new(), span_context };
        }
        if let Some(parent) = parent {
            // Fails only for a span that has started or is not recorded.
            let _ = span.set_parent(Context::new().with_remote_span_context(parent));
        }
        let context = span.context();
        let span_context =
            Some(context.span().span_context().clone()).filter(SpanContext::is_valid);
        Self { span, context, span_context }
    }

    /// Runs work inside the span.
    pub(crate) async fn run<Work: Future>(&self, work: Work) -> Work::Output {
        let work = work.instrument(self.span.clone());
        match &self.span_context {
            Some(span_context) => SPAN_CONTEXT.scope(span_context.clone(), work).await,
            None => work.await,
        }
    }

    /// The trace id, for the log.
    pub(crate) fn id(&self) -> Option<String> {
        self.span_context.as_ref().map(|span_context| span_context.trace_id().to_string())
    }

    /// Adds the span's `traceparent` to a response.
    pub(crate) fn write_header(&self, headers: &mut HeaderMap) {
        if let Some(span_context) = &self.span_context {
            headers.insert(TRACEPARENT, traceparent(span_context));
        }
    }

    /// Records the request's attributes.
    pub(crate) fn record(&self, request: &RequestAttributes<'_>) {
        let span = self.context.span();
        if !span.is_recording() {
            return;
        }
        let method = method_label(request.method);
        // Names of OpenTelemetry's semantic conventions.
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

/// Headers that pass the current trace on with an outgoing request; none without a trace.
pub fn outgoing_headers() -> HeaderMap {
    let mut headers = HeaderMap::new();
    let context = Span::current().context();
    let current = context.span().span_context().clone();
    let span_context =
        if current.is_valid() { Some(current) } else { SPAN_CONTEXT.try_with(Clone::clone).ok() };
    if let Some(span_context) = span_context {
        headers.insert(TRACEPARENT, traceparent(&span_context));
        if let Some(state) = HeaderValue::from_str(&span_context.trace_state().header()).ok()
            && !state.is_empty()
        {
            headers.insert(TRACESTATE, state);
        }
    }
    headers
}

pub(crate) fn traceparent(span_context: &SpanContext) -> HeaderValue {
    let (trace, span) = (span_context.trace_id(), span_context.span_id());
    let flags = span_context.trace_flags() & TraceFlags::SAMPLED;
    let text = format!("00-{trace}-{span}-{:02x}", flags.to_u8());
    HeaderValue::from_str(&text).expect("hexadecimal digits are a header's value")
}

/// The client's span, if the headers name a valid one.
pub(crate) fn parent(headers: &HeaderMap) -> Option<SpanContext> {
    let mut given = headers.get_all(TRACEPARENT).iter();
    // Two values are ambiguous.
    let one = given.next().filter(|_| given.next().is_none())?.to_str().ok()?;
    let (trace, span, flags) = read_traceparent(one)?;
    let states = headers.get_all(TRACESTATE).iter().map(|it| it.to_str());
    let states = states.collect::<Result<Vec<_>, _>>().ok();
    // An unreadable state doesn't invalidate the trace.
    let state = states.and_then(|it| TraceState::from_str(&it.join(",")).ok());
    Some(SpanContext::new(trace, span, flags, true, state.unwrap_or_default()))
}

/// Parses `version-trace-parent-flags`, each in lower-case hexadecimal digits. A later version may append fields.
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
