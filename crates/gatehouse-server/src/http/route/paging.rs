//! Pages of a list: the requested page, and links to the others.

use gatehouse_core::list::request::ListRequest;
use gatehouse_core::page::{PAGE_NUMBER_MAX, PAGE_SIZE_DEFAULT, PAGE_SIZE_MAX, Page, PageRequest};
use http::{HeaderName, StatusCode, header};
use percent_encoding::{AsciiSet, CONTROLS, utf8_percent_encode};
use serde::Serialize;

use crate::http::answer::json::Json;
use crate::http::answer::media::JSON;
use crate::http::answer::problem::Problem;
use crate::http::answer::reply::Reply;
use crate::http::route::call::Call;
use crate::http::route::query::{PAGE, PAGE_NUMBER, PAGE_SIZE, Query, SORT};
use crate::reader::shortened;

pub(crate) const X_TOTAL_COUNT: HeaderName = HeaderName::from_static("x-total-count");

/// Name of the preference that was followed (RFC 7240).
const PREFERENCE_APPLIED: HeaderName = HeaderName::from_static("preference-applied");

pub(crate) const PARAMS: &[&str] = PAGE;

/// The parameters of a list that can be sorted.
pub(crate) const SORTED_PARAMS: &[&str] = &[PAGE_NUMBER, PAGE_SIZE, SORT];

pub(crate) const HEADERS: &[&str] = &["Link", "X-Total-Count"];

/// The headers of a list of accesses, which can be had without its total.
pub(crate) const ACCESS_HEADERS: &[&str] =
    &["Link", "X-Total-Count?", "Preference-Applied?", "X-Event-Number?"];

/// The page that the query names. Page number and size have defaults.
pub(crate) fn page_or_default(call: &mut Call) -> Result<PageRequest, Problem> {
    let size_max = call.limits().page_size_max;
    let number = bounded(call, PAGE_NUMBER, 1, PAGE_NUMBER_MAX);
    let size = bounded(call, PAGE_SIZE, PAGE_SIZE_DEFAULT.min(size_max), size_max);
    call.query.check()?;
    Ok(PageRequest { number, size })
}

/// The page, the order and the need of a total. All have defaults.
pub(crate) fn list_request(call: &mut Call) -> Result<ListRequest, Problem> {
    let order = call.query.order();
    let page = page_or_default(call)?;
    Ok(ListRequest { page, order, with_total: !call.query.is_uncounted() })
}

fn bounded(call: &mut Call, name: &'static str, default: u64, max: u64) -> u64 {
    let Some(text) = call.query.value(name).map(str::to_owned) else { return default };
    checked(&mut call.query, name, &text, max).unwrap_or(default)
}

/// A number from 1 to `max`; anything else is a fault of the query.
fn checked(query: &mut Query, name: &'static str, text: &str, max: u64) -> Option<u64> {
    let digits = !text.is_empty() && text.bytes().all(|b| b.is_ascii_digit());
    match text.parse::<u64>() {
        Ok(number) if digits && (1..=max).contains(&number) => Some(number),
        _ => {
            let reason =
                format!("must be a whole number from 1 to {max}, not `{}`", shortened(text));
            query.fault(name, reason);
            None
        }
    }
}

/// Page of a list whose page number and size the client must give.
pub(crate) fn explicit_page(query: &mut Query, number_max: u64) -> Option<PageRequest> {
    let mut number = |name: &'static str, max| match query.value(name).map(str::to_owned) {
        Some(text) => checked(query, name, &text, max),
        None => {
            query.fault(name, format!("is missing, and must be a whole number from 1 to {max}"));
            None
        }
    };
    let size = number(PAGE_SIZE, PAGE_SIZE_MAX);
    let number = number(PAGE_NUMBER, number_max);
    Some(PageRequest { number: number?, size: size? })
}

/// Response with a page: its items, the total, and links to the other pages.
pub(crate) fn reply<'p, T, B: Serialize>(
    call: &Call,
    page: &'p Page<T>,
    body: impl Fn(&'p T) -> B,
) -> Reply {
    let items: Vec<B> = page.items.iter().map(body).collect();
    with_headers(call, page, true, Reply::json(StatusCode::OK, &items))
}

