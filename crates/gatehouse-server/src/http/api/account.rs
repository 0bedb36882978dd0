//! Accounts at external platforms: read by tenants under `/{tenantName}/account`, managed under
//! `/-/admin/…`. No response has credentials, and no response to a tenant has settings.

use std::time::Duration;

use gatehouse_connectors::{Health, LiveAccount};
use gatehouse_core::account::AddressSource;
use gatehouse_core::{AccountName, Page, rights::Scope};
use gatehouse_store::StoredAccount;
use http::StatusCode;

use crate::app::Error;
use crate::app::account::AccountInput;
use crate::estate::read_account;
use crate::fields::Body;
use crate::fields::account::{self, account_body, health_name};
use crate::http::answer::problem::Problem;
use crate::http::answer::reply::Reply;
use crate::http::route::call::Call;
use crate::http::route::paging;
use crate::http::route::resource::{BodyKind, Need, Operation, ResponseSpec};
use crate::reader::{Fault, Reader};

pub(in crate::http) const LIST: Operation = Operation {
    method: "GET",
    id: "listAccounts",
    summary: "Lists the tenant's accounts at external platforms, each with its health in the last calls",
    need: Need::Scope(Scope::ProductRead),
    query: paging::PARAMS,
    responses: &[ResponseSpec {
        description: "A page of accounts, by platform, then by name",
        schema: Some("Account"),
        headers: paging::HEADERS,
        ..ResponseSpec::BASE
    }],
    run: |call| Box::pin(list(call)),
    ..Operation::BASE
};

pub(in crate::http) const ADMIN_LIST: Operation = Operation {
    method: "GET",
    id: "adminListAccounts",
    summary: "Lists a tenant's accounts as configured, without their credentials",
    need: Need::Admin,
    query: paging::PARAMS,
    responses: &[ResponseSpec {
        description: "A page of accounts, by platform, then by name",
        schema: Some("AdminAccount"),
        headers: paging::HEADERS,
        ..ResponseSpec::BASE
    }],
    run: |call| Box::pin(admin_list(call)),
    ..Operation::BASE
};

pub(in crate::http) const ADMIN_READ: Operation = Operation {
    method: "GET",
    id: "adminReadAccount",
    summary: "Reads one account as configured, without its credentials",
    need: Need::Admin,
    responses: &[ResponseSpec {
        description: "The account",
        schema: Some("AdminAccount"),
        ..ResponseSpec::BASE
    }],
    run: |call| Box::pin(admin_read(call)),
    ..Operation::BASE
};

