//! The fields that a browser needs to sign a person in.

use serde_json::json;

use super::shape::{address, list_of, reference, text};
use super::{Body, Object, Schema, client, may, must, tenant};
use crate::auth::SignIn;
use crate::reader::{Field, Flag, Shape};

const ISSUERS: Field<Shape> = Field::new(
    "issuers",
    Shape(|| list_of("SignInIssuer")),
    "The issuers with a client for the console, in the order of the settings",
)
.example_of(|| json!([issuer().example()]));

const DEMO: Field<Shape> = Field::new("demo", Shape(|| reference("DemoToken")), "");

const DEMO_TENANT: Field<Shape> =
    Field::new("tenant", Shape(tenant::tenant_name), "The tenant of the demo");

const DEMO_TOKEN: Field<Shape> =
    Field::new("token", Shape(text), "A new token for the tenant, valid for a day");

const ISSUER: Field<Shape> =
    Field::new("issuer", Shape(address), "The issuer, as in the `iss` of its tokens")
        .example("https://id.example/realms/fleet");

const CLIENT_ID: Field<Shape> =
    Field::new(client::ID.name, Shape(text), "The console's `client_id` at the issuer")
        .example("gatehouse-console");

const AUTHORIZATION: Field<Shape> = Field::new(
    "authorizationEndpoint",
    Shape(address),
    "The address to sign in at; this field and the following ones are left out until the server has reached the issuer",
)
.example("https://id.example/realms/fleet/auth");

const TOKEN: Field<Shape> =
    Field::new("tokenEndpoint", Shape(address), "The address that issues tokens")
        .example("https://id.example/realms/fleet/token");

const END_SESSION: Field<Shape> = Field::new(
    "endSessionEndpoint",
    Shape(address),
    "The address to sign out at, if the issuer has one",
)
.example("https://id.example/realms/fleet/logout");

const REVOCATION: Field<Shape> = Field::new(
    "revocationEndpoint",
    Shape(address),
    "The address that revokes tokens, if the issuer has one",
)
.example("https://id.example/realms/fleet/revoke");

const SCOPE: Field<Shape> =
    Field::new(client::SCOPE.name, Shape(text), "The scopes to request, separated by spaces")
        .example("openid access:read access:write offline_access");

const NAMES_ITSELF: Field<Flag> = Field::new(
    "namesItself",
    Flag,
    "Whether the issuer's redirects carry `iss` (RFC 9207); if so, the console must reject a redirect without it",
)
.example_of(|| true.into());

/// The issuers that people can sign in with, and the tenant and token of a demo.
pub(crate) fn sign_in_body(issuers: &[SignIn], demo: Option<(&str, String)>) -> Body {
    let demo =
        demo.map(|(tenant, token)| Body::default().put(DEMO_TENANT, tenant).put(DEMO_TOKEN, token));
    Body::default()
        .put(ISSUERS, issuers.iter().map(issuer_body).collect::<Vec<_>>())
        .put_some(DEMO, demo)
}

/// An issuer, without addresses until the server has reached it.
fn issuer_body(sign_in: &SignIn) -> Body {
    let SignIn { issuer, client_id, endpoints } = sign_in;
    let body = Body::default().put(ISSUER, issuer).put(CLIENT_ID, client_id);
    let Some(endpoints) = endpoints else { return body };
    body.put(AUTHORIZATION, endpoints.authorization.as_str())
        .put(TOKEN, endpoints.token.as_str())
        .put_some(END_SESSION, endpoints.end_session.as_ref().map(|url| url.as_str()))
        .put_some(REVOCATION, endpoints.revocation.as_ref().map(|url| url.as_str()))
        .put(SCOPE, &endpoints.scope)
        .put(NAMES_ITSELF, endpoints.sends_issuer)
}

fn issuer() -> Object {
    Object::response(
        "SignInIssuer",
        "An issuer that people can sign in with",
        [
            must(ISSUER),
            must(CLIENT_ID),
            may(AUTHORIZATION),
            may(TOKEN),
            may(END_SESSION),
            may(REVOCATION),
            may(SCOPE),
            may(NAMES_ITSELF),
        ],
    )
}

/// The schemas of a sign-in.
pub(crate) fn schemas() -> Vec<Schema> {
    let demo = "The console's token at a demo server, only for a browser on the same machine";
    vec![
        Object::response(
            "SignIn",
            "The ways to sign in with a browser",
            [must(ISSUERS), may(DEMO)],
        )
        .into(),
        Object::response("DemoToken", demo, [must(DEMO_TENANT), must(DEMO_TOKEN)]).into(),
        issuer().into(),
    ]
}
