//! Fuzz targets for requests: their paths, queries, headers and bodies.

use std::collections::{BTreeSet, HashSet};
use std::sync::LazyLock;

use base64::Engine;
use base64::engine::general_purpose::STANDARD as BASE64;
use gatehouse_core::Timestamp;
use gatehouse_core::filter::access::{AccessFilter, Alternative};
use gatehouse_core::filter::product as products;
use gatehouse_core::filter::product::ProductFilter;
use gatehouse_core::filter::{Expression, FilterFault, FilterFields, access as accesses};
use gatehouse_core::page::PageRequest;
use gatehouse_core::rights::scopes_to_words;
use http::{HeaderMap, HeaderName, HeaderValue, StatusCode, header};
use serde_json::Value;

use super::route::route_table::RouteTable;
use super::routes::table;
use crate::app::batch::{AccessSelection, BatchChange, NewItems};
use crate::fields::{account_body, contract_body, tenant_body};
use crate::http::answer::correlation::Correlation;
use crate::http::answer::media::{CSV, FORM, JSON, MERGE_PATCH};
use crate::http::answer::negotiation;
use crate::http::answer::problem::Problem;
use crate::http::api::account;
use crate::http::api::contract;
use crate::http::api::oauth::{self, Form};
use crate::http::api::product_body::Fields;
use crate::http::api::tenant;
use crate::http::api::{access, batch_body, client, find_body, verify};
use crate::http::intake::request_headers;
use crate::http::route::conditional::{Precondition, client_has, etag};
use crate::http::route::params::{Params, normal_form};
use crate::http::route::query::{FIELDS, PAGE_NUMBER, PAGE_SIZE, Query};
use crate::http::route::{idempotency, paging};
use crate::reader::{FAULTS_MAX, Faults, Json, Reader};
use crate::trace;

/// Most items of a batch.
const ITEMS_MAX: u64 = 3;

