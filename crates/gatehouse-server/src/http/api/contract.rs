//! Contracts: read by tenants under `/{tenantName}/contract`, managed under `/-/admin/…`.

use gatehouse_core::rights::Scope;
use gatehouse_core::{Contract, ContractId, Page};
use gatehouse_store::CountedContract;
use http::StatusCode;

use crate::app::Error;
use crate::estate::read_contract;
use crate::fields::Body;
use crate::fields::contract::{self, contract_body, counted_body};
use crate::http::answer::problem::Problem;
use crate::http::answer::reply::Reply;
use crate::http::route::call::Call;
use crate::http::route::paging;
use crate::http::route::resource::{BodyKind, Need, Operation, ResponseSpec};
use crate::reader::{Fault, Reader};

const PAGE: &[ResponseSpec] = &[ResponseSpec {
    description: "A page of contracts, by identifier",
    schema: Some("Contract"),
    headers: paging::HEADERS,
    ..ResponseSpec::BASE
}];

const ONE: &[ResponseSpec] =
    &[ResponseSpec { description: "The contract", schema: Some("Contract"), ..ResponseSpec::BASE }];

const ADMIN_PAGE: &[ResponseSpec] = &[ResponseSpec {
    description: "A page of contracts, by identifier",
    schema: Some("AdminContract"),
    headers: paging::HEADERS,
    ..ResponseSpec::BASE
}];

const ADMIN_ONE: &[ResponseSpec] = &[ResponseSpec {
    description: "The contract",
    schema: Some("AdminContract"),
    ..ResponseSpec::BASE
}];

pub(in crate::http) const LIST: Operation = Operation {
    method: "GET",
    id: "listContracts",
    summary: "Lists the tenant's contracts, each with the number of its accesses that are not TERMINATED",
    need: Need::Scope(Scope::AccessRead),
    query: paging::PARAMS,
    responses: PAGE,
    run: |call| Box::pin(list(call)),
    ..Operation::BASE
};

pub(in crate::http) const READ: Operation = Operation {
    method: "GET",
    id: "readContract",
    summary: "Reads one contract, with the number of its accesses that are not TERMINATED",
    need: Need::Scope(Scope::AccessRead),
    responses: ONE,
    run: |call| Box::pin(read(call)),
    ..Operation::BASE
};

pub(in crate::http) const ADMIN_LIST: Operation = Operation {
    method: "GET",
    id: "adminListContracts",
    summary: "Lists a tenant's contracts as configured",
    need: Need::Admin,
    query: paging::PARAMS,
    responses: ADMIN_PAGE,
    run: |call| Box::pin(admin_list(call)),
    ..Operation::BASE
};

pub(in crate::http) const ADMIN_READ: Operation = Operation {
    method: "GET",
    id: "adminReadContract",
    summary: "Reads one contract as configured",
    need: Need::Admin,
    responses: ADMIN_ONE,
    run: |call| Box::pin(admin_read(call)),
    ..Operation::BASE
};

pub(in crate::http) const PUT: Operation = Operation {
    method: "PUT",
    id: "putContract",
    summary: "Creates a contract, or replaces the existing one",
    need: Need::Admin,
    body: Some(BodyKind {
        schema: "NewContract",
        example: || contract::new_contract().example(),
        ..BodyKind::BASE
    }),
    creates: true,
    responses: &[
        ResponseSpec {
            description: "The contract was replaced",
            schema: Some("AdminContract"),
            ..ResponseSpec::BASE
        },
        ResponseSpec {
            status: 201,
            description: "The contract was created",
            schema: Some("AdminContract"),
            headers: &["Location"],
            ..ResponseSpec::BASE
        },
    ],
    problems: &[409],
    run: |call| Box::pin(put(call)),
    ..Operation::BASE
};

pub(in crate::http) const DELETE: Operation = Operation {
    method: "DELETE",
    id: "deleteContract",
    summary: "Deletes a contract that never had an access",
    need: Need::Admin,
    responses: &[ResponseSpec {
        status: 204,
        description: "The contract was deleted",
        ..ResponseSpec::BASE
    }],
    problems: &[409],
    run: |call| Box::pin(delete(call)),
    ..Operation::BASE
};

async fn list(mut call: Call) -> Result<Reply, Problem> {
    let page = find_page(&mut call).await?;
    Ok(paging::reply(&call, &page, |it| shown(&call, it)))
}

async fn read(call: Call) -> Result<Reply, Problem> {
    let contract = find(&call).await?;
    Ok(Reply::json(StatusCode::OK, &shown(&call, &contract)))
}

async fn admin_list(mut call: Call) -> Result<Reply, Problem> {
    let page = find_page(&mut call).await?;
    Ok(paging::reply(&call, &page, |it| contract_body(&it.contract)))
}

async fn admin_read(call: Call) -> Result<Reply, Problem> {
    let found = find(&call).await?;
    Ok(Reply::json(StatusCode::OK, &contract_body(&found.contract)))
}

async fn find_page(call: &mut Call) -> Result<Page<CountedContract>, Problem> {
    let request = paging::page_or_default(call)?;
    let page = call.app().store.contracts(call.tenant(), request, call.app().now()).await?;
    Ok(page.ok_or_else(|| Error::NoTenant(call.tenant().to_string()))?)
}

async fn find(call: &Call) -> Result<CountedContract, Problem> {
    let id: ContractId = call.param("contractId", "contract")?;
    let found = call.app().store.contract(call.tenant(), &id, call.app().now()).await?;
    Ok(found.ok_or_else(|| Error::NotFound("contract", id.to_string()))?)
}

async fn put(call: Call) -> Result<Reply, Problem> {
    let id = call.params.get("contractId").unwrap_or_default();
    let id: ContractId = id.parse().map_err(|bad: gatehouse_core::ids::BadName| {
        Problem::invalid(vec![Fault { name: "contractId".into(), reason: bad.to_string() }])
    })?;
    let contract = call.object(|body| read_body(body, &id))?;
    let contract = contract.expect("a body without faults has every required field");
    let put = call.app().put_contract(call.tenant(), &contract, &call.origin).await?;
    Ok(call.reply_to_put(put, &contract_body(&contract)))
}

/// Reads a contract whose identifier is in the path; an identifier in the body must match.
pub(in crate::http) fn read_body(mut body: Reader<'_>, id: &ContractId) -> Option<Contract> {
    let given = body.optional(contract::ID);
    if given.is_some_and(|given| given != *id) {
        body.fault(contract::ID.name, "must be the identifier in the path, or left out");
    }
    read_contract(body, Some(id))
}

async fn delete(call: Call) -> Result<Reply, Problem> {
    let id: ContractId = call.param("contractId", "contract")?;
    call.app().delete_contract(call.tenant(), &id, &call.origin).await?;
    Ok(Reply::empty(StatusCode::NO_CONTENT))
}

/// The contract as its tenant sees it.
fn shown(call: &Call, CountedContract { contract, n_live, .. }: &CountedContract) -> Body {
    counted_body(contract, &call.address.contract(call.tenant(), &contract.id), *n_live)
}
