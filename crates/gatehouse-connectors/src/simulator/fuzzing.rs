//! Fuzz targets for requests to a simulated platform.

use http::Method;

use super::api::{self, RequestHead};
use super::platform::Platform;
use super::profile::Profile;

/// Any request gets a response, and any body is a profile or has faults.
pub(crate) fn request(bytes: &[u8]) {
    match Profile::default().with_changes(bytes) {
        Ok(profile) => {
            let shown = profile.to_json().to_string();
            assert_eq!(Profile::default().with_changes(shown.as_bytes()), Ok(profile));
        }
        Err(faults) => assert!(!faults.is_empty()),
    }
    let Ok(text) = std::str::from_utf8(bytes) else { return };
    let (path, query) = text.split_once('?').unwrap_or((text, ""));
    for platform in Platform::default_set() {
        let head =
            RequestHead { method: &Method::GET, path, query, authorization: Some("Bearer t") };
        let response = api::respond(&platform, &Profile::default(), head);
        assert!(matches!(response.status().as_u16(), 200 | 400 | 404), "{}", response.status());
        let is_json = serde_json::from_slice::<serde_json::Value>(response.body()).is_ok();
        assert!(is_json);
    }
}
