//! The fields of a related party: the account that a product or a problem belongs to.

use gatehouse_core::{Account, AccountName};

use super::account;
use super::shape::{constant, name, some_of, text};
use super::{Body, Object, Schema, must};
use crate::reader::{Field, Shape, Text};

pub(crate) const NAME: Field<Text<AccountName>> =
    Field::new(account::NAME.name, Text::new(name), "The account's name");

pub(crate) const CHARACTERISTIC: Field<Shape> = Field::new(
    "characteristic",
    Shape(|| some_of("Characteristic")),
    "`PLATFORM_ACCOUNT`, the account's identifier at the platform; in a problem also `PLATFORM`",
);

pub(crate) const ROLE: Field<Shape> = Field::new("role", Shape(|| constant("customer")), "");

pub(crate) const CHARACTERISTIC_NAME: Field<Shape> =
    Field::new("name", Shape(text), "The characteristic's name");

pub(crate) const CHARACTERISTIC_VALUE: Field<Shape> =
    Field::new("value", Shape(text), "The characteristic's value");

/// The account of a product; the platform is a field of the product.
pub(crate) fn product_party(account: &Account) -> Body {
    party(account, vec![platform_account(account)])
}

/// The account of a problem.
pub(crate) fn problem_party(account: &Account) -> Body {
    let platform = characteristic("PLATFORM", account.platform.as_str());
    party(account, vec![platform, platform_account(account)])
}

fn party(account: &Account, characteristics: Vec<Body>) -> Body {
    Body::default()
        .put(NAME, account.name.as_str())
        .put(CHARACTERISTIC, characteristics)
        .put(ROLE, "customer")
}

fn platform_account(account: &Account) -> Body {
    characteristic("PLATFORM_ACCOUNT", account.platform_account.as_str())
}

/// A name and its value.
pub(crate) fn characteristic(name: &str, value: &str) -> Body {
    Body::default().put(CHARACTERISTIC_NAME, name).put(CHARACTERISTIC_VALUE, value)
}

/// The schemas of related parties.
pub(crate) fn schemas() -> Vec<Schema> {
    let characteristic = [must(CHARACTERISTIC_NAME), must(CHARACTERISTIC_VALUE)];
    let party = [must(NAME), must(CHARACTERISTIC), must(ROLE)];
    vec![
        Object::response("Characteristic", "A name and a value", characteristic).into(),
        Object::response("RelatedParty", "An account at a platform", party).into(),
    ]
}
