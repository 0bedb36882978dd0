//! Files of pages, embedded in the binary.
//!
//! `build.rs` embeds them and compresses the text files. A browser may cache a file but revalidates it each time:
//! another version of the server has other files under the same names.

use std::hash::{DefaultHasher, Hash, Hasher};

use bytes::Bytes;
use http::{StatusCode, header};

use crate::http::answer::negotiation::{prefers_gzip, vary};
use crate::http::answer::problem::Problem;
use crate::http::answer::reply::Reply;
use crate::http::route::call::Call;
use crate::http::route::conditional;

include!(concat!(env!("OUT_DIR"), "/assets.rs"));

pub(in crate::http) struct Asset {
    name: &'static str,
    media_type: &'static str,
    plain: Representation,
    /// The compressed file, if it is text.
    gzip: Option<Representation>,
}

/// One encoding of a file.
struct Representation {
    bytes: &'static [u8],
    /// Digest of the bytes, for the `ETag`.
    digest: u64,
}

pub(in crate::http) fn find(
    assets: &'static [Asset],
    name: &str,
) -> Result<&'static Asset, Problem> {
    assets.iter().find(|asset| asset.name == name).ok_or_else(Problem::unknown_path)
}

/// Response with a file under this content security policy; 304 if the browser has it.
pub(in crate::http) fn reply(call: &Call, asset: &'static Asset, policy: &str) -> Reply {
    let gzip = asset.gzip.as_ref().filter(|_| prefers_gzip(call.headers()));
    let representation = gzip.unwrap_or(&asset.plain);
    let etag = etag(representation, policy);
    let mut reply = if conditional::client_has(call.headers(), &etag) {
        Reply::empty(StatusCode::NOT_MODIFIED)
    } else {
        let bytes = Bytes::from_static(representation.bytes);
        let reply = Reply::whole(StatusCode::OK, asset.media_type, bytes)
            .with(header::CONTENT_SECURITY_POLICY, policy)
            .with(header::X_CONTENT_TYPE_OPTIONS, "nosniff")
            .with(header::REFERRER_POLICY, "no-referrer");
        match gzip {
            Some(_) => reply.with(header::CONTENT_ENCODING, "gzip"),
            None => reply,
        }
    };
    vary(&mut reply.headers, "Accept-Encoding");
    reply.with(header::ETAG, &etag).with(header::CACHE_CONTROL, "no-cache")
}

/// The `ETag` of these bytes under this policy. After a 304 a browser keeps its old policy, so another policy needs
/// another tag.
fn etag(representation: &Representation, policy: &str) -> String {
    let mut hasher = DefaultHasher::new();
    (representation.digest, policy).hash(&mut hasher);
    format!("\"{:016x}\"", hasher.finish())
}
