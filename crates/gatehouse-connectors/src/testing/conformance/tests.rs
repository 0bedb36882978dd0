use std::sync::Arc;

use super::{Check, Suite, Verdict};
use crate::testing::recording::Recording;
use crate::{Manifest, Manifests};

async fn checks(name: &str, edit: impl Fn(&str) -> String) -> Vec<Check> {
    let manifests = Manifests::shipped();
    let text = edit(manifests.text(name).unwrap());
    let manifest = Manifest::parse(name, &text).unwrap_or_else(|faults| panic!("{faults}"));
    let recording = Recording::shipped(name).unwrap();
    Suite::with_recording(Arc::new(manifest), recording).run().await.unwrap()
}

fn failures(checks: &[Check]) -> Vec<String> {
    let failed = checks.iter().filter(|it| matches!(it.verdict, Verdict::Failed(_)));
    failed.map(ToString::to_string).collect()
}

#[tokio::test]
async fn every_shipped_manifest_passes_with_its_recording() {
    let manifests = Manifests::shipped();
    let all = manifests.all().map(|it| async {
        let name = it.name().to_string();
        let checks = checks(&name, str::to_owned).await;
        (name, checks)
    });
    for (name, checks) in futures_util::future::join_all(all).await {
        assert_eq!(failures(&checks), Vec::<String>::new(), "{name}");
        assert!(checks.len() > 25, "{name}: {}", checks.len());
    }
}

/// Asserts that a fault in a manifest fails a check.
async fn catches(name: &str, right: &str, faults: &str) {
    let edit = |text: &str| {
        assert!(text.contains(right), "{name} has no `{right}`");
        text.replace(right, faults)
    };
    let checks = checks(name, edit).await;
    assert!(!failures(&checks).is_empty(), "`{faults}` in {name} was not noticed");
}

#[tokio::test]
async fn a_wrong_first_page_is_noticed() {
    catches("1nce", "  by: number\n", "  by: number\n  first: 0\n").await;
    catches("starlink", "first: 0", "first: 1").await;
}

#[tokio::test]
async fn a_missing_total_is_noticed() {
    catches("1nce", "X-Total-Count", "X-Total").await;
    catches("telnyx", "$.meta.total_results", "$.meta.total").await;
}

#[tokio::test]
async fn a_check_digit_that_is_left_on_is_noticed() {
    catches("1nce", "{value|luhn_strip}", "{value}").await;
    catches("twilio", "{value|luhn_add}", "{value}").await;
}

#[tokio::test]
async fn a_page_that_is_too_large_is_noticed() {
    catches("1nce", "max: 100", "max: 1000").await;
    catches("soracom", "max: 100", "max: 1000").await;
}

#[tokio::test]
async fn a_search_wrongly_declared_exact_is_noticed() {
    catches("soracom", "match: partial", "match: exact").await;
}

#[tokio::test]
async fn a_wrong_status_translation_is_noticed() {
    catches("1nce", "Enabled: ACTIVE", "Enabled: SUSPENDED").await;
}

#[tokio::test]
async fn a_recording_of_another_platform_is_refused() {
    let manifests = Manifests::shipped();
    let manifest = Arc::clone(manifests.get("1nce").unwrap());
    let suite = Suite::with_recording(manifest, Recording::shipped("telnyx").unwrap());
    assert!(!failures(&suite.run().await.unwrap()).is_empty());
}
