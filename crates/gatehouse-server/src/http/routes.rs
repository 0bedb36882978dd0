//! Every route, on one screen.

use crate::http::api::{
    access, account, batch, caller, client, contract, oauth, product, summary, task, tenant, verify,
};
use crate::http::pages::{console, docs, metrics, public, sign_in};
use crate::http::route::resource::{Resource, Served, Thing};

/// The table.
#[rustfmt::skip]
pub(crate) fn table() -> Vec<Resource> {
    let at = |path, thing, operations| Resource { path, thing, served: Served::Main, operations };
    let at_both = |path, operations| Resource { served: Served::Both, ..at(path, Thing::Nothing, operations) };
    let at_operators = |path, operations| Resource { served: Served::Operator, ..at(path, Thing::Nothing, operations) };
    vec![
        // what tenants do
        at("/{tenantName}/access",                               Thing::Tenant,   vec![access::LIST, access::CREATE]),
        at("/{tenantName}/access/{accessId}",                    Thing::Access,   vec![access::READ, access::UPDATE]),
        at("/{tenantName}/access/batch",                         Thing::Tenant,   vec![task::LIST, batch::CREATE, batch::PATCH]),
        at("/{tenantName}/access/batchUpdate",                   Thing::Tenant,   vec![batch::UPDATE]),
        at("/{tenantName}/access/batch/{taskId}",                Thing::Task,     vec![task::READ, task::STOP]),
        at("/{tenantName}/access/batch/{taskId}/progress",       Thing::Task,     vec![task::PROGRESS]),
        at("/{tenantName}/access/batch/{taskId}/items",          Thing::Task,     vec![task::ITEMS]),
        at("/{tenantName}/contract",                             Thing::Tenant,   vec![contract::LIST]),
        at("/{tenantName}/contract/{contractId}",                Thing::Contract, vec![contract::READ]),
        at("/{tenantName}/account",                              Thing::Tenant,   vec![account::LIST]),
        at("/{tenantName}/product",                              Thing::Tenant,   vec![product::LIST]),
        at("/{tenantName}/product/find",                         Thing::Tenant,   vec![product::FIND]),
        at("/{tenantName}/product/{productId}",                  Thing::Product,  vec![product::READ]),
        at("/{tenantName}/summary",                              Thing::Tenant,   vec![summary::READ]),
        at("/{tenantName}/verify",                               Thing::Tenant,   vec![verify::CHECK]),
        // what operators set up
        at("/-/admin/tenants",                                   Thing::Nothing,  vec![tenant::LIST]),
        at("/-/admin/tenants/{tenantName}",                      Thing::Tenant,   vec![tenant::READ, tenant::PUT, tenant::DELETE]),
        at("/-/admin/tenants/{tenantName}/contracts",            Thing::Tenant,   vec![contract::ADMIN_LIST]),
        at("/-/admin/tenants/{tenantName}/contracts/{contractId}", Thing::Contract, vec![contract::ADMIN_READ, contract::PUT, contract::DELETE]),
        at("/-/admin/tenants/{tenantName}/accounts",             Thing::Tenant,   vec![account::ADMIN_LIST]),
        at("/-/admin/tenants/{tenantName}/accounts/{accountName}", Thing::Account, vec![account::ADMIN_READ, account::PUT, account::DELETE]),
        at("/-/admin/tenants/{tenantName}/clients",              Thing::Tenant,   vec![client::LIST, client::CREATE]),
        at("/-/admin/tenants/{tenantName}/clients/{clientId}",   Thing::Client,   vec![client::READ, client::DELETE]),
        // what operators watch
        at_operators("/-/metrics",                                                vec![metrics::READ]),
        // what clients do
        at("/-/oauth2/token",                                    Thing::Nothing,  vec![oauth::TOKEN]),
        // what anyone with a token may see
        at("/-/me",                                              Thing::Nothing,  vec![caller::READ]),
        // what anyone may see
        at_both("/-/live",                                                        vec![public::LIVE]),
        at_both("/-/ready",                                                       vec![public::READY]),
        at("/-/openapi.json",                                    Thing::Nothing,  vec![public::OPENAPI]),
        at("/-/docs",                                            Thing::Nothing,  vec![docs::PAGE]),
        at("/-/docs/",                                           Thing::Nothing,  vec![docs::PAGE_WITH_SLASH]),
        at("/-/docs/{file}",                                     Thing::Nothing,  vec![docs::FILE]),
        at("/-/console",                                         Thing::Nothing,  vec![console::PAGE_WITHOUT_SLASH]),
        at("/-/console/",                                        Thing::Nothing,  vec![console::PAGE]),
        at("/-/console/{*file}",                                 Thing::Nothing,  vec![console::FILE]),
        at("/-/sign-in",                                         Thing::Nothing,  vec![sign_in::READ]),
        at("/-/jwks.json",                                       Thing::Nothing,  vec![public::JWKS]),
    ]
}
