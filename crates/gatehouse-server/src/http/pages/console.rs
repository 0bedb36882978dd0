//! `/-/console/`: the console, a page for people, from files that lie inside the binary.
//!
//! The page is a client of the API like any other and knows no way around it. Its addresses are relative, so
//! it works under any `base_path`, and its policy allows no code but its own, and no one to talk to but this
//! server and those that people sign in with.

use std::collections::BTreeSet;

use http::{HeaderName, StatusCode, header};

use super::asset;
use crate::http::answer::media::HTML;
use crate::http::answer::problem::Problem;
use crate::http::answer::reply::Reply;
use crate::http::route::call::Call;
use crate::http::route::resource::{Answer, Need, Operation};

pub(in crate::http) const PAGE: Operation = Operation {
    method: "GET",
    id: "console",
    summary: "The console, a page for a browser",
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
                "Cross-Origin-Opener-Policy",
                "Vary",
                "Content-Encoding?",
            ],
            ..Answer::BASE
        },
        Answer {
            status: 304,
            what: "The browser has it already",
            headers: &["ETag", "Cache-Control", "Cross-Origin-Opener-Policy", "Vary"],
            ..Answer::BASE
        },
    ],
    run: |call| Box::pin(page(call)),
    ..Operation::BASE
};

/// The same address without its slash: the page's relative addresses would lead astray from there.
pub(in crate::http) const PAGE_WITHOUT_SLASH: Operation = Operation {
    method: "GET",
    id: "consoleWithoutSlash",
    summary: "Leads to the console",
    is_listed: false,
    need: Need::Nothing,
    answers: &[Answer { status: 307, what: "The page is elsewhere", ..Answer::BASE }],
    run: |call| Box::pin(lead_to_page(call)),
    ..Operation::BASE
};

pub(in crate::http) const FILE: Operation = Operation {
    method: "GET",
    id: "consoleFile",
    summary: "A file that the console needs",
    is_listed: false,
    need: Need::Nothing,
    answers: &[Answer { what: "The file", ..Answer::BASE }],
    run: |call| Box::pin(file(call)),
    ..Operation::BASE
};

/// Pages that this one opens, or that open it, can't reach into it.
const CROSS_ORIGIN_OPENER_POLICY: HeaderName =
    HeaderName::from_static("cross-origin-opener-policy");

async fn page(call: Call) -> Result<Reply, Problem> {
    show(&call, "index.html")
}

async fn lead_to_page(call: Call) -> Result<Reply, Problem> {
    let page = format!("{}/-/console/", call.address.base());
    Ok(Reply::empty(StatusCode::TEMPORARY_REDIRECT).with(header::LOCATION, &page))
}

async fn file(call: Call) -> Result<Reply, Problem> {
    show(&call, call.params.get("file").unwrap_or_default())
}

fn show(call: &Call, name: &str) -> Result<Reply, Problem> {
    let reply = asset::show(call, asset::find(asset::CONSOLE, name)?, &policy(call));
    Ok(reply.with(CROSS_ORIGIN_OPENER_POLICY, "same-origin"))
}

/// Only what this server itself gives out, no code or style inside the page, and no text that becomes code.
/// The page may ask this server, and the issuers that people sign in with for their tokens.
fn policy(call: &Call) -> String {
    let ways = call.server.auth.sign_ins().into_iter().filter_map(|sign_in| sign_in.endpoints);
    let issuers: BTreeSet<String> =
        ways.flat_map(|way| way.origins().collect::<Vec<_>>()).collect();
    let asked: String = issuers.iter().map(|origin| format!(" {origin}")).collect();
    format!(
        "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; \
         connect-src 'self'{asked}; base-uri 'none'; form-action 'none'; frame-ancestors 'none'; \
         require-trusted-types-for 'script'"
    )
}
