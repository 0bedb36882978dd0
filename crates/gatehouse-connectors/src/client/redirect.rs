//! Redirects: followed only where the account's credentials may go.

use http::Method;
use http::header::LOCATION;
use reqwest::Url;

use super::{HOST_BYTES_MAX, PlatformRequest, PlatformResponse};

pub(in crate::client) const REDIRECTS_MAX: usize = 3;

/// URL that a response redirects to, or why the redirect is not followed.
pub(in crate::client) fn next(
    request: &PlatformRequest,
    from: &Url,
    response: &PlatformResponse,
    n_before: usize,
) -> Result<Option<Url>, String> {
    let status = response.status.as_u16();
    if !matches!(status, 301 | 302 | 303 | 307 | 308) {
        return Ok(None);
    }
    let message = format!("the platform answered {status}");
    if request.method != Method::GET {
        return Err(format!("{message}: only redirects of GET requests are followed"));
    }
    let location = response.headers.get(LOCATION).and_then(|it| it.to_str().ok());
    let Some(mut next) = location.and_then(|it| from.join(it).ok()) else {
        return Err(format!("{message} without a valid `Location`"));
    };
    if next.origin() != from.origin() {
        // The host alone: the rest may hold secrets.
        let host = next.host_str().unwrap_or_default();
        let host = response.secrets.clean(host.as_bytes(), HOST_BYTES_MAX);
        return Err(format!(
            "{message} and leads to `{host}`, where the account's credentials must not go"
        ));
    }
    if n_before >= REDIRECTS_MAX {
        return Err(format!("{message} and redirects more than {REDIRECTS_MAX} times"));
    }
    // The headers hold the credentials, whatever user the redirect names.
    let is_plain = next.set_username("").is_ok() && next.set_password(None).is_ok();
    next.set_fragment(None);
    if is_plain { Ok(Some(next)) } else { Err(format!("{message} without a valid `Location`")) }
}
