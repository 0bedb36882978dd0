//! Summaries of connectors: rows of the table of platforms.

use std::time::Duration;

use serde::Serialize;

use crate::manifest::Manifest;
use crate::manifest::format::detail::Detail;
use crate::manifest::format::look_up::LookUp;
use crate::manifest::format::paging::{Next, PageSize, Paging, PagingBy};
use crate::manifest::format::session::Session;
use crate::manifests::Manifests;

/// Summary of a connector.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct ConnectorSummary {
    /// Name of the connector.
    pub connector: String,
    /// Name of the platform.
    pub title: String,
    /// Connection type.
    pub connectivity: &'static str,
    /// Paging method.
    pub paging: String,
    /// Page sizes.
    pub page_size: String,
    /// Whether pages give the total.
    pub total: &'static str,
    /// Look-up by the platform's ids: `one` at a time, a `batch`, a `scan` of the whole list, or `never`.
    pub id: String,
    /// Look-up by ICCID.
    pub iccid: String,
    /// Look-up by IMSI.
    pub imsi: String,
    /// Look-up by MSISDN.
    pub msisdn: String,
    /// Look-up by serial number.
    pub serial_number: String,
    /// Detail calls, and what they read.
    pub detail: String,
    /// Lifetime of a session.
    pub session: String,
}

impl ConnectorSummary {
    /// Headings of the columns.
    pub const HEADINGS: [&str; 13] = [
        "Connector",
        "Platform",
        "Connected over",
        "Paging",
        "Page size",
        "Total",
        "ID",
        "ICCID",
        "IMSI",
        "MSISDN",
        "Serial number",
        "Detail calls",
        "Session",
    ];

    /// Cells of the row.
    pub fn cells(&self) -> [&str; 13] {
        [
            &self.connector,
            &self.title,
            self.connectivity,
            &self.paging,
            &self.page_size,
            self.total,
            &self.id,
            &self.iccid,
            &self.imsi,
            &self.msisdn,
            &self.serial_number,
            &self.detail,
            &self.session,
        ]
    }
}

impl Manifest {
    /// Summary of the connector.
    pub fn summary(&self) -> ConnectorSummary {
        let [id, iccid, imsi, msisdn, serial_number] =
            self.look_up.all().map(|(_, look_up)| look_up_words(look_up));
        ConnectorSummary {
            connector: self.name().to_string(),
            title: self.title.clone(),
            connectivity: self.connectivity().as_str(),
            paging: self.paging_words(),
            page_size: size_words(&self.paging.size),
            total: if self.paging.capabilities().tells_total { "known" } else { "not known" },
            id,
            iccid,
            imsi,
            msisdn,
            serial_number,
            detail: self.detail.as_ref().map_or("none".into(), detail_words),
            session: self.session.as_ref().map_or("none".into(), session_words),
        }
    }

    /// How its pages are found, in each variant.
    fn paging_words(&self) -> String {
        let variants = self.account.settings.values().flat_map(|it| it.variants.values());
        let all = [&self.paging].into_iter().chain(variants.map(|it| &it.paging));
        all.map(paging_words).collect::<Vec<_>>().join(" or ")
    }
}

impl Manifests {
    /// All summaries as a Markdown table.
    pub fn markdown(&self) -> String {
        // An unescaped bar would end the cell.
        let cell = |text: &str| text.replace('\\', "\\\\").replace('|', "\\|");
        let row = |cells: &[&str]| {
            let cells: Vec<String> = cells.iter().map(|it| cell(it)).collect();
            format!("| {} |\n", cells.join(" | "))
        };
        let mut table = row(&ConnectorSummary::HEADINGS);
        table += &row(&ConnectorSummary::HEADINGS.map(|_| "---"));
        for manifest in self.all() {
            table += &row(&manifest.summary().cells());
        }
        table
    }
}

fn paging_words(paging: &Paging) -> String {
    match (paging.by, &paging.next) {
        (PagingBy::Number, _) => format!("number, from {}", paging.first()),
        (PagingBy::Offset, _) => "offset".into(),
        (PagingBy::Cursor, Some(Next::Body(_))) => "cursor in the body".into(),
        (PagingBy::Cursor, Some(Next::Header(_))) => "cursor in a header".into(),
        (PagingBy::Cursor, Some(Next::LastItem(_))) => "cursor in the last item".into(),
        (PagingBy::Cursor, Some(Next::Url(_))) => "link in the body".into(),
        (PagingBy::Cursor, Some(Next::Link(_))) => "link in a header".into(),
        (PagingBy::Cursor, None) => "cursor".into(),
    }
}

fn size_words(size: &PageSize) -> String {
    match size.bounds() {
        (min, max) if min == max => format!("always {max}"),
        (1, max) => format!("up to {max}"),
        (min, max) => format!("{min} to {max}"),
    }
}

fn look_up_words(look_up: &LookUp) -> String {
    match look_up {
        LookUp::NeverCarried => "never".into(),
        LookUp::NotSearchable => "scan".into(),
        LookUp::Searched(search) if search.at_once == 1 => "one".into(),
        LookUp::Searched(search) => format!("batch of {}", search.at_once),
    }
}

fn detail_words(detail: &Detail) -> String {
    let adds = &detail.adds;
    let numbers = adds.identifiers.kinds().into_iter();
    let numbers = numbers.filter(|(_, selection)| !selection.picks().is_empty());
    let mut what: Vec<&str> = numbers.map(|(kind, _)| kind.as_str()).collect();
    what.extend((!adds.imei.picks().is_empty()).then_some("IMEI"));
    what.extend(adds.status.is_some().then_some("status"));
    what.extend((!adds.properties.is_empty()).then_some("properties"));
    let what = what.join(", ");
    match detail.at_once {
        1 => format!("one each: {what}"),
        n => format!("one for {n}: {what}"),
    }
}

fn session_words(session: &Session) -> String {
    let calls = match session.calls.len() {
        1 => String::new(),
        n => format!("{n} calls, "),
    };
    if session.calls.iter().any(|it| it.expires_in.is_some()) {
        return format!("{calls}as long as it says");
    }
    format!("{calls}{}", span_words(session.lifetime.0))
}

/// A duration in the largest unit that divides it.
fn span_words(span: Duration) -> String {
    let seconds = span.as_secs();
    let units = [(24 * 60 * 60, "d"), (60 * 60, "h"), (60, "m")];
    let fits = |(unit, _): &(u64, &str)| seconds >= *unit && seconds.is_multiple_of(*unit);
    let (unit, letter) = units.into_iter().find(fits).unwrap_or((1, "s"));
    format!("{}{letter}", seconds / unit)
}

#[cfg(test)]
mod tests;
