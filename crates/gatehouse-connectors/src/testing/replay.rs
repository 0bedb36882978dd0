//! Replays a recording: the same requests against the recorded responses.

use std::sync::Arc;
use std::time::Duration;

use parking_lot::Mutex;
use serde_json::Value;

use crate::connector::CallKind;
use crate::manifest::Manifest;
use crate::testing::one_account::OneAccount;
use crate::testing::recording::taking::{BASE, ask};
use crate::testing::recording::{Kept, KeptProduct, Recording};
use crate::testing::replay_platform::account_for;
use crate::testing::replay_platform::server::{Asked, Given, Reply, Serving, pairs};

/// Time limit of one request.
const PATIENCE: Duration = Duration::from_secs(10);

/// Repeats the recorded requests against the recorded responses; returns all differences.
pub(crate) async fn replay(manifest: &Arc<Manifest>, recording: &Recording) -> Vec<String> {
    let strange: Arc<Mutex<Vec<String>>> = Arc::default();
    let url: Arc<Mutex<String>> = Arc::default();
    let player = Player {
        kept: recording.exchanges().cloned().collect(),
        passing: [manifest.passing_parameters(), manifest.secret_parameters()].concat(),
        strange: Arc::clone(&strange),
        url: Arc::clone(&url),
    };
    let serving = match Serving::start(Arc::new(move |asked| player.answer(&asked))).await {
        Ok(serving) => serving,
        Err(cause) => return vec![format!("nobody can listen on this machine: {cause}")],
    };
    let base = format!("http://{}", serving.address());
    url.lock().clone_from(&base);
    let account = account_for(manifest, recording, &base)
        .and_then(|access| OneAccount::open(manifest, &access, PATIENCE, None));
    let account = match account {
        Ok(account) => account,
        Err(why) => return vec![why],
    };
    let mut wrong = Vec::new();
    for scene in &recording.conversation {
        let outcome = ask(&account, manifest, &scene.asked).await;
        let asked = &scene.asked;
        let strange = std::mem::take(&mut *strange.lock());
        wrong.extend(strange.iter().map(|it| {
            format!("asked for {asked:?}: the recording has no answer to the call `{it}`")
        }));
        if let Some(failure) = outcome.failures.first() {
            wrong.push(format!("asked for {asked:?}: it failed: {}", failure.detail));
        }
        let came: Vec<KeptProduct> =
            outcome.connections.iter().map(|it| KeptProduct::from(&**it)).collect();
        if came.len() != scene.products.len() {
            let n = scene.products.len();
            wrong.push(format!(
                "asked for {asked:?}: {n} products were recorded, {} came",
                came.len()
            ));
        } else if let Some((was, is)) = scene.products.iter().zip(&came).find(|(a, b)| a != b) {
            wrong.push(format!("asked for {asked:?}: recorded was {was:?}, {is:?} came"));
        }
    }
    wrong
}

struct Player {
    kept: Vec<Kept>,
    /// Parameters that may differ.
    passing: Vec<String>,
    strange: Arc<Mutex<Vec<String>>>,
    url: Arc<Mutex<String>>,
}

impl Player {
    fn answer(&self, asked: &Asked) -> Reply {
        let request = format!("{} {}", asked.method, asked.target());
        let sent: Option<Value> = (!asked.body.is_empty()).then(|| {
            serde_json::from_slice(&asked.body).unwrap_or_else(|_| {
                Value::String(String::from_utf8_lossy(&asked.body).into_owned())
            })
        });
        let kept = self.kept.iter().find(|kept| {
            let is_log_in = kept.kind == CallKind::Session;
            self.is_same(&kept.request, &request) && (is_log_in || kept.sent == sent)
        });
        let Some(kept) = kept else {
            self.strange.lock().push(request);
            let words =
                serde_json::json!({ "message": "the recording has no answer to this call" });
            return Reply::Answer(Given::json(400, &words));
        };
        let url = self.url.lock().clone();
        let headers = kept
            .headers
            .iter()
            .filter_map(|(name, value)| Some((name.clone(), value.as_str()?.replace(BASE, &url))));
        let body = match &kept.body {
            Value::Null => String::new(),
            body => body.to_string().replace(BASE, &url),
        };
        Reply::Answer(Given { status: kept.status, headers: headers.collect(), body: body.into() })
    }

    /// Whether two requests are the same, except for parameters that may differ.
    fn is_same(&self, kept: &str, came: &str) -> bool {
        let parts = |text: &str| {
            let (place, query) = text.split_once('?').unwrap_or((text, ""));
            let mut pairs = pairs(query);
            pairs.retain(|(name, _)| {
                let outer = name.split('[').next().unwrap_or_default();
                !self.passing.iter().any(|it| it == outer)
            });
            (place.to_owned(), pairs)
        };
        let kept = match kept.split_once("{settings.") {
            // Every address is this server's.
            Some((method, rest)) => {
                format!("{method}/-{}", rest.replacen('}', "", 1))
            }
            None => kept.to_owned(),
        };
        parts(&kept) == parts(came)
    }
}
