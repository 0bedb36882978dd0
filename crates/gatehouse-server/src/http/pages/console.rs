//! `/-/console/`: the web console, from files embedded in the binary.
//!
//! The console uses only the public API. Its URLs are relative, so that it works under any `base_path`. Its content
//! security policy allows only its own code, and connections only to this server and to the issuers for sign-in.

use std::collections::BTreeSet;

use http::{HeaderName, StatusCode, header};

use super::asset;
use crate::http::answer::media::HTML;
use crate::http::answer::problem::Problem;
use crate::http::answer::reply::Reply;
use crate::http::route::call::Call;
use crate::http::route::resource::{Need, Operation, ResponseSpec};

pub(in crate::http) const PAGE: Operation = Operation {
    method: "GET",
    id: "console",
    summary: "The console, a page for a browser",
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
                "Cross-Origin-Opener-Policy",
                "Vary",
                "Content-Encoding?",
            ],
            ..ResponseSpec::BASE
        },
        ResponseSpec {
            status: 304,
            description: "The browser has this version",
            headers: &["ETag", "Cache-Control", "Cross-Origin-Opener-Policy", "Vary"],
            ..ResponseSpec::BASE
        },
    ],
    run: |call| Box::pin(page(call)),
    ..Operation::BASE
};

/// Redirects the URL without a slash, under which the page's relative URLs would be wrong.
pub(in crate::http) const PAGE_WITHOUT_SLASH: Operation = Operation {
    method: "GET",
    id: "consoleWithoutSlash",
    summary: "Redirects to the console",
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
    id: "consoleFile",
    summary: "A file that the console needs",
    is_listed: false,
    need: Need::Nothing,
    responses: &[ResponseSpec { description: "The file", ..ResponseSpec::BASE }],
    run: |call| Box::pin(file(call)),
    ..Operation::BASE
};

/// Isolates the page from pages that it opens, and from pages that open it.
const CROSS_ORIGIN_OPENER_POLICY: HeaderName =
    HeaderName::from_static("cross-origin-opener-policy");

async fn page(call: Call) -> Result<Reply, Problem> {
    show(&call, "index.html")
}

async fn redirect_to_page(call: Call) -> Result<Reply, Problem> {
    let page = format!("{}/-/console/", call.address.base());
    Ok(Reply::empty(StatusCode::TEMPORARY_REDIRECT).with(header::LOCATION, &page))
}

async fn file(call: Call) -> Result<Reply, Problem> {
    show(&call, call.params.get("file").unwrap_or_default())
}

fn show(call: &Call, name: &str) -> Result<Reply, Problem> {
    let reply = asset::reply(call, asset::find(asset::CONSOLE, name)?, &policy(call));
    Ok(reply.with(CROSS_ORIGIN_OPENER_POLICY, "same-origin"))
}

/// The content security policy: files only from this server, no inline code or style, no text that becomes code, and
/// connections only to this server and to the issuers for sign-in.
fn policy(call: &Call) -> String {
    let endpoints = call.server.auth.sign_ins().into_iter().filter_map(|sign_in| sign_in.endpoints);
    let issuers: BTreeSet<String> =
        endpoints.flat_map(|endpoints| endpoints.origins().collect::<Vec<_>>()).collect();
    let origins: String = issuers.iter().map(|origin| format!(" {origin}")).collect();
    format!(
        "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; \
         connect-src 'self'{origins}; base-uri 'none'; form-action 'none'; frame-ancestors 'none'; \
         require-trusted-types-for 'script'"
    )
}
