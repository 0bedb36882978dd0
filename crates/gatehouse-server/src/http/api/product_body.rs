//! Products on the wire: which of their fields, and the envelope that they come in.
//!
//! A page has up to a thousand of them, so they are written straight into the answer's bytes.

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

/// About as many bytes as an answer has beside its products.
const ENVELOPE_BYTES: usize = 1024;

/// A field of a product. Its identifier is always shown, and is none of these.
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

/// The fields that a request may name. The first one is always there.
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

/// Which fields of products a request wants to see.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Fields {
    /// All of them.
    All,
    /// Only what leads to the product: its identifier, its address, and the request that found it.
    None,
    /// Those that were named, in the order of [`Field::ALL`].
    Named([bool; Field::ALL.len()]),
}

impl Fields {
    /// About as many bytes as a product has.
    fn bytes(&self) -> usize {
        match self {
            Self::All => 800,
            Self::None => 200,
            Self::Named(_) => 400,
        }
    }

    /// Reads names with commas between them. Those of no field are ignored; without any name at all, all
    /// fields are wanted.
    pub(crate) fn read(text: &str) -> Self {
        let names: Vec<&str> = query::field_names(text).collect();
        match names[..] {
            [] => Self::All,
            [NO_FIELDS] => Self::None,
            _ => Self::Named(Field::ALL.map(|field| names.contains(&field.as_str()))),
        }
    }

    /// What platforms are to be asked for, so that all of these can be shown.
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

/// How the products of an answer are shown.
#[derive(Clone, Copy)]
pub(crate) struct View<'a> {
    /// What addresses begin with.
    pub(crate) address: &'a Address,
    /// Whose they are.
    pub(crate) tenant: &'a TenantName,
    /// The request that asks for them.
    pub(crate) correlation_id: &'a str,
    /// What is shown of them.
    pub(crate) fields: Fields,
}

impl View<'_> {
    /// The answer of a list or a search: products, and what went wrong beside them.
    pub(crate) fn envelope(self, products: &[Product], errors: &[Problem]) -> Bytes {
        let n_bytes = ENVELOPE_BYTES + products.len() * self.fields.bytes();
        let mut json = Json::with_capacity(n_bytes);
        let mut writer = ProductWriter::new(self);
        json.raw("{");
        json.first_member(product::ENTITIES);
        json.list(products, |json, product| writer.write(json, product));
        json.member(product::ERRORS.name);
        json.list(errors, |json, problem| json.value(&problem.body(self.correlation_id)));
        json.member(CORRELATION_ID.name);
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
    /// Products of one account stand together.
    common: Option<Common<'a>>,
}

/// What is the same in all products of an account, as it is written.
struct Common<'a> {
    account: &'a Account,
    /// What their addresses begin with, without the quote behind it.
    address: Json,
    /// Whose they are.
    party: Json,
}

impl<'a> Common<'a> {
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
        Self { view, common: None }
    }

    fn write(&mut self, json: &mut Json, product: &'a Product) {
        let Self { view, common } = self;
        let Product { account, connection } = product;
        let same = common.take().filter(|it| std::ptr::eq(it.account, &**account));
        let common = common.insert(same.unwrap_or_else(|| Common::new(*view, account)));
        // A platform's name has nothing that must be escaped or encoded.
        let platform = account.platform.as_str();
        json.raw("{");
        json.first_member(product::ID.name);
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
                    json.append(&common.address);
                    json.raw(platform);
                    json.raw("-");
                    encoded(&connection.local_id).for_each(|piece| json.raw(piece));
                    json.raw("\"");
                }
                Field::Status => json.quoted(&connection.status),
                Field::ConnectivityType => json.quoted(connection.connectivity.as_str()),
                Field::ProductCharacteristic => write_characteristics(json, product),
                Field::RelatedParty => json.append(&common.party),
                Field::CustomProperty => json.list(&connection.properties, |json, property| {
                    write_characteristic(json, &property.name, &property.value);
                }),
                Field::Type => json.raw(r#""IoTConnection""#),
            }
        }
        if view.fields == Fields::None {
            json.member(CORRELATION_ID.name);
            json.quoted(view.correlation_id);
        }
        json.raw("}");
    }
}

/// What a product is, name by name; a name comes as often as it has values.
fn write_characteristics(json: &mut Json, product: &Product) {
    let Product { account, connection } = product;
    let imeis = connection.imeis.iter().map(|value| ("IMEI", value.as_str()));
    let status = connection.platform_status.iter().map(|it| ("PLATFORM_STATUS", it.as_str()));
    let platform = ("PLATFORM", account.platform.as_str());
    let all = std::iter::once(platform)
        .chain(carried(connection, IdentifierKind::Iccid))
        .chain(carried(connection, IdentifierKind::Imsi))
        .chain(carried(connection, IdentifierKind::Msisdn))
        .chain(imeis)
        .chain(carried(connection, IdentifierKind::SerialNumber))
        .chain(status);
    json.list(all, |json, (name, value)| write_characteristic(json, name, value));
}

fn write_characteristic(json: &mut Json, name: &str, value: &str) {
    json.raw("{");
    json.first_member(CHARACTERISTIC_NAME.name);
    json.quoted(name);
    json.member(CHARACTERISTIC_VALUE.name);
    json.quoted(value);
    json.raw("}");
}

fn carried(connection: &Connection, kind: IdentifierKind) -> impl Iterator<Item = (&str, &str)> {
    let of_kind = connection.identifiers.iter().filter(move |(it, _)| *it == kind);
    of_kind.map(move |(_, value)| (kind.as_str(), value.as_str()))
}

#[cfg(test)]
pub(crate) mod tests;
