//! Pages of a list: which one is asked for, and how to get to the others.

use gatehouse_core::page::{PAGE_NUMBER_MAX, PAGE_SIZE_DEFAULT, Page, PageRequest};
use http::{HeaderName, StatusCode, header};
use percent_encoding::{AsciiSet, CONTROLS, utf8_percent_encode};
use serde::Serialize;

use super::call::Call;
use super::problem::Problem;
use super::query::{PAGE, PAGE_NUMBER, PAGE_SIZE};
use super::reply::Reply;
use crate::reader::shortened;

pub(crate) const X_TOTAL_COUNT: HeaderName = HeaderName::from_static("x-total-count");

/// The parameters of every list.
pub(crate) const PARAMS: &[&str] = PAGE;

/// The headers of every list.
pub(crate) const HEADERS: &[&str] = &["Link", "X-Total-Count"];

/// The page that a request asks for.
pub(crate) fn requested(call: &mut Call) -> Result<PageRequest, Problem> {
    let size_max = call.limits().page_size_max;
    let number = bounded(call, PAGE_NUMBER, 1, PAGE_NUMBER_MAX);
    let size = bounded(call, PAGE_SIZE, PAGE_SIZE_DEFAULT.min(size_max), size_max);
    call.query.check()?;
    Ok(PageRequest { number, size })
}

fn bounded(call: &mut Call, name: &'static str, default: u64, max: u64) -> u64 {
    let Some(text) = call.query.value(name) else { return default };
    let digits = !text.is_empty() && text.bytes().all(|b| b.is_ascii_digit());
    match text.parse::<u64>() {
        Ok(number) if digits && (1..=max).contains(&number) => number,
        _ => {
            let reason =
                format!("must be a whole number from 1 to {max}, not `{}`", shortened(text));
            call.query.fault(name, reason);
            default
        }
    }
}

/// A page as an answer: its items, how many there are in all, and the way to the other pages.
pub(crate) fn reply<'p, T, B: Serialize>(
    call: &Call,
    page: &'p Page<T>,
    body: impl Fn(&'p T) -> B,
) -> Reply {
    let items: Vec<B> = page.items.iter().map(body).collect();
    Reply::json(StatusCode::OK, &items)
        .with(X_TOTAL_COUNT, &page.total.to_string())
        .with(header::LINK, &links(call, page.request, page.total))
}

/// What a client may have written although no URI may hold it. What is encoded stays as it is.
const UNFIT: &AsciiSet = &CONTROLS
    .add(b' ')
    .add(b'"')
    .add(b'<')
    .add(b'>')
    .add(b'\\')
    .add(b'^')
    .add(b'`')
    .add(b'{')
    .add(b'|')
    .add(b'}');

fn links(call: &Call, request: PageRequest, total: u64) -> String {
    // No link leads to a page that can't be asked for.
    let last = request.last(total).min(PAGE_NUMBER_MAX);
    let mut links = vec![("first", 1), ("last", last)];
    if request.number < last {
        links.push(("next", request.number + 1));
    }
    let kept = utf8_percent_encode(call.query.without_page(), UNFIT).to_string();
    let kept = if kept.is_empty() { kept } else { kept + "&" };
    let here = call.address.here();
    let link = |(rel, number): (&str, u64)| {
        format!("<{here}?{kept}{PAGE_NUMBER}={number}&{PAGE_SIZE}={}>; rel=\"{rel}\"", request.size)
    };
    links.into_iter().map(link).collect::<Vec<_>>().join(", ")
}
