//! `/-/docs`: the OpenAPI document as a page, from files embedded in the binary (decision 0005).
//!
//! The page is Swagger UI, which `build.rs` takes out of a package, and a few lines of gatehouse's. Its URLs are
//! relative, so that it works under any `base_path`, and its content security policy allows only files from this server.

use http::{StatusCode, header};

use super::asset;
use crate::http::answer::media::HTML;
use crate::http::answer::problem::Problem;
use crate::http::answer::reply::Reply;
use crate::http::route::call::Call;
use crate::http::route::resource::{Need, Operation, ResponseSpec};

pub(in crate::http) const PAGE: Operation = Operation {
    method: "GET",
    id: "docs",
    summary: "This document, as a page for a browser",
    need: Need::Nothing,
    headers: &["If-None-Match"],
    responses: &[
        ResponseSpec {
            description: "The page",
            media_type: HTML,
            schema: Some("Page"),
            headers: &[
                "ETag",
                "Cache-Control",
                "Content-Security-Policy",
                "Vary",
                "Content-Encoding?",
            ],
            ..ResponseSpec::BASE
        },
        ResponseSpec {
            status: 304,
            description: "The browser has this version",
            headers: &["ETag", "Cache-Control", "Vary"],
            ..ResponseSpec::BASE
        },
    ],
    run: |call| Box::pin(page(call)),
    ..Operation::BASE
};

/// Redirects the URL with a slash, under which the page's relative URLs would be wrong.
pub(in crate::http) const PAGE_WITH_SLASH: Operation = Operation {
    method: "GET",
    id: "docsWithSlash",
    summary: "Redirects to the page",
    is_listed: false,
    need: Need::Nothing,
    responses: &[ResponseSpec {
        status: 307,
        description: "The page has another address",
        ..ResponseSpec::BASE
    }],
    run: |call| Box::pin(redirect_to_page(call)),
    ..Operation::BASE
};

pub(in crate::http) const FILE: Operation = Operation {
    method: "GET",
    id: "docsFile",
    summary: "A file that the page needs",
    is_listed: false,
    need: Need::Nothing,
    responses: &[ResponseSpec { description: "The file", ..ResponseSpec::BASE }],
    run: |call| Box::pin(file(call)),
    ..Operation::BASE
};

/// The content security policy: files only from this server, and no inline code or style. Swagger UI's style sheet has
/// its images as `data:`.
const POLICY: &str = "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; \
    connect-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'";

/// File of the page, which is served only as the page: its URLs are relative.
const PAGE_NAME: &str = "page.html";

async fn page(call: Call) -> Result<Reply, Problem> {
    show(&call, PAGE_NAME)
}

async fn redirect_to_page(call: Call) -> Result<Reply, Problem> {
    let page = format!("{}/-/docs", call.address.base());
    Ok(Reply::empty(StatusCode::TEMPORARY_REDIRECT).with(header::LOCATION, &page))
}

async fn file(call: Call) -> Result<Reply, Problem> {
    let name = call.params.get("file").filter(|name| *name != PAGE_NAME);
    show(&call, name.unwrap_or_default())
}

fn show(call: &Call, name: &str) -> Result<Reply, Problem> {
    Ok(asset::reply(call, asset::find(asset::DOCS, name)?, POLICY))
}
