//! Lists that no running number answers: those that ask for a name, or for when the active period
//! begins or ends. Accesses are looked at one by one, as many as the rest of the filter leaves.
//!
//! That takes time, so it happens in a [`crate::db::Db::snapshot`]: away from the threads that answer
//! everyone else, a few at a time, and not for longer than [`COUNT_SECONDS_MAX`].

use std::fmt::Write;
use std::time::Duration;

use gatehouse_core::list::{Rest, Set};
use gatehouse_core::span::Span;
use gatehouse_core::{Access, Page, PageRequest, TenantName};

use crate::Store;
use crate::access::{columns, read};
use crate::db::Value;
use crate::error::StoreError;
use crate::list::{Located, key};

/// How long one list may look at accesses one by one.
pub const COUNT_SECONDS_MAX: u64 = 10;

impl Store {
    /// A page of the accesses that any of the terms reaches, counted.
    pub(crate) async fn count_page(
        &self,
        tenant: &TenantName,
        terms: Vec<Located>,
        request: PageRequest,
    ) -> Result<Page<Access>, StoreError> {
        let tenant = tenant.clone();
        let limit = Some(Duration::from_secs(COUNT_SECONDS_MAX));
        let counted = self.db.snapshot(limit, async move |tx| {
            let search = Search::new(&tenant, &terms);
            let sql = format!("SELECT COUNT(*) FROM access WHERE {}", search.sql);
            let total = tx.rows_once(&sql, &search.values, |row| row.count(0)).await?;
            let total = total.into_iter().next().unwrap_or_default();
            if request.offset() >= total {
                return Ok(Page { request, items: Vec::new(), total });
            }
            let columns = columns!();
            let Search { sql, mut values, order } = search;
            let n = values.len();
            values.extend([request.size, request.offset()].map(Value::from));
            let sql = format!(
                "SELECT {columns} FROM access WHERE {sql} ORDER BY {order} LIMIT ?{} OFFSET ?{}",
                n + 1,
                n + 2
            );
            let items = tx.rows_once(&sql, &values, read).await?;
            Ok(Page { request, items, total })
        });
        counted.await
    }
}

/// The condition of a search, with its values.
struct Search<'t> {
    sql: String,
    values: Vec<Value<'t>>,
    /// The column that puts the accesses in their order.
    order: &'static str,
}

impl<'t> Search<'t> {
    fn new(tenant: &'t TenantName, terms: &'t [Located]) -> Self {
        let mut search = Self {
            sql: "tenant = ?1".into(),
            values: vec![tenant.as_str().into()],
            order: "number",
        };
        if let [term] = terms {
            // The set's own order is the same, and its index has it.
            search.order = number_column(&term.set);
        }
        search.sql.push_str(" AND (");
        for (n, term) in terms.iter().enumerate() {
            search.sql.push_str(if n > 0 { " OR (" } else { "(" });
            search.push_term(term);
            search.sql.push(')');
        }
        search.sql.push(')');
        search
    }

    fn push_term(&mut self, term: &'t Located) {
        let Located { set, interval, rest } = term;
        let Rest { device_name, start, end } = rest;
        if let Some(name) = device_name {
            self.push("device_name = ", name.as_str());
            self.sql.push_str(" AND ");
        }
        if let Some(key) = key(set) {
            // With a name its index is the one to use, as it leaves fewest.
            let by_name = device_name.is_some();
            self.push(key_column(set, by_name), key);
            self.sql.push_str(" AND ");
        }
        let number = number_column(set);
        let _ = write!(self.sql, "{number} ");
        self.push("> ", interval.after);
        let _ = write!(self.sql, " AND {number} ");
        self.push("<= ", interval.to);
        self.push_span("start_at", *start);
        if let Some(end) = end {
            self.sql.push_str(" AND end_at IS NOT NULL");
            self.push_span("end_at", *end);
        }
    }

    fn push_span(&mut self, column: &str, span: Span) {
        if span.from > Span::ALWAYS.from {
            let _ = write!(self.sql, " AND {column} ");
            self.push(">= ", span.from);
        }
        if span.until < Span::ALWAYS.until {
            let _ = write!(self.sql, " AND {column} ");
            self.push("< ", span.until);
        }
    }

    fn push(&mut self, sql: &str, value: impl Into<Value<'t>>) {
        self.values.push(value.into());
        let _ = write!(self.sql, "{sql}?{}", self.values.len());
    }
}

fn number_column(set: &Set) -> &'static str {
    match set {
        Set::Tenant => "number",
        Set::Offering(_) => "offering_number",
        Set::Contract(_) => "contract_number",
        Set::Job(_) => "job_number",
    }
}

/// The column that says which set an access belongs to, or the same in a form that no index has.
fn key_column(set: &Set, is_unindexed: bool) -> &'static str {
    match (set, is_unindexed) {
        (Set::Tenant, _) => "",
        (Set::Offering(_), false) => "offering_id = ",
        (Set::Offering(_), true) => "offering_id || '' = ",
        (Set::Contract(_), false) => "contract_id = ",
        (Set::Contract(_), true) => "contract_id || '' = ",
        (Set::Job(_), _) => "job = ",
    }
}
