//! `/-/docs`: the OpenAPI document as a page, from files that lie inside the binary.
//!
//! The page is Swagger UI, which `build.rs` takes out of a package, and a few lines of our own. Its
//! addresses are relative, so it works under any `base_path`, and its policy allows nothing that this
//! server doesn't give out itself. Decision 0005.

use http::{StatusCode, header};

use super::asset;
use crate::http::answer::media::HTML;
use crate::http::answer::problem::Problem;
use crate::http::answer::reply::Reply;
use crate::http::route::call::Call;
use crate::http::route::resource::{Answer, Need, Operation};

pub(in crate::http) const PAGE: Operation = Operation {
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
            headers: &[
                "ETag",
                "Cache-Control",
                "Content-Security-Policy",
                "Vary",
                "Content-Encoding?",
            ],
            ..Answer::BASE
        },
        Answer {
            status: 304,
            what: "The browser has it already",
            headers: &["ETag", "Cache-Control", "Vary"],
            ..Answer::BASE
        },
    ],
    run: |call| Box::pin(page(call)),
    ..Operation::BASE
};

/// The same address with a slash: the page's relative addresses would lead astray from there.
pub(in crate::http) const PAGE_WITH_SLASH: Operation = Operation {
    method: "GET",
    id: "docsWithSlash",
    summary: "Leads to the page",
    is_listed: false,
    need: Need::Nothing,
    answers: &[Answer { status: 307, what: "The page is elsewhere", ..Answer::BASE }],
    run: |call| Box::pin(lead_to_page(call)),
    ..Operation::BASE
};

pub(in crate::http) const FILE: Operation = Operation {
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

/// The page itself, which is found under no other name: its addresses are relative.
const PAGE_NAME: &str = "page.html";

async fn page(call: Call) -> Result<Reply, Problem> {
    show(&call, PAGE_NAME)
}

async fn lead_to_page(call: Call) -> Result<Reply, Problem> {
    let page = format!("{}/-/docs", call.address.base());
    Ok(Reply::empty(StatusCode::TEMPORARY_REDIRECT).with(header::LOCATION, &page))
}

async fn file(call: Call) -> Result<Reply, Problem> {
    let name = call.params.get("file").filter(|name| *name != PAGE_NAME);
    show(&call, name.unwrap_or_default())
}

fn show(call: &Call, name: &str) -> Result<Reply, Problem> {
    Ok(asset::show(call, asset::find(asset::DOCS, name)?, POLICY))
}