pub(in crate::http) const PUT: Operation = Operation {
    method: "PUT",
    id: "putAccount",
    summary: "Creates an account, or replaces the existing one; credentials that are left out stay as they are, \
              unless connector or settings change where they are sent: then the request must have them",
    need: Need::Admin,
    body: Some(BodyKind {
        schema: "NewAccount",
        example: || account::new_account().example(),
        ..BodyKind::BASE
    }),
    creates: true,
    responses: &[
        ResponseSpec {
            description: "The account was replaced",
            schema: Some("ChangedAccount"),
            ..ResponseSpec::BASE
        },
        ResponseSpec {
            status: 201,
            description: "The account was created",
            schema: Some("AdminAccount"),
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
    id: "deleteAccount",
    summary: "Deletes an account and its credentials, without a call to its platform",
    need: Need::Admin,
    responses: &[ResponseSpec {
        status: 204,
        description: "The account was deleted",
        ..ResponseSpec::BASE
    }],
    run: |call| Box::pin(delete(call)),
    ..Operation::BASE
};

async fn list(mut call: Call) -> Result<Reply, Problem> {
    let _permit = call.server.slots.take_products(call.tenant().as_str())?;
    let page = find_page(&mut call).await?;
    let platforms = &call.app().platforms;
    Ok(paging::reply(&call, &page, |StoredAccount { account, version, .. }| {
        let live = platforms.live(call.tenant(), &account.name, *version);
        let live = live.as_deref();
        Body::default()
            .put(account::NAME, account.name.as_str())
            .put(account::PLATFORM, account.platform.as_str())
            .put(account::PLATFORM_ACCOUNT, account.platform_account.as_str())
            .put(account::HEALTH, health_name(live.map_or(Health::Unknown, LiveAccount::health)))
            .put_some(account::LATENCY, live.and_then(LiveAccount::latency).map(milliseconds))
    }))
}

async fn admin_list(mut call: Call) -> Result<Reply, Problem> {
    let page = find_page(&mut call).await?;
    let shown = page.items.iter().map(shown).collect::<Result<Vec<_>, _>>()?;
    let page = Page { request: page.request, items: shown, total: page.total };
    Ok(paging::reply(&call, &page, |body| body))
}

async fn admin_read(call: Call) -> Result<Reply, Problem> {
    let name: AccountName = call.param("accountName", "account")?;
    let found = call.app().store.account(call.tenant(), &name).await?;
    let found = found.ok_or_else(|| Error::NotFound("account", name.to_string()))?;
    Ok(Reply::json(StatusCode::OK, &shown(&found)?))
}

async fn find_page(call: &mut Call) -> Result<Page<StoredAccount>, Problem> {
    let request = paging::page_or_default(call)?;
    let page = call.app().store.accounts_page(call.tenant(), request).await?;
    Ok(page.ok_or_else(|| Error::NoTenant(call.tenant().to_string()))?)
}

async fn put(call: Call) -> Result<Reply, Problem> {
    let name = call.params.get("accountName").unwrap_or_default();
    let name: AccountName = name.parse().map_err(|bad: gatehouse_core::ids::BadName| {
        Problem::invalid(vec![Fault { name: "accountName".into(), reason: bad.to_string() }])
    })?;
    let input = call.object(|body| read_body(body, &name))?;
    let input = input.expect("a body without faults has every required field");
    let by = match call.caller().rights.cover_all() {
        true => AddressSource::Operator,
        false => AddressSource::Tenant,
    };
    let made = call.app().put_account(call.tenant(), &input, by, &call.origin).await?;
    let changed = match made.put {
        gatehouse_store::Put::Created => None,
        gatehouse_store::Put::Replaced => Some(made.changed),
    };
    let body = account_body(&input.account, &input.settings)
        .put(account::HAS_CREDENTIALS, made.has_credentials)
        .put_some(account::CHANGED, changed);
    Ok(call.reply_to_put(made.put, &body))
}

/// Reads an account whose name is in the path; a name in the body must match.
pub(in crate::http) fn read_body(mut body: Reader<'_>, name: &AccountName) -> Option<AccountInput> {
    let given = body.optional(account::NAME);
    if given.is_some_and(|given| given != *name) {
        body.fault(account::NAME.name, "must be the name in the path, or left out");
    }
    // Accepted and ignored, so that a client can send a response back unchanged.
    body.optional(account::HAS_CREDENTIALS);
    read_account(body, Some(name))
}

async fn delete(call: Call) -> Result<Reply, Problem> {
    let name: AccountName = call.param("accountName", "account")?;
    call.app().delete_account(call.tenant(), &name, &call.origin).await?;
    Ok(Reply::empty(StatusCode::NO_CONTENT))
}

/// The account in responses to the operator.
fn shown(stored: &StoredAccount) -> Result<Body, Problem> {
    let settings = serde_json::from_str(&stored.settings);
    let settings =
        settings.map_err(|bad| gatehouse_store::StoreError::Unexpected(Box::new(bad)))?;
    Ok(account_body(&stored.account, &settings)
        .put(account::HAS_CREDENTIALS, stored.credentials.is_some()))
}

/// Whole milliseconds, rounded up, so that a latency is never 0.
fn milliseconds(time: Duration) -> u64 {
    u64::try_from(time.as_nanos().div_ceil(1_000_000)).unwrap_or(u64::MAX)
}
