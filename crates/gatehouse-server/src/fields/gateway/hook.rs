//! The fields of a hook: a gateway's right to ask for checks.

use gatehouse_core::{Dialect, Hook, HookName};
use serde_json::json;

use crate::fields::shape::name;
use crate::fields::{Body, Object, Schema, may, must};
use crate::reader::{Field, Instant, OneOf, Shape, Text};

pub(crate) const ID: Field<Shape> = Field::new(
    "id",
    Shape(|| json!({"type": "string", "pattern": "^hook-[0-9a-f-]{36}$"})),
    "The hook's identifier",
)
.example("hook-01a1dd4d-f0c1-7a3e-8b52-9f3d1c000000");

pub(crate) const DIALECT: Field<OneOf<Dialect>> = Field::new(
    "dialect",
    OneOf { all: &Dialect::ALL, as_str: Dialect::as_str },
    "The dialect in which the gateway asks. The key is good for this one alone",
)
.example("basic");

pub(crate) const NAME: Field<Text<HookName>> =
    Field::new("name", Text::new(name), "The hook's display name, if it has one")
        .example("nginx in Hamburg");

pub(crate) const KEY: Field<Shape> = Field::new(
    "key",
    Shape(|| json!({"type": "string", "format": "password"})),
    "The key, for the path (`/demo/verify/~KEY/basic`) or the header `X-Hook-Key`. Shown only here: the server stores \
     a digest.",
)
.example("9DSYd6m4H3HmyNo55iAFm927");

pub(crate) const CREATED_AT: Field<Instant> =
    Field::new("createdAt", Instant, "When the hook was made").example("2026-11-15T09:59:12.335Z");

pub(crate) const USED_AT: Field<Instant> = Field::new(
    "lastUsedAt",
    Instant,
    "The minute in which the key was last used; missing if it never was",
)
.example("2026-11-20T08:15:00.000Z");

/// A hook, with its key if it has just been made.
pub fn hook_body(hook: &Hook, key: Option<&str>) -> Body {
    recorded_body(hook).put_some(KEY, key).put_some(USED_AT, hook.used_at.map(|at| at.to_string()))
}

/// A hook in the audit.
pub(crate) fn recorded_body(hook: &Hook) -> Body {
    Body::default()
        .put(ID, hook.id.to_string())
        .put(DIALECT, hook.dialect.as_str())
        .put_some(NAME, hook.name.as_ref().map(HookName::as_str))
        .put(CREATED_AT, hook.created_at.to_string())
}

/// The body of a POST.
pub(crate) fn new_hook() -> Object {
    let name = may(NAME.described("A display name")).in_example();
    Object::creation("NewHook", "A new hook", [must(DIALECT), name])
}

fn shown(schema: &'static str, description: &'static str) -> Object {
    Object::response(
        schema,
        description,
        [must(ID), must(DIALECT), may(NAME), must(CREATED_AT), may(USED_AT)],
    )
}

/// The schemas of hooks.
pub(crate) fn schemas() -> Vec<Schema> {
    vec![
        new_hook().into(),
        shown("Hook", "A hook, without its key").into(),
        shown("IssuedHook", "A new hook, with its key").and([must(KEY)]).into(),
    ]
}
