//! `/-/docs`: the OpenAPI document as a page, from files that lie inside the binary.
//!
//! The page is Swagger UI, which `build.rs` takes out of a package, and a few lines of our own. Its
//! addresses are relative, so it works under any `base_path`, and its policy allows nothing that this
//! server doesn't give out itself. Decision 0005.

use std::hash::{DefaultHasher, Hash, Hasher};

use bytes::Bytes;
use http::{HeaderName, StatusCode, header};

use super::call::Call;
use super::conditional;
use super::media::HTML;
use super::problem::Problem;
use super::reply::Reply;
use super::resource::{Answer, Need, Operation};

pub(super) const PAGE: Operation = Operation {
    method: "GET",
    id: "docs",
    summary: "This document, as a page for a browser",
    need: Need::Nothing,
    headers: &["If-None-Match"],
    answers: &[
        Answer {
            what: "The page",
            media_type: HTML,
            schema: Some("Page"),
            headers: &["ETag", "Cache-Control", "Content-Security-Policy"],
            ..Answer::BASE
        },
        Answer {
            status: 304,
            what: "The browser has it already",
            headers: &["ETag", "Cache-Control"],
            ..Answer::BASE
        },
    ],
    run: |call| Box::pin(page(call)),
    ..Operation::BASE
};

/// The same address with a slash: the page's relative addresses would lead astray from there.
pub(super) const PAGE_WITH_SLASH: Operation = Operation {
    method: "GET",
    id: "docsWithSlash",
    summary: "Leads to the page",
    is_listed: false,
    need: Need::Nothing,
    answers: &[Answer { status: 307, what: "The page is elsewhere", ..Answer::BASE }],
    run: |call| Box::pin(lead_to_page(call)),
    ..Operation::BASE
};

pub(super) const FILE: Operation = Operation {
    method: "GET",
    id: "docsFile",
    summary: "A file that the page needs",
    is_listed: false,
    need: Need::Nothing,
    answers: &[Answer { what: "The file", ..Answer::BASE }],
    run: |call| Box::pin(file(call)),
    ..Operation::BASE
};

/// Only what this server itself gives out, and no code or style inside the page. Swagger UI's style sheet
/// holds its pictures as `data:`.
const POLICY: &str = "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; \
    connect-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'";

const CONTENT_SECURITY_POLICY: HeaderName = header::CONTENT_SECURITY_POLICY;

/// A file inside the binary.
struct File {
    name: &'static str,
    media_type: &'static str,
    bytes: &'static [u8],
}

const THE_PAGE: File = File { name: "", media_type: HTML, bytes: include_bytes!("docs/page.html") };

macro_rules! unpacked {
    ($name:literal, $media_type:literal) => {
        File {
            name: $name,
            media_type: $media_type,
            bytes: include_bytes!(concat!(env!("OUT_DIR"), "/", $name)),
        }
    };
}

const FILES: [File; 7] = [
    File {
        name: "page.js",
        media_type: "text/javascript; charset=utf-8",
        bytes: include_bytes!("docs/page.js"),
    },
    File {
        name: "page.css",
        media_type: "text/css; charset=utf-8",
        bytes: include_bytes!("docs/page.css"),
    },
    unpacked!("swagger-ui-bundle.js", "text/javascript; charset=utf-8"),
    unpacked!("swagger-ui.css", "text/css; charset=utf-8"),
    unpacked!("favicon-32x32.png", "image/png"),
    unpacked!("LICENSE", "text/plain; charset=utf-8"),
    unpacked!("NOTICE", "text/plain; charset=utf-8"),
];

async fn page(call: Call) -> Result<Reply, Problem> {
    Ok(show(&call, &THE_PAGE))
}

async fn lead_to_page(call: Call) -> Result<Reply, Problem> {
    let page = format!("{}/-/docs", call.address.base());
    Ok(Reply::empty(StatusCode::TEMPORARY_REDIRECT).with(header::LOCATION, &page))
}

async fn file(call: Call) -> Result<Reply, Problem> {
    let name = call.params.get("file").unwrap_or_default();
    let file = FILES.iter().find(|file| file.name == name).ok_or_else(Problem::unknown_path)?;
    Ok(show(&call, file))
}

/// A file, unless the browser has it. It may keep it, and asks each time whether it is still the same:
/// another version of the server has other files under the same names.
fn show(call: &Call, file: &File) -> Reply {
    let etag = etag(file.bytes);
    let reply = if conditional::is_known(call.headers(), &etag) {
        Reply::empty(StatusCode::NOT_MODIFIED)
    } else {
        Reply::whole(StatusCode::OK, file.media_type, Bytes::from_static(file.bytes))
            .with(CONTENT_SECURITY_POLICY, POLICY)
            .with(header::X_CONTENT_TYPE_OPTIONS, "nosniff")
            .with(header::REFERRER_POLICY, "no-referrer")
    };
    reply.with(header::ETAG, &etag).with(header::CACHE_CONTROL, "no-cache")
}

fn etag(bytes: &[u8]) -> String {
    let mut hasher = DefaultHasher::new();
    bytes.hash(&mut hasher);
    format!("\"{:016x}\"", hasher.finish())
}
