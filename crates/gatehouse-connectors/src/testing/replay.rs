//! Replays a recording: the same requests against the recorded responses.

use std::sync::Arc;
use std::time::Duration;

use parking_lot::Mutex;
use serde_json::Value;

use crate::connector::CallKind;
use crate::manifest::Manifest;
use crate::testing::one_account::OneAccount;
use crate::testing::recording::recorder::{BASE, send};
use crate::testing::recording::{RecordedCall, RecordedProduct, Recording};
use crate::testing::replay_platform::account_for;
use crate::testing::replay_platform::server::{ReceivedRequest, ReplayResponse, pairs, serve};

const TIME_LIMIT: Duration = Duration::from_secs(10);

/// Repeats the recorded requests against the recorded responses; returns all differences.
pub(crate) async fn replay(manifest: &Arc<Manifest>, recording: &Recording) -> Vec<String> {
    let unknown: Arc<Mutex<Vec<String>>> = Arc::default();
    let url: Arc<Mutex<String>> = Arc::default();
    let replayer = Replayer {
        recorded: recording.exchanges().cloned().collect(),
        variable: [manifest.time_parameters(), manifest.secret_parameters()].concat(),
        unknown: Arc::clone(&unknown),
        url: Arc::clone(&url),
    };
    let server = match serve(move |request| replayer.response(request).into()) {
        Ok(server) => server,
        Err(cause) => return vec![format!("no server can listen on this machine: {cause}")],
    };
    let base = server.url();
    url.lock().clone_from(&base);
    let account = account_for(manifest, recording, &base)
        .and_then(|access| OneAccount::open(manifest, &access, TIME_LIMIT, None));
    let account = match account {
        Ok(account) => account,
        Err(why) => return vec![why],
    };
    let mut differences = Vec::new();
    for step in &recording.conversation {
        let outcome = send(&account, manifest, &step.asked).await;
        let request = &step.asked;
        let unknown = std::mem::take(&mut *unknown.lock());
        differences.extend(unknown.iter().map(|it| {
            format!("asked for {request:?}: the recording has no answer to the call `{it}`")
        }));
        if let Some(failure) = outcome.failures.first() {
            differences.push(format!("asked for {request:?}: it failed: {}", failure.detail));
        }
        let actual: Vec<RecordedProduct> =
            outcome.connections.iter().map(|it| RecordedProduct::from(&**it)).collect();
        if actual.len() != step.products.len() {
            let n = step.products.len();
            differences.push(format!(
                "asked for {request:?}: {n} products were recorded, {} came",
                actual.len()
            ));
        } else if let Some((expected, came)) =
            step.products.iter().zip(&actual).find(|(a, b)| a != b)
        {
            differences
                .push(format!("asked for {request:?}: recorded was {expected:?}, {came:?} came"));
        }
    }
    differences
}

struct Replayer {
    recorded: Vec<RecordedCall>,
    /// Parameters that may differ.
    variable: Vec<String>,
    unknown: Arc<Mutex<Vec<String>>>,
    url: Arc<Mutex<String>>,
}

impl Replayer {
    fn response(&self, received: &ReceivedRequest) -> ReplayResponse {
        let request = format!("{} {}", received.method, received.target());
        let sent: Option<Value> = (!received.body.is_empty()).then(|| {
            serde_json::from_slice(&received.body).unwrap_or_else(|_| {
                Value::String(String::from_utf8_lossy(&received.body).into_owned())
            })
        });
        let recorded = self.recorded.iter().find(|recorded| {
            let is_log_in = recorded.kind == CallKind::Session;
            self.is_same(&recorded.request, &request) && (is_log_in || recorded.sent == sent)
        });
        let Some(recorded) = recorded else {
            self.unknown.lock().push(request);
            let message =
                serde_json::json!({ "message": "the recording has no answer to this call" });
            return ReplayResponse::json(400, &message);
        };
        let url = self.url.lock().clone();
        let headers = recorded
            .headers
            .iter()
            .filter_map(|(name, value)| Some((name.clone(), value.as_str()?.replace(BASE, &url))));
        let body = match &recorded.body {
            Value::Null => String::new(),
            body => body.to_string().replace(BASE, &url),
        };
        ReplayResponse { status: recorded.status, headers: headers.collect(), body: body.into() }
    }

    /// Whether two requests are the same, except for parameters that may differ.
    fn is_same(&self, recorded: &str, actual: &str) -> bool {
        let parts = |text: &str| {
            let (place, query) = text.split_once('?').unwrap_or((text, ""));
            let mut pairs = pairs(query);
            pairs.retain(|(name, _)| {
                let outer = name.split('[').next().unwrap_or_default();
                !self.variable.iter().any(|it| it == outer)
            });
            (place.to_owned(), pairs)
        };
        let recorded = match recorded.split_once("{settings.") {
            // The address of a setting is recorded as `{settings.NAME}`. Here it is this server's, below `/-NAME`.
            Some((method, rest)) => {
                format!("{method}/-{}", rest.replacen('}', "", 1))
            }
            None => recorded.to_owned(),
        };
        parts(&recorded) == parts(actual)
    }
}