/// Parses a body as an operation does.
fn object<T>(bytes: &[u8], read: impl FnOnce(Reader<'_>) -> T) -> Option<T> {
    let json = Json::parse(bytes).ok()?;
    let mut faults = Faults::default();
    let value = read(Reader::new(json, "", &mut faults));
    match faults.check() {
        Ok(()) => Some(value),
        Err(faults) => {
            assert!((1..=FAULTS_MAX).contains(&faults.len()));
            // A field's name may be empty, a reason may not.
            assert!(faults.iter().all(|it| !it.reason.is_empty()));
            None
        }
    }
}

/// Checks that a refusal gives the error of the JSON parser, or every fault.
fn check_refusal(bytes: &[u8], problem: &Problem) {
    assert_eq!(problem.status, StatusCode::BAD_REQUEST);
    match Json::parse(bytes) {
        Err(reason) => assert_eq!(*problem.detail, *reason),
        Ok(_) => assert!((1..=FAULTS_MAX).contains(&problem.invalid.len())),
    }
}

/// Bodies of a creation and of a change. An accepted one is complete.
pub(crate) fn access(bytes: &[u8]) {
    if let Some(wanted) = object(bytes, access::read_new_access) {
        assert!(!wanted().contract_id.as_str().is_empty());
    }
    if let Some(update) = object(bytes, access::read_update) {
        let changes = update.status.is_some() || update.password.is_some();
        assert!(changes || update.labels.is_some());
    }
}

/// Body of a batch of new accesses: the item-by-item parser refuses the same bodies as one that parses it whole.
pub(crate) fn batch_creation(bytes: &[u8]) {
    match batch_body::new::read(bytes, ITEMS_MAX) {
        Ok(batch) => {
            let n_items = match batch.items {
                NewItems::Count(count, _) => u64::from(count),
                NewItems::Explicit(items) => items.len() as u64,
            };
            assert!((1..=ITEMS_MAX).contains(&n_items));
        }
        Err(problem) => check_refusal(bytes, &problem),
    }
}

/// Body of a batch of changes: every access occurs once.
pub(crate) fn batch_update(bytes: &[u8]) {
    match batch_body::change::read(bytes, ITEMS_MAX, &BTreeSet::new()) {
        Ok(BatchChange { selection: AccessSelection::Named(named), .. }) => {
            assert!((1..=ITEMS_MAX).contains(&(named.len() as u64)));
            assert!(named.is_sorted_by_key(|it| it.index));
        }
        Ok(BatchChange { selection: AccessSelection::Matching { filter, .. }, .. }) => {
            let Ok(filter) = filter.with_labels(&BTreeSet::new()) else { return };
            // No condition, no change.
            assert!(filter.alternatives().iter().all(|it| *it != Alternative::ANY));
        }
        Err(problem) => check_refusal(bytes, &problem),
    }
}

/// Credentials of devices and clients: the body of a check, and the form and header of a token request.
pub(crate) fn credentials(bytes: &[u8]) {
    if let Some(credentials) = object(bytes, verify::read_credentials) {
        let (username, _) = credentials();
        assert!(!username.as_str().is_empty());
    }
    let form = Form::read(bytes);
    assert_eq!(form.is_ok(), std::str::from_utf8(bytes).is_ok());
    let Ok(form) = form else { return };
    let mut headers = HeaderMap::new();
    if let Ok((id, secret)) = oauth::credentials(&headers, &form) {
        assert!(!id.is_empty() && !secret.is_empty());
    }
    if let Ok(value) = HeaderValue::from_bytes(bytes) {
        headers.insert(header::AUTHORIZATION, value);
        let none = Form::read(b"").expect("an empty form is one");
        let _ = oauth::credentials(&headers, &none);
    }
    // Credentials encoded by RFC 6749 are read back unchanged.
    let text = std::str::from_utf8(bytes).unwrap_or_default();
    let encoded: String = form_urlencoded::byte_serialize(text.as_bytes()).collect();
    let basic = format!("Basic {}", BASE64.encode(format!("{encoded}:{encoded}")));
    assert_eq!(oauth::read_basic(&basic), Some((text.to_owned(), text.to_owned())));
}

/// Body of a search: no item is lost, and none occurs twice.
pub(crate) fn find(bytes: &[u8]) {
    match find_body::read(bytes) {
        Ok(search) => {
            let wanted = search.find_request();
            let keys = wanted.identifiers.iter().map(|it| (it.kind(), it.key()));
            let different: HashSet<_> = keys.collect();
            assert_eq!(different.len(), wanted.identifiers.len());
        }
        Err(problem) => check_refusal(bytes, &problem),
    }
}

/// Bodies of tenants, contracts and clients. A PUT of the returned representation changes nothing.
pub(crate) fn admin(bytes: &[u8]) {
    let name = "acme".parse().expect("a tenant's name");
    if let Some(tenant) = object(bytes, |body| tenant::read_body(body, &name)) {
        let tenant = tenant.expect("a body without faults was parsed");
        let json = json_of(&tenant_body(&tenant));
        assert_eq!(object(&json, |body| tenant::read_body(body, &name)), Some(Some(tenant)));
    }
    let id = "C-1".parse().expect("a contract's identifier");
    if let Some(contract) = object(bytes, |body| contract::read_body(body, &id)) {
        let contract = contract.expect("a body without faults was parsed");
        let json = json_of(&contract_body(&contract));
        assert_eq!(object(&json, |body| contract::read_body(body, &id)), Some(Some(contract)));
    }
    if let Some((_, scopes)) = object(bytes, client::read_new) {
        assert!(!scopes_to_words(&scopes.value()).is_empty());
    }
}

/// Body of an account. A PUT of the returned representation changes nothing but the credentials.
pub(crate) fn account(bytes: &[u8]) {
    let name = "acme-eu".parse().expect("an account's name");
    let Some(input) = object(bytes, |body| account::read_body(body, &name)) else { return };
    let input = input.expect("a body without faults was parsed");
    let json = json_of(&account_body(&input.account, &input.settings));
    let reparsed = object(&json, |body| account::read_body(body, &name)).flatten();
    let reparsed = reparsed.expect("the returned representation is accepted");
    assert_eq!(reparsed.account, input.account);
    // The JSON parser doesn't round every fraction to the nearest number.
    if !has_fraction(&Value::Object(input.settings.clone())) {
        assert_eq!(reparsed.settings, input.settings);
    }
}

fn has_fraction(value: &Value) -> bool {
    match value {
        Value::Number(number) => number.is_f64(),
        Value::Array(items) => items.iter().any(has_fraction),
        Value::Object(fields) => fields.values().any(has_fraction),
        Value::Null | Value::Bool(_) | Value::String(_) => false,
    }
}

fn json_of(body: &impl serde::Serialize) -> Vec<u8> {
    serde_json::to_vec(body).expect("a body can be serialized")
}

/// Queries of lists: links lead to other pages of the same list, and ignored names fit into a header.
pub(crate) fn query(text: &str) {
    check_query(text, paging::PARAMS, Some(&accesses::FILTER_FIELDS), AccessFilter::read);
    check_query(
        text,
        &[PAGE_NUMBER, PAGE_SIZE, FIELDS],
        Some(&products::FILTER_FIELDS),
        ProductFilter::read,
    );
    check_query(text, &["state", PAGE_NUMBER, PAGE_SIZE], None, |_| Ok(true));
}

fn check_query<T: PartialEq + std::fmt::Debug>(
    text: &str,
    known: &[&'static str],
    fields: Option<&FilterFields>,
    read: impl Fn(&Expression) -> Result<T, Vec<FilterFault>>,
) {
    let headers = HeaderMap::new();
    let mut query = Query::parse(text, known, fields, &headers);
    if let Some(fields) = query.value(FIELDS).map(Fields::read) {
        let _ = fields.parts();
    }
    let page = PageRequest { number: 2, size: 10 };
    let links =
        paging::links_without_total("https://gatehouse.example/acme/access", &query, page, 9);
    let filter = query.filter(&read);
    if let Some(ignored) = query.ignored() {
        assert!(HeaderValue::from_str(&ignored).is_ok(), "{ignored}");
    }
    let Some(links) = links else { return };
    assert!(HeaderValue::from_str(&links).is_ok(), "{links}");
    for link in links.split(',').filter(|it| it.contains(";rel=")) {
        let Some((address, _)) = link.trim_start_matches('<').split_once(">;rel=") else {
            continue;
        };
        let Some((_, raw)) = address.split_once('?') else { continue };
        // A query may contain commas; this is then only the end of a URL.
        if !link.starts_with("<https://gatehouse.example/acme/access?") {
            continue;
        }
        let mut linked = Query::parse(raw, known, fields, &headers);
        let is_number = |it: &str| linked.value(it).is_some_and(|it| it.parse::<u64>().is_ok());
        assert!(is_number(PAGE_NUMBER) && is_number(PAGE_SIZE), "{address}");
        assert_eq!(linked.value(FIELDS), query.value(FIELDS), "{address}");
        assert_eq!(linked.filter(&read), filter, "{address}");
    }
}

/// Paths: the normal form is stable and keeps the parameters.
pub(crate) fn path(text: &str) {
    let normal = normal_form(text);
    assert_eq!(normal_form(&normal), normal);
    let decoded =
        |path: &str| Params::decode([("p", path)]).map(|it| it.get("p").map(str::to_owned));
    assert_eq!(decoded(&normal), decoded(text));
    static ROUTES: LazyLock<RouteTable> = LazyLock::new(|| RouteTable::of(table()));
    if let Some(found) = ROUTES.find(&normal) {
        assert_ne!(found.params.get("tenantName"), Some("-"));
    }
}

/// Request headers, one per line: no panic, and repeated values fit into a response header.
pub(crate) fn headers(text: &str) {
    let mut headers = HeaderMap::new();
    for line in text.lines() {
        let Some((name, value)) = line.split_once(": ") else { continue };
        let (Ok(name), Ok(value)) = (name.parse::<HeaderName>(), value.parse::<HeaderValue>())
        else {
            continue;
        };
        headers.append(name, value);
    }
    let offered = [JSON, CSV];
    if let Ok(best) = negotiation::media_type(&headers, offered.into_iter()) {
        assert!(offered.contains(&best));
    }
    let _ = (negotiation::prefers_gzip(&headers), request_headers::check_headers(&headers));
    for kind in [JSON, MERGE_PATCH, FORM] {
        let _ = request_headers::check_content_type(&headers, &[kind]);
    }
    // `If-None-Match` with the current version forbids a change.
    assert!(!(client_has(&headers, &etag(7)) && Precondition::of(&headers).allows(7)));
    let correlation = Correlation::of(&headers, Timestamp::EPOCH);
    let mut response = HeaderMap::new();
    correlation.put(&mut response);
    assert!(response.values().all(|it| it == correlation.id.as_str()));
    if let Some(parent) = trace::parent(&headers) {
        assert!(parent.is_valid());
        let reparsed = HeaderMap::from_iter([(trace::TRACEPARENT, trace::traceparent(&parent))]);
        let reparsed = trace::parent(&reparsed).expect("a sent traceparent can be parsed");
        assert_eq!(
            (reparsed.trace_id(), reparsed.span_id()),
            (parent.trace_id(), parent.span_id())
        );
    }
    if let Ok(Some(key)) = idempotency::read_key(&headers) {
        assert!(!key.as_str().is_empty());
    }
    let mut request = http::Request::builder().uri("/acme/access").body(()).expect("a request");
    *request.headers_mut() = headers;
    let (parts, ()) = request.into_parts();
    if request_headers::check_host(&parts).is_ok() {
        assert_eq!(parts.headers.get_all(header::HOST).iter().count(), 1);
    }
    let strict = Query::parse("color=red", paging::PARAMS, None, &parts.headers);
    assert_eq!(strict.check().is_ok(), strict.ignored().is_some());
}
