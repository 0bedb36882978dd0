//! The route table, on one screen.

use crate::http::api::{
    access, account, audit, batch, caller, client, contract, event, hook, hub, oauth, product,
    search, summary, task, tenant, verify,
};
use crate::http::pages::{console, docs, metrics, public, sign_in};
use crate::http::route::resource::{PathObject, Resource, Served};

#[rustfmt::skip]
pub(crate) fn table() -> Vec<Resource> {
    let at = |path, object, operations| Resource { path, object, served: Served::Main, operations };
    let at_both = |path, operations| Resource { served: Served::Both, ..at(path, PathObject::None, operations) };
    let at_operators = |path, operations| Resource { served: Served::Operator, ..at(path, PathObject::None, operations) };
    vec![
        // for tenants
        at("/{tenantName}/access",                               PathObject::Tenant,   vec![access::LIST, access::CREATE]),
        at("/{tenantName}/access/{accessId}",                    PathObject::Access,   vec![access::READ, access::UPDATE]),
        at("/{tenantName}/access/batch",                         PathObject::Tenant,   vec![task::LIST, batch::CREATE, batch::PATCH]),
        at("/{tenantName}/access/batchUpdate",                   PathObject::Tenant,   vec![batch::UPDATE]),
        at("/{tenantName}/access/batch/{taskId}",                PathObject::Task,     vec![task::READ, task::STOP]),
        at("/{tenantName}/access/batch/{taskId}/progress",       PathObject::Task,     vec![task::PROGRESS]),
        at("/{tenantName}/access/batch/{taskId}/items",          PathObject::Task,     vec![task::ITEMS]),
        at("/{tenantName}/contract",                             PathObject::Tenant,   vec![contract::LIST]),
        at("/{tenantName}/contract/{contractId}",                PathObject::Contract, vec![contract::READ]),
        at("/{tenantName}/account",                              PathObject::Tenant,   vec![account::LIST]),
        at("/{tenantName}/product",                              PathObject::Tenant,   vec![product::LIST]),
        at("/{tenantName}/product/find",                         PathObject::Tenant,   vec![product::FIND]),
        at("/{tenantName}/product/{productId}",                  PathObject::Product,  vec![product::READ]),
        at("/{tenantName}/access/{accessId}/event",              PathObject::Access,   vec![event::HISTORY]),
        at("/{tenantName}/event",                                PathObject::Tenant,   vec![event::LIST]),
        at("/{tenantName}/hub",                                  PathObject::Tenant,   vec![hub::LIST, hub::CREATE]),
        at("/{tenantName}/hub/{hubId}",                          PathObject::Hub,      vec![hub::READ, hub::UPDATE, hub::DELETE]),
        at("/{tenantName}/hub/{hubId}/delivery",                 PathObject::Hub,      vec![hub::DELIVERIES]),
        at("/{tenantName}/hub/{hubId}/deadLetter",               PathObject::Hub,      vec![hub::DEAD_LETTERS]),
        at("/{tenantName}/hub/{hubId}/replay",                   PathObject::Hub,      vec![hub::REPLAY]),
        at("/{tenantName}/search",                               PathObject::Tenant,   vec![search::FIND]),
        at("/{tenantName}/summary",                              PathObject::Tenant,   vec![summary::READ]),
        at("/{tenantName}/verify",                               PathObject::Tenant,   vec![verify::CHECK]),
        at("/{tenantName}/verify/basic",                         PathObject::Tenant,   vec![verify::basic::CHECK]),
        at("/{tenantName}/verify/rabbitmq/user",                 PathObject::Tenant,   verify::rabbitmq::USER.into()),
        at("/{tenantName}/verify/rabbitmq/vhost",                PathObject::Tenant,   verify::rabbitmq::VHOST.into()),
        at("/{tenantName}/verify/rabbitmq/resource",             PathObject::Tenant,   verify::rabbitmq::RESOURCE.into()),
        at("/{tenantName}/verify/rabbitmq/topic",                PathObject::Tenant,   verify::rabbitmq::TOPIC.into()),
        at("/{tenantName}/verify/emqx",                          PathObject::Tenant,   vec![verify::emqx::CHECK]),
        at("/{tenantName}/verify/emqx/authorize",                PathObject::Tenant,   vec![verify::emqx::AUTHORIZE]),
        at("/{tenantName}/verify/mosquitto/user",                PathObject::Tenant,   vec![verify::mosquitto::USER]),
        at("/{tenantName}/verify/mosquitto/superuser",           PathObject::Tenant,   vec![verify::mosquitto::SUPERUSER]),
        at("/{tenantName}/verify/mosquitto/acl",                 PathObject::Tenant,   vec![verify::mosquitto::ACL]),
        at("/{tenantName}/verify/vernemq",                       PathObject::Tenant,   vec![verify::vernemq::CHECK]),
        at("/{tenantName}/verify/radius/authorize",              PathObject::Tenant,   vec![verify::radius::AUTHORIZE]),
        at("/{tenantName}/verify/radius/authenticate",           PathObject::Tenant,   vec![verify::radius::AUTHENTICATE]),
        at("/{tenantName}/verify/radius/post-auth",              PathObject::Tenant,   vec![verify::radius::POST_AUTH]),
        at("/{tenantName}/verify/radius/accounting",             PathObject::Tenant,   vec![verify::radius::ACCOUNTING]),
        // for operators: administration
        at("/-/admin/tenants",                                   PathObject::None,  vec![tenant::LIST]),
        at("/-/admin/tenants/{tenantName}",                      PathObject::Tenant,   vec![tenant::READ, tenant::PUT, tenant::DELETE]),
        at("/-/admin/tenants/{tenantName}/contracts",            PathObject::Tenant,   vec![contract::ADMIN_LIST]),
        at("/-/admin/tenants/{tenantName}/contracts/{contractId}", PathObject::Contract, vec![contract::ADMIN_READ, contract::PUT, contract::DELETE]),
        at("/-/admin/tenants/{tenantName}/accounts",             PathObject::Tenant,   vec![account::ADMIN_LIST]),
        at("/-/admin/tenants/{tenantName}/accounts/{accountName}", PathObject::Account, vec![account::ADMIN_READ, account::PUT, account::DELETE]),
        at("/-/admin/tenants/{tenantName}/clients",              PathObject::Tenant,   vec![client::LIST, client::CREATE]),
        at("/-/admin/tenants/{tenantName}/clients/{clientId}",   PathObject::Client,   vec![client::READ, client::DELETE]),
        at("/-/admin/tenants/{tenantName}/hooks",                PathObject::Tenant,   vec![hook::LIST, hook::CREATE]),
        at("/-/admin/tenants/{tenantName}/hooks/{hookId}",       PathObject::Hook,     vec![hook::READ, hook::DELETE]),
        at("/-/admin/tenants/{tenantName}/audit",                PathObject::Tenant,   vec![audit::OF_TENANT]),
        at("/-/admin/audit",                                     PathObject::None,  vec![audit::OF_ESTATE]),
        // for operators: metrics
        at_operators("/-/metrics",                                                vec![metrics::READ]),
        // for OAuth clients
        at("/-/oauth2/token",                                    PathObject::None,  vec![oauth::TOKEN]),
        // for every token
        at("/-/me",                                              PathObject::None,  vec![caller::READ]),
        // public
        at_both("/-/live",                                                        vec![public::LIVE]),
        at_both("/-/ready",                                                       vec![public::READY]),
        at("/-/openapi.json",                                    PathObject::None,  vec![public::OPENAPI]),
        at("/-/docs",                                            PathObject::None,  vec![docs::PAGE]),
        at("/-/docs/",                                           PathObject::None,  vec![docs::PAGE_WITH_SLASH]),
        at("/-/docs/{file}",                                     PathObject::None,  vec![docs::FILE]),
        at("/-/console",                                         PathObject::None,  vec![console::PAGE_WITHOUT_SLASH]),
        at("/-/console/",                                        PathObject::None,  vec![console::PAGE]),
        at("/-/console/{*file}",                                 PathObject::None,  vec![console::FILE]),
        at("/-/sign-in",                                         PathObject::None,  vec![sign_in::READ]),
        at("/-/jwks.json",                                       PathObject::None,  vec![public::JWKS]),
    ]
}
