//! Fuzz targets for requests to a simulated platform.

use http::Method;

use super::api::{self, Question};
use super::platform::Platform;
use super::profile::Profile;

/// Any request to a simulated platform is answered, and any body is a profile or says what is wrong with it.
pub(crate) fn request(bytes: &[u8]) {
    match Profile::default().changed(bytes) {
        Ok(profile) => {
            let shown = profile.to_json().to_string();
            assert_eq!(Profile::default().changed(shown.as_bytes()), Ok(profile));
        }
        Err(faults) => assert!(!faults.is_empty()),
    }
    let Ok(text) = std::str::from_utf8(bytes) else { return };
    let (path, query) = text.split_once('?').unwrap_or((text, ""));
    for platform in Platform::usual() {
        let question =
            Question { method: &Method::GET, path, query, authorization: Some("Bearer t") };
        let reply = api::answer(&platform, &Profile::default(), question);
        assert!(matches!(reply.status().as_u16(), 200 | 400 | 404), "{}", reply.status());
        let is_json = serde_json::from_slice::<serde_json::Value>(reply.body()).is_ok();
        assert!(is_json);
    }
}
