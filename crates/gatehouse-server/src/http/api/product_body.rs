//! Products in responses: the selected fields, and the envelope.
//!
//! A page has up to a thousand products, so they are written directly into the response's bytes.

use bytes::Bytes;
use gatehouse_connectors::ProductParts;
use gatehouse_core::{Account, Connection, IdentifierKind, Product, TenantName};

use crate::fields::party::{CHARACTERISTIC_NAME, CHARACTERISTIC_VALUE, product_party};
use crate::fields::problem::CORRELATION_ID;
use crate::fields::product;
use crate::http::answer::json::Json;
use crate::http::answer::problem::Problem;
use crate::http::route::address::{Address, encoded};
use crate::http::route::query::{self, NO_FIELDS};

/// Estimated bytes of an envelope without its products.
const ENVELOPE_BYTES: usize = 1024;

/// A field of a product, except the identifier, which is always shown.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Field {
    Href,
    Status,
    ConnectivityType,
    ProductCharacteristic,
    RelatedParty,
    CustomProperty,
    Type,
}

impl Field {
    const ALL: [Self; 7] = [
        Self::Href,
        Self::Status,
        Self::ConnectivityType,
        Self::ProductCharacteristic,
        Self::RelatedParty,
        Self::CustomProperty,
        Self::Type,
    ];

    const fn as_str(self) -> &'static str {
        match self {
            Self::Href => product::HREF.name,
            Self::Status => product::STATUS.name,
            Self::ConnectivityType => product::CONNECTIVITY.name,
            Self::ProductCharacteristic => product::CHARACTERISTIC.name,
            Self::RelatedParty => product::RELATED_PARTY.name,
            Self::CustomProperty => product::CUSTOM_PROPERTY.name,
            Self::Type => product::TYPE.name,
        }
    }
}

/// The fields that a request may name. The first one is always shown.
pub(crate) const FIELD_NAMES: &[&str] = &[
    product::ID.name,
    Field::Href.as_str(),
    Field::Status.as_str(),
    Field::ConnectivityType.as_str(),
    Field::ProductCharacteristic.as_str(),
    Field::RelatedParty.as_str(),
    Field::CustomProperty.as_str(),
    Field::Type.as_str(),
];

/// The fields of products that a request selects.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Fields {
    /// All fields.
    All,
    /// Only the identifier, the address, and the correlation ID of the request.
    None,
    /// The named fields, in the order of [`Field::ALL`].
    Named([bool; Field::ALL.len()]),
}

impl Fields {
    /// Estimated bytes of a product.
    fn bytes(&self) -> usize {
        match self {
            Self::All => 800,
            Self::None => 200,
            Self::Named(_) => 400,
        }
    }

    /// Parses names separated by commas. Unknown names are ignored; no name at all selects all fields.
    pub(crate) fn read(text: &str) -> Self {
        let names: Vec<&str> = query::field_names(text).collect();
        match names[..] {
            [] => Self::All,
            [NO_FIELDS] => Self::None,
            _ => Self::Named(Field::ALL.map(|field| names.contains(&field.as_str()))),
        }
    }

    /// The parts to request from platforms for these fields.
    pub(crate) fn parts(&self) -> ProductParts {
        ProductParts {
            status: self.show(Field::Status),
            characteristics: self.show(Field::ProductCharacteristic),
            properties: self.show(Field::CustomProperty),
        }
    }

    fn show(&self, field: Field) -> bool {
        match self {
            Self::All => true,
            Self::None => field == Field::Href,
            Self::Named(named) => named[field as usize],
        }
    }
}

/// Context in which the products of a response are written.
#[derive(Clone, Copy)]
pub(crate) struct View<'a> {
    /// Base of the addresses.
    pub(crate) address: &'a Address,
    /// The tenant of the products.
    pub(crate) tenant: &'a TenantName,
    /// The correlation ID of the request.
    pub(crate) correlation_id: &'a str,
    /// The selected fields.
    pub(crate) fields: Fields,
}

impl View<'_> {
    /// The body of a list or a search: products and problems.
    pub(crate) fn envelope(self, products: &[Product], errors: &[Problem]) -> Bytes {
        let n_bytes = ENVELOPE_BYTES + products.len() * self.fields.bytes();
        let mut json = Json::with_capacity(n_bytes);
        let mut writer = ProductWriter::new(self);
        json.raw("{");
        json.first_member(product::ENTITIES);
        json.list(products, |json, product| writer.write(json, product));
        json.field(&product::ERRORS);
        json.list(errors, |json, problem| json.value(&problem.body(self.correlation_id)));
        json.field(&CORRELATION_ID);
        json.quoted(self.correlation_id);
        json.raw("}");
        json.finish()
    }

    /// One product.
    pub(crate) fn product(self, product: &Product) -> Bytes {
        let mut json = Json::with_capacity(self.fields.bytes());
        ProductWriter::new(self).write(&mut json, product);
        json.finish()
    }
}

