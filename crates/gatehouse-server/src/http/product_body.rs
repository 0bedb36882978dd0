//! Products on the wire: which of their fields, and the envelope that they come in.
//!
//! A page has up to a thousand of them, so nothing is copied on the way: every body borrows what it shows
//! and is written once.

use gatehouse_core::product::Property;
use gatehouse_core::{Connection, IdentifierKind, Product, TenantName};
use serde::Serialize;
use serde::ser::{SerializeMap, Serializer};

use super::address::Address;
use super::party::Party;
use super::problem::{Problem, ProblemBody};

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

    fn as_str(self) -> &'static str {
        match self {
            Self::Href => "href",
            Self::Status => "status",
            Self::ConnectivityType => "connectivityType",
            Self::ProductCharacteristic => "productCharacteristic",
            Self::RelatedParty => "relatedParty",
            Self::CustomProperty => "customProperty",
            Self::Type => "@type",
        }
    }
}

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
    /// The word that stands for no fields, alone.
    const NONE: &str = "none";

    /// About as many bytes as a product has.
    pub(crate) fn bytes(&self) -> usize {
        match self {
            Self::All => 800,
            Self::None => 200,
            Self::Named(_) => 400,
        }
    }

    /// Reads names with commas between them. Those of no field are ignored; without any name at all, all
    /// fields are wanted.
    pub(crate) fn read(text: &str) -> Self {
        let mut names = text.split(',').map(str::trim).filter(|name| !name.is_empty()).peekable();
        if names.peek().is_none() {
            return Self::All;
        }
        let names: Vec<&str> = names.collect();
        if names == [Self::NONE] {
            return Self::None;
        }
        Self::Named(Field::ALL.map(|field| names.contains(&field.as_str())))
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

impl<'a> View<'a> {
    /// One product.
    pub(crate) fn product(self, product: &'a Product) -> ProductBody<'a> {
        ProductBody { view: self, product }
    }

    /// Products, and what went wrong beside them.
    pub(crate) fn envelope(self, products: &'a [Product], errors: &'a [Problem]) -> Envelope<'a> {
        Envelope {
            entities: products.iter().map(|product| self.product(product)).collect(),
            errors: errors.iter().map(|problem| problem.wire(self.correlation_id)).collect(),
            correlation_id: self.correlation_id,
        }
    }
}

/// The answer of a list or a search.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct Envelope<'a> {
    entities: Vec<ProductBody<'a>>,
    errors: Vec<ProblemBody<'a>>,
    correlation_id: &'a str,
}

/// A product on the wire.
pub(crate) struct ProductBody<'a> {
    view: View<'a>,
    product: &'a Product,
}

impl Serialize for ProductBody<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let Self { view, product } = self;
        let Product { account, connection } = product;
        let mut body = serializer.serialize_map(None)?;
        let id = format_args!("{}-{}", account.platform, connection.local_id);
        body.serialize_entry("id", &id)?;
        for field in Field::ALL.into_iter().filter(|field| view.fields.show(*field)) {
            let name = field.as_str();
            match field {
                Field::Href => {
                    let address = view.address.product(view.tenant, product);
                    body.serialize_entry(name, &format_args!("{address}"))?;
                }
                Field::Status => body.serialize_entry(name, &connection.status)?,
                Field::ConnectivityType => {
                    body.serialize_entry(name, connection.connectivity.as_str())?;
                }
                Field::ProductCharacteristic => {
                    body.serialize_entry(name, &Characteristics(product))?;
                }
                Field::RelatedParty => body.serialize_entry(name, &[Party::new(account)])?,
                Field::CustomProperty if connection.properties.is_empty() => {}
                Field::CustomProperty => {
                    body.serialize_entry(name, &Properties(&connection.properties))?;
                }
                Field::Type => body.serialize_entry(name, "IoTConnection")?,
            }
        }
        if view.fields == Fields::None {
            body.serialize_entry("correlationId", view.correlation_id)?;
        }
        body.end()
    }
}

/// Something that has a name and a value.
#[derive(Clone, Copy, Serialize)]
pub(crate) struct Characteristic<'a> {
    pub(crate) name: &'a str,
    pub(crate) value: &'a str,
}

/// What a product is, name by name; a name comes as often as it has values.
struct Characteristics<'a>(&'a Product);

impl Serialize for Characteristics<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let Product { account, connection } = self.0;
        let platform = Characteristic { name: "PLATFORM", value: account.platform.as_str() };
        let imeis = connection.imeis.iter().map(|value| Characteristic { name: "IMEI", value });
        let status = connection.platform_status.iter();
        let status = status.map(|value| Characteristic { name: "PLATFORM_STATUS", value });
        let all = std::iter::once(platform)
            .chain(carried(connection, IdentifierKind::Iccid))
            .chain(carried(connection, IdentifierKind::Imsi))
            .chain(carried(connection, IdentifierKind::Msisdn))
            .chain(imeis)
            .chain(carried(connection, IdentifierKind::SerialNumber))
            .chain(status);
        serializer.collect_seq(all)
    }
}

fn carried(
    connection: &Connection,
    kind: IdentifierKind,
) -> impl Iterator<Item = Characteristic<'_>> {
    let of_kind = connection.identifiers.iter().filter(move |(it, _)| *it == kind);
    of_kind.map(move |(_, value)| Characteristic { name: kind.as_str(), value })
}

/// What the customer wrote on a product.
struct Properties<'a>(&'a [Property]);

impl Serialize for Properties<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_seq(
            self.0.iter().map(|Property { name, value }| Characteristic { name, value }),
        )
    }
}

#[cfg(test)]
pub(crate) mod tests;
