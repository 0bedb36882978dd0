//! The files of pages, which lie inside the binary: how they are shown to browsers.
//!
//! `build.rs` takes them in and compresses those that are text. A browser may keep a file, and asks each time
//! whether it is still the same: another version of the server has other files under the same names.

use std::hash::{DefaultHasher, Hash, Hasher};

use bytes::Bytes;
use http::{StatusCode, header};

use crate::http::answer::negotiation::{prefers_gzip, vary};
use crate::http::answer::problem::Problem;
use crate::http::answer::reply::Reply;
use crate::http::route::call::Call;
use crate::http::route::conditional;

include!(concat!(env!("OUT_DIR"), "/assets.rs"));

/// A file of a page.
pub(in crate::http) struct Asset {
    name: &'static str,
    media_type: &'static str,
    plain: Representation,
    /// The same compressed, where it is text.
    gzip: Option<Representation>,
}

/// A file as it goes out.
struct Representation {
    bytes: &'static [u8],
    /// Tells these bytes from others.
    digest: u64,
}

/// The file that has this name.
pub(in crate::http) fn find(
    assets: &'static [Asset],
    name: &str,
) -> Result<&'static Asset, Problem> {
    assets.iter().find(|asset| asset.name == name).ok_or_else(Problem::unknown_path)
}

/// A file under this policy, unless the browser has it.
pub(in crate::http) fn show(call: &Call, asset: &'static Asset, policy: &str) -> Reply {
    let compressed = asset.gzip.as_ref().filter(|_| prefers_gzip(call.headers()));
    let form = compressed.unwrap_or(&asset.plain);
    let etag = etag(form, policy);
    let mut reply = if conditional::client_has(call.headers(), &etag) {
        Reply::empty(StatusCode::NOT_MODIFIED)
    } else {
        let reply = Reply::whole(StatusCode::OK, asset.media_type, Bytes::from_static(form.bytes))
            .with(header::CONTENT_SECURITY_POLICY, policy)
            .with(header::X_CONTENT_TYPE_OPTIONS, "nosniff")
            .with(header::REFERRER_POLICY, "no-referrer");
        match compressed {
            Some(_) => reply.with(header::CONTENT_ENCODING, "gzip"),
            None => reply,
        }
    };
    vary(&mut reply.headers, "Accept-Encoding");
    reply.with(header::ETAG, &etag).with(header::CACHE_CONTROL, "no-cache")
}

/// The tag of these bytes under this policy. A browser that is told that nothing has changed goes on with
/// the policy that it has, so another policy is another tag.
fn etag(form: &Representation, policy: &str) -> String {
    let mut hasher = DefaultHasher::new();
    (form.digest, policy).hash(&mut hasher);
    format!("\"{:016x}\"", hasher.finish())
}