/// Writes products one after the other.
struct ProductWriter<'a> {
    view: View<'a>,
    /// The part of the last account: products of one account are adjacent.
    account_part: Option<AccountPart<'a>>,
}

/// JSON that all products of an account share.
struct AccountPart<'a> {
    account: &'a Account,
    /// The common start of the addresses, without the closing quote.
    address: Json,
    /// The account as a related party.
    party: Json,
}

impl<'a> AccountPart<'a> {
    fn new(view: View<'_>, account: &'a Account) -> Self {
        let (mut address, mut party) = (Json::default(), Json::default());
        address.raw("\"");
        address.text(&view.address.products(view.tenant));
        party.value(&[product_party(account)]);
        Self { account, address, party }
    }
}

impl<'a> ProductWriter<'a> {
    fn new(view: View<'a>) -> Self {
        Self { view, account_part: None }
    }

    fn write(&mut self, json: &mut Json, product: &'a Product) {
        let Self { view, account_part } = self;
        let Product { account, connection } = product;
        let same = account_part.take().filter(|it| std::ptr::eq(it.account, &**account));
        let account_part =
            account_part.insert(same.unwrap_or_else(|| AccountPart::new(*view, account)));
        // A platform's name needs no escapes.
        let platform = account.platform.as_str();
        json.raw("{");
        json.first_field(&product::ID);
        json.raw("\"");
        json.raw(platform);
        json.raw("-");
        json.text(&connection.local_id);
        json.raw("\"");
        for field in Field::ALL.into_iter().filter(|field| view.fields.show(*field)) {
            if field == Field::CustomProperty && connection.properties.is_empty() {
                continue;
            }
            json.member(field.as_str());
            match field {
                Field::Href => {
                    json.append(&account_part.address);
                    json.raw(platform);
                    json.raw("-");
                    encoded(&connection.local_id).for_each(|piece| json.raw(piece));
                    json.raw("\"");
                }
                Field::Status => json.quoted(&connection.status),
                Field::ConnectivityType => json.quoted(connection.connectivity.as_str()),
                Field::ProductCharacteristic => write_characteristics(json, product),
                Field::RelatedParty => json.append(&account_part.party),
                Field::CustomProperty => json.list(&connection.properties, |json, property| {
                    write_characteristic(json, &property.name, &property.value);
                }),
                Field::Type => json.raw(r#""IoTConnection""#),
            }
        }
        if view.fields == Fields::None {
            json.field(&CORRELATION_ID);
            json.quoted(view.correlation_id);
        }
        json.raw("}");
    }
}

/// Writes the characteristics of a product, one for each value.
fn write_characteristics(json: &mut Json, product: &Product) {
    let Product { account, connection } = product;
    let imeis = connection.imeis.iter().map(|value| ("IMEI", value.as_str()));
    let status = connection.platform_status.iter().map(|it| ("PLATFORM_STATUS", it.as_str()));
    let platform = ("PLATFORM", account.platform.as_str());
    let all = std::iter::once(platform)
        .chain(identifiers_of(connection, IdentifierKind::Iccid))
        .chain(identifiers_of(connection, IdentifierKind::Imsi))
        .chain(identifiers_of(connection, IdentifierKind::Msisdn))
        .chain(imeis)
        .chain(identifiers_of(connection, IdentifierKind::SerialNumber))
        .chain(status);
    json.list(all, |json, (name, value)| write_characteristic(json, name, value));
}

fn write_characteristic(json: &mut Json, name: &str, value: &str) {
    json.raw("{");
    json.first_field(&CHARACTERISTIC_NAME);
    json.quoted(name);
    json.field(&CHARACTERISTIC_VALUE);
    json.quoted(value);
    json.raw("}");
}

fn identifiers_of(
    connection: &Connection,
    kind: IdentifierKind,
) -> impl Iterator<Item = (&str, &str)> {
    let of_kind = connection.identifiers.iter().filter(move |(it, _)| *it == kind);
    of_kind.map(move |(_, value)| (kind.as_str(), value.as_str()))
}

#[cfg(test)]
pub(crate) mod tests;
