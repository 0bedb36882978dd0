//! `/{tenantName}/product`: lists, finds and reads connections at external platforms.
//!
//! A platform that fails doesn't fail a list or a search: the response has the results of the others, and the failures.

use gatehouse_connectors::{CallContext, Listing, ReadResult};
use gatehouse_core::filter::product::{self as filter, ProductFilter};
use gatehouse_core::rights::Scope;
use gatehouse_core::{PageRequest, Product, ProductId};
use http::{StatusCode, header};
use tokio::time::Instant;

use super::find_body;
use super::product_body::{FIELD_NAMES, Fields, View};
use crate::app::Error;
use crate::fields::product;
use crate::http::answer::media::JSON;
use crate::http::answer::problem::Problem;
use crate::http::answer::reply::Reply;
use crate::http::intake::large_bodies::process_body;
use crate::http::intake::slots::TenantSlot;
use crate::http::route::call::Call;
use crate::http::route::paging;
use crate::http::route::query::{FIELDS, PAGE_NUMBER, PAGE_SIZE};
use crate::http::route::resource::{BodyKind, Need, Operation, Pages, ResponseSpec};

pub(in crate::http) const LIST: Operation = Operation {
    method: "GET",
    id: "listProducts",
    summary: "Lists connections at all platforms, a share of the page from each account that matches",
    need: Need::Scope(Scope::ProductRead),
    query: &[PAGE_NUMBER, PAGE_SIZE, FIELDS],
    fields: FIELD_NAMES,
    pages: Pages::Gathered,
    filter: Some(&filter::FILTER_FIELDS),
    responses: &[ResponseSpec {
        status: 206,
        description: "The page of every account, and the failures",
        schema: Some("ProductPage"),
        headers: &["Link"],
        ..ResponseSpec::BASE
    }],
    run: |call| Box::pin(list(call)),
    ..Operation::BASE
};

pub(in crate::http) const FIND: Operation = Operation {
    method: "POST",
    id: "findProducts",
    summary: "Finds connections by their numbers or identifiers, at all platforms",
    need: Need::Scope(Scope::ProductRead),
    body: Some(BodyKind {
        schema: "FindProducts",
        example: || product::find_products().example(),
        ..BodyKind::BASE
    }),
    responses: &[ResponseSpec {
        description: "Found products, failures, and items that surely don't exist",
        schema: Some("ProductEnvelope"),
        ..ResponseSpec::BASE
    }],
    run: |call| Box::pin(find(call)),
    ..Operation::BASE
};

pub(in crate::http) const READ: Operation = Operation {
    method: "GET",
    id: "readProduct",
    summary: "Reads one connection at its platform",
    need: Need::Scope(Scope::ProductRead),
    responses: &[ResponseSpec {
        description: "The product",
        schema: Some("Product"),
        ..ResponseSpec::BASE
    }],
    // The platform may fail; then the server can't tell whether it has the product.
    problems: &[429, 502, 503, 504],
    run: |call| Box::pin(read(call)),
    ..Operation::BASE
};

async fn list(mut call: Call) -> Result<Reply, Problem> {
    let context = context(&call);
    let fields = call.query.value(FIELDS).map_or(Fields::All, Fields::read);
    let context = CallContext { parts: fields.parts(), ..context };
    let tenant = call.app().store.tenant(call.tenant()).await?;
    let tenant = tenant.ok_or_else(|| Error::NoTenant(call.tenant().to_string()))?;
    let number_max = tenant.page_number_max.unwrap_or(call.server.platforms.page_number_max);
    let filter = call.query.filter(ProductFilter::read);
    let page = paging::explicit_page(&mut call.query, number_max);
    call.query.check()?;
    let whole = "a query without faults was parsed";
    let (filter, page) = (filter.expect(whole), page.expect(whole));

    let _slot = take_slot(&call)?;
    let listing = call.app().list_products(call.tenant(), &filter, page, context).await?;
    let (products, problems) = page_contents(listing, page);
    let body = view(&call, fields).envelope(&products, &problems);
    let links =
        paging::links_without_total(&call.address.request_url(), &call.query, page, number_max);
    let reply = Reply::whole(StatusCode::PARTIAL_CONTENT, JSON, body);
    Ok(match links {
        Some(links) => reply.with(header::LINK, &links),
        None => reply,
    })
}

async fn find(mut call: Call) -> Result<Reply, Problem> {
    let context = context(&call);
    let body = std::mem::take(&mut call.body);
    let search = process_body(body.len(), move || find_body::read(&body)).await??;
    let _slot = take_slot(&call)?;
    let mut result =
        call.app().find_products(call.tenant(), &search.find_request(), context).await?;
    let problems = search.problems(&mut result);
    let body = view(&call, Fields::All).envelope(&result.products, &problems);
    Ok(Reply::whole(StatusCode::OK, JSON, body))
}

async fn read(call: Call) -> Result<Reply, Problem> {
    let id: ProductId = call.param("productId", "product")?;
    let _slot = take_slot(&call)?;
    let result = call.app().read_product(call.tenant(), &id, context(&call)).await?;
    let product = product_or_problem(result, &id)?;
    Ok(Reply::whole(StatusCode::OK, JSON, view(&call, Fields::All).product(&product)))
}

/// Context of platform calls; their deadline starts now.
fn context(call: &Call) -> CallContext {
    CallContext::until(Instant::now() + call.server.platforms.deadline.get())
}

/// Takes a slot for the wait for the tenant's platforms.
fn take_slot(call: &Call) -> Result<TenantSlot, Problem> {
    call.server.slots.take_products(call.tenant().as_str())
}

fn view(call: &Call, fields: Fields) -> View<'_> {
    let correlation_id = call.origin.correlation_id.as_str();
    View { address: &call.address, tenant: call.tenant(), correlation_id, fields }
}

fn page_contents(listing: Listing, page: PageRequest) -> (Vec<Product>, Vec<Problem>) {
    let Listing { products, failures, too_many_accounts } = listing;
    let small = too_many_accounts.map(|n_accounts| Problem::small_page(page.size, n_accounts));
    (products, small.into_iter().chain(failures.into_iter().map(Problem::from)).collect())
}

/// The product, or the problem. An account that failed may have the product, so its failure comes before a 404; the
/// first failure decides.
fn product_or_problem(result: ReadResult, id: &ProductId) -> Result<Product, Problem> {
    let ReadResult { product, failures } = result;
    product.ok_or_else(|| match failures.into_iter().next() {
        Some(failure) => failure.into(),
        None => Error::NotFound("product", id.to_string()).into(),
    })
}

#[cfg(test)]
mod tests;
