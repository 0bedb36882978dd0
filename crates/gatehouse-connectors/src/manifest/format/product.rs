//! Mapping of a platform's documents to connections. Only named fields get through.

use std::sync::Arc;

use gatehouse_core::product::{Connectivity, LOCAL_ID_CHARS_MAX, is_local_id};
use gatehouse_core::{Connection, IdentifierKind};
#[cfg(test)]
use schemars::JsonSchema;
use serde::Deserialize;
use smol_str::SmolStr;

use super::condition::Condition;
use super::path::Json;
use super::property::PropertyRule;
use super::selection::Selection;
use super::status::Status;
use crate::connector::ProductParts;
use crate::failure::{Failure, FailureKind};

/// How a document of the list or a look-up becomes a connection.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[cfg_attr(test, derive(JsonSchema))]
#[serde(deny_unknown_fields)]
pub(crate) struct Mapping {
    /// The platform's id, unique on the platform.
    pub(crate) id: Selection,
    /// Status.
    pub(crate) status: Status,
    /// Numbers of the connection.
    #[serde(default)]
    pub(crate) identifiers: Identifiers,
    /// IMEIs of its devices.
    #[serde(default)]
    pub(crate) imei: Selection,
    /// Properties set by the customer.
    #[serde(default)]
    pub(crate) properties: Vec<PropertyRule>,
    /// Condition for satellite connections, if the platform has several types.
    #[serde(default)]
    pub(crate) satellite_when: Option<Condition>,
}

/// Numbers of a connection, by kind.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize)]
#[cfg_attr(test, derive(JsonSchema))]
#[serde(deny_unknown_fields)]
pub(crate) struct Identifiers {
    /// ICCIDs of SIM cards.
    #[serde(default)]
    pub(crate) iccid: Selection,
    /// IMSIs of subscriptions.
    #[serde(default)]
    pub(crate) imsi: Selection,
    /// MSISDNs, the phone numbers, without `+`.
    #[serde(default)]
    pub(crate) msisdn: Selection,
    /// Serial numbers of terminals.
    #[serde(default)]
    pub(crate) serial_number: Selection,
}

/// Parts that a detail document adds to a connection.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize)]
#[cfg_attr(test, derive(JsonSchema))]
#[serde(deny_unknown_fields)]
pub(crate) struct Additions {
    /// Status that replaces the list's.
    #[serde(default)]
    pub(crate) status: Option<Status>,
    /// Further numbers.
    #[serde(default)]
    pub(crate) identifiers: Identifiers,
    /// Further IMEIs.
    #[serde(default)]
    pub(crate) imei: Selection,
    /// Further properties.
    #[serde(default)]
    pub(crate) properties: Vec<PropertyRule>,
}

impl Identifiers {
    /// Selection of each kind.
    pub(crate) fn kinds(&self) -> [(IdentifierKind, &Selection); 4] {
        [
            (IdentifierKind::Iccid, &self.iccid),
            (IdentifierKind::Imsi, &self.imsi),
            (IdentifierKind::Msisdn, &self.msisdn),
            (IdentifierKind::SerialNumber, &self.serial_number),
        ]
    }

    /// Adds the numbers of a document. Returns a kind whose digits were lost, if any.
    fn collect(
        &self,
        document: &impl Json,
        found: &mut Vec<(IdentifierKind, SmolStr)>,
    ) -> Option<IdentifierKind> {
        let mut lost = None;
        // A selection has no duplicates, so only earlier numbers are compared.
        let n_before = found.len();
        for (kind, selection) in self.kinds() {
            let texts = selection.texts(document);
            if texts.is_empty() && selection.loses_digits(document) {
                lost = Some(kind);
            }
            for text in texts {
                let number = (kind, text);
                if !found[..n_before].contains(&number) {
                    found.push(number);
                }
            }
        }
        lost
    }
}

impl Mapping {
    /// Maps a document to a connection.
    pub(crate) fn connection(
        &self,
        document: &impl Json,
        usual: Connectivity,
    ) -> Result<Connection, Failure> {
        let local_id = self.id.first(document).ok_or_else(no_id)?;
        if !is_local_id(&local_id) {
            return Err(bad_id());
        }
        let (status, platform_status) = self.status.of(document);
        let mut identifiers = Vec::new();
        if let Some(kind) = self.identifiers.collect(document, &mut identifiers) {
            return Err(lost_digits(kind));
        }
        let mut properties = Vec::new();
        self.properties.iter().for_each(|rule| rule.collect(document, &mut properties));
        let is_satellite = self.satellite_when.as_ref().is_some_and(|it| it.holds(None, document));
        Ok(Connection {
            local_id,
            status,
            platform_status,
            connectivity: if is_satellite { Connectivity::Satellite } else { usual },
            identifiers,
            imeis: self.imei.texts(document),
            properties,
        })
    }
}

impl Additions {
    /// Adds a document's parts to a connection.
    pub(crate) fn add(&self, document: &impl Json, connection: &mut Connection) {
        if let Some(status) = &self.status {
            (connection.status, connection.platform_status) = status.of(document);
        }
        self.identifiers.collect(document, &mut connection.identifiers);
        for imei in self.imei.texts(document) {
            if !connection.imeis.contains(&imei) {
                connection.imeis.push(imei);
            }
        }
        self.properties.iter().for_each(|rule| rule.collect(document, &mut connection.properties));
    }

    /// The parts that it adds.
    pub(crate) fn parts(&self) -> ProductParts {
        let has_numbers = self.identifiers.kinds().iter().any(|(_, it)| !it.picks().is_empty());
        ProductParts {
            status: self.status.is_some(),
            // The platform's own status is a characteristic.
            characteristics: has_numbers || !self.imei.picks().is_empty() || self.status.is_some(),
            properties: !self.properties.is_empty(),
        }
    }
}

/// A connection with the parts of its detail documents.
pub(crate) fn with_additions(
    connection: &Arc<Connection>,
    additions: &Additions,
    documents: &[impl Json],
) -> Arc<Connection> {
    let mut connection = Connection::clone(connection);
    documents.iter().for_each(|document| additions.add(document, &mut connection));
    Arc::new(connection)
}

fn lost_digits(kind: IdentifierKind) -> Failure {
    let kind = kind.as_str();
    let detail = format!(
        "the platform writes an {kind} as a number with more digits than JSON numbers can have, so that \
         digits are lost"
    );
    Failure::new(FailureKind::Error, detail)
}

fn no_id() -> Failure {
    let detail = "the platform has a connection without an id: `product.id` leads to nothing in it";
    Failure::new(FailureKind::Error, detail)
}

fn bad_id() -> Failure {
    let detail = format!(
        "the platform has a connection whose id is not 1 to {LOCAL_ID_CHARS_MAX} characters \
         without control characters"
    );
    Failure::new(FailureKind::Error, detail)
}

#[cfg(test)]
mod tests;