/// Response with a page whose items `write` appends to the JSON; `n_bytes` is the usual size of one.
pub(crate) fn reply_with_writer<T>(
    call: &Call,
    page: &Page<T>,
    n_bytes: usize,
    write: impl FnMut(&mut Json, &T),
) -> Reply {
    with_headers(call, page, true, written(page, n_bytes, write))
}

/// Response with a page of a list whose total the client may have declined: then neither the total nor a link to the
/// last page is in it, and the page's total tells only whether another page follows.
pub(crate) fn reply_to_list<T>(
    call: &Call,
    page: &Page<T>,
    n_bytes: usize,
    write: impl FnMut(&mut Json, &T),
) -> Reply {
    let with_total = !call.query.is_uncounted();
    let reply = with_headers(call, page, with_total, written(page, n_bytes, write));
    if with_total { reply } else { reply.with(PREFERENCE_APPLIED, "count=none") }
}

fn written<T>(page: &Page<T>, n_bytes: usize, mut write: impl FnMut(&mut Json, &T)) -> Reply {
    let mut json = Json::with_capacity(2 + page.items.len() * n_bytes);
    json.list(&page.items, |json, item| write(json, item));
    Reply::whole(StatusCode::OK, JSON, json.finish())
}

fn with_headers<T>(call: &Call, page: &Page<T>, with_total: bool, reply: Reply) -> Reply {
    let reply = if with_total { reply.with(X_TOTAL_COUNT, &page.total.to_string()) } else { reply };
    match links(call, page.request, page.total, with_total) {
        Some(links) => reply.with(header::LINK, &links),
        None => reply,
    }
}

/// Characters that some clients send although no URI may contain them. Encoded ones stay as they are.
const NOT_IN_URI: &AsciiSet = &CONTROLS
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

fn links(call: &Call, request: PageRequest, total: u64, with_last: bool) -> Option<String> {
    // No link leads to a page beyond the highest number.
    let last = request.last(total).min(PAGE_NUMBER_MAX);
    let mut links = vec![("first", 1)];
    links.extend(with_last.then_some(("last", last)));
    if request.number < last {
        links.push(("next", request.number + 1));
    }
    let address = page_url(&call.address.request_url(), &call.query, request.size);
    within_limit(links, |(rel, number)| format!("<{}>; rel=\"{rel}\"", address(number)))
}

/// Most bytes of the header: many proxies and clients accept no more.
const LINK_BYTES_MAX: usize = 8 * 1024;

/// Links in the order in which a too long header drops them: a client needs `next` most.
const DROP_ORDER: [&str; 5] = ["last", "first", "prev", "self", "next"];

/// Links as one header, as many as fit; `None` if none fits.
fn within_limit(
    mut links: Vec<(&'static str, u64)>,
    write: impl Fn((&'static str, u64)) -> String,
) -> Option<String> {
    let mut to_drop = DROP_ORDER.into_iter();
    loop {
        let header = links.iter().map(|it| write(*it)).collect::<Vec<_>>().join(", ");
        if header.len() <= LINK_BYTES_MAX {
            return Some(header).filter(|it| !it.is_empty());
        }
        let dropped = to_drop.next()?;
        links.retain(|(rel, _)| *rel != dropped);
    }
}

/// Link header of a list without a known total.
pub(crate) fn links_without_total(
    url: &str,
    query: &Query,
    request: PageRequest,
    number_max: u64,
) -> Option<String> {
    let mut links = vec![("self", request.number), ("first", 1)];
    if request.number < number_max {
        links.push(("next", request.number + 1));
    }
    if request.number > 1 {
        links.push(("prev", request.number - 1));
    }
    let address = page_url(url, query, request.size);
    // Without a space, as the documented interface writes it.
    within_limit(links, |(rel, number)| format!("<{}>;rel=\"{rel}\"", address(number)))
}

/// URLs of pages: this list's URL with the rest of its query.
fn page_url(url: &str, query: &Query, size: u64) -> impl Fn(u64) -> String + use<> {
    let rest = utf8_percent_encode(query.without_page(), NOT_IN_URI).to_string();
    let rest = if rest.is_empty() { rest } else { rest + "&" };
    let before = format!("{url}?{rest}{PAGE_NUMBER}=");
    move |number| format!("{before}{number}&{PAGE_SIZE}={size}")
}
