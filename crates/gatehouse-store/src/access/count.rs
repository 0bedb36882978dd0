//! Lists that running numbers can't answer: filters by device name, by a username that very many accesses had, or by
//! start or end. Accesses are scanned one by one, as far as the rest of the filter doesn't exclude them.
//!
//! A scan takes time, so it runs in a [`crate::db::Db::snapshot`]: away from the threads that answer short requests, a
//! few at a time, and within a time limit.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write;

use gatehouse_core::list::request::{ListOrder, ListRequest};
use gatehouse_core::list::{DeviceNameCondition, NumberedSet, RowConditions};
use gatehouse_core::time::span::TimeSpan;
use gatehouse_core::{Access, AccessId, Page, Status, TenantName, Timestamp};

use crate::Store;
use crate::access::bulk;
use crate::access::lookup::{key, key_column, number_column};
use crate::access::plan::Located;
use crate::access::{columns, read};
use crate::db::{SnapshotFor, Tx, Value};
use crate::error::StoreError;

impl Store {
    /// A page of the accesses that any of the terms matches, with their total; and when they had their statuses.
    pub(crate) async fn count_page(
        &self,
        tenant: &TenantName,
        terms: Vec<Located>,
        request: ListRequest,
    ) -> Result<(Page<Access>, Timestamp), StoreError> {
        let name = tenant.clone();
        let counted = self.db.snapshot(SnapshotFor::Scan(tenant), async move |tx| {
            let now = tx.now().await?;
            let mut search = Search::new(&name, &terms, now);
            let page = if request.with_total {
                counted_page(&tx, &mut search, request).await?
            } else {
                uncounted_page(&tx, &mut search, request).await?
            };
            Ok((page, now))
        });
        counted.await
    }
}

impl Store {
    /// The number of accesses that any of the terms matches, and their identifiers if they are at most `n_max`.
    pub(crate) async fn matching_of_rows(
        &self,
        tenant: &TenantName,
        terms: Vec<Located>,
        n_max: u64,
    ) -> Result<(u64, Vec<AccessId>), StoreError> {
        let name = tenant.clone();
        let found = self.db.snapshot(SnapshotFor::Scan(tenant), async move |tx| {
            let now = tx.now().await?;
            let search = Search::new(&name, &terms, now);
            let total = total(&tx, &search).await?;
            if total > n_max {
                return Ok((total, Vec::new()));
            }
            let ids = tx.rows_once(&search.ids(), &search.values, bulk::read_id).await?;
            Ok((total, ids))
        });
        found.await
    }
}

async fn total(tx: &Tx, search: &Search<'_>) -> Result<u64, StoreError> {
    let total = tx.rows_once(&search.total(), &search.values, |row| row.count(0)).await?;
    Ok(total.into_iter().next().unwrap_or_default())
}

async fn counted_page(
    tx: &Tx,
    search: &mut Search<'_>,
    request: ListRequest,
) -> Result<Page<Access>, StoreError> {
    let total = total(tx, search).await?;
    let items = if request.page.offset() < total {
        let sql = search.page(request, request.page.size);
        tx.rows_once(&sql, &search.values, read).await?
    } else {
        Vec::new()
    };
    Ok(Page { request: request.page, items, total })
}

/// A page whose total tells no more than whether another page follows.
async fn uncounted_page(
    tx: &Tx,
    search: &mut Search<'_>,
    request: ListRequest,
) -> Result<Page<Access>, StoreError> {
    let sql = search.page(request, request.page.size + 1);
    let mut items = tx.rows_once(&sql, &search.values, read).await?;
    let total = request.page.offset() + items.len() as u64;
    items.truncate(usize::try_from(request.page.size).unwrap_or(usize::MAX));
    Ok(Page { request: request.page, items, total })
}

/// A search for numbers in the tenant: one statement per term, so that each uses its own index.
struct Search<'t> {
    tenant: &'t TenantName,
    sql: String,
    values: Vec<Value<'t>>,
    /// The ORDER BY expression.
    order: String,
    now: Timestamp,
}

impl<'t> Search<'t> {
    fn new(tenant: &'t TenantName, terms: &'t [Located], now: Timestamp) -> Self {
        let values = vec![tenant.as_str().into()];
        let mut search = Self { tenant, sql: String::new(), values, order: "number".into(), now };
        search.push_single(terms);
        for term in terms.iter().filter(|term| term.single().is_none()) {
            search.push_term(term);
        }
        if let [term] = terms
            && term.rest.username.is_none()
            && term.single().is_none()
        {
            // The set's own order is the same, and its index has it.
            search.order = format!("a.{}", number_column(&term.set));
        }
        search
    }

    fn total(&self) -> String {
        format!("SELECT COUNT(*) FROM ({}) a", self.sql)
    }

    /// The identifiers of all accesses, in order.
    fn ids(&self) -> String {
        let sql = &self.sql;
        format!("SELECT id FROM access WHERE tenant = ?1 AND number IN ({sql}) ORDER BY number")
    }

    /// The accesses on a page, at most `n_max`.
    fn page(&mut self, request: ListRequest, n_max: u64) -> String {
        let (sql, order, columns) = (&self.sql, &self.order, columns!());
        let direction = match request.order {
            ListOrder::OldestFirst => "ASC",
            ListOrder::NewestFirst => "DESC",
        };
        self.values.extend([n_max, request.page.offset()].map(Value::from));
        let n = self.values.len();
        format!(
            "SELECT {columns} FROM access WHERE tenant = ?1 AND number IN \
             ({sql} ORDER BY {order} {direction} LIMIT ?{} OFFSET ?{n}) ORDER BY number {direction}",
            n - 1
        )
    }

    /// Adds one statement for all accesses that are known by their numbers and need the same status and labels: there
    /// may be many, and SQLite takes 500 statements at most.
    fn push_single(&mut self, terms: &'t [Located]) {
        let mut by_conditions: BTreeMap<_, BTreeSet<u64>> = BTreeMap::new();
        for (term, number) in terms.iter().filter_map(|it| Some((it, it.single()?))) {
            let conditions = (term.rest.status, &term.label_parts);
            by_conditions.entry(conditions).or_default().insert(number);
        }
        for ((status, label_parts), numbers) in by_conditions {
            let numbers: Vec<_> = numbers.iter().map(ToString::to_string).collect();
            self.push_select("access a WHERE a.tenant = ?1");
            let _ = write!(self.sql, " AND a.number IN ({})", numbers.join(", "));
            if let Some(status) = status {
                self.push_status(status);
            }
            self.push_labels(label_parts);
        }
    }

    fn push_term(&mut self, term: &'t Located) {
        let Located { set, interval, rest, .. } = term;
        let RowConditions { username, device, status, labels, start, end } = rest;
        if let Some(username) = username {
            // The two indexes of usernames have one part each.
            for part in [" AND n.status <> 'TERMINATED'", " AND n.status = 'TERMINATED'"] {
                self.push_named("n.username =", username.as_str());
                self.sql.push_str(part);
                match device {
                    DeviceNameCondition::Any => {}
                    DeviceNameCondition::Named(name) => self.push("a.device_name =", name.as_str()),
                    DeviceNameCondition::Unnamed => self.sql.push_str(" AND a.device_name IS NULL"),
                }
                self.push_rest(term);
            }
            return;
        }
        let is_alone = *set == NumberedSet::Tenant
            && status.is_none()
            && labels.is_empty()
            && *start == TimeSpan::ALWAYS
            && end.is_none();
        match device {
            DeviceNameCondition::Named(name) if is_alone => {
                // The index of names covers the statement.
                self.push_select("access a WHERE a.tenant = ?1");
                self.push("a.device_name =", name.as_str());
                self.push("a.number >", interval.after);
                self.push("a.number <=", interval.to);
                return;
            }
            DeviceNameCondition::Named(name) => self.push_named("n.device_name =", name.as_str()),
            DeviceNameCondition::Unnamed => {
                self.push_select("access a WHERE a.tenant = ?1 AND a.device_name IS NULL")
            }
            DeviceNameCondition::Any => self.push_select("access a WHERE a.tenant = ?1"),
        }
        self.push_rest(term);
    }

    /// Begins another statement of the union.
    fn push_select(&mut self, from: &str) {
        self.sql.push_str(if self.sql.is_empty() { "" } else { " UNION " });
        // Named, because an ORDER BY over a union needs a column's name.
        let _ = write!(self.sql, "SELECT a.number AS number FROM {from}");
    }

    /// Adds a statement that searches by name first. SQLite has no statistics: in a CROSS JOIN it goes from left to
    /// right, and the plus keeps it from searching the range of numbers first.
    fn push_named(&mut self, comparison: &str, name: &'t str) {
        self.push_select("access n CROSS JOIN access a WHERE n.tenant = ?1");
        self.push(comparison, name);
        self.sql.push_str(" AND a.number = +n.number AND a.tenant = ?1");
    }

    fn push_rest(&mut self, term: &'t Located) {
        let Located { set, interval, rest, label_parts } = term;
        let RowConditions { status, start, end, .. } = rest;
        self.push(&format!("a.{} =", key_column(set)), key(self.tenant, set));
        let number = number_column(set);
        self.push(&format!("a.{number} >"), interval.after);
        self.push(&format!("a.{number} <="), interval.to);
        if let Some(status) = status {
            self.push_status(*status);
        }
        self.push_labels(label_parts);
        self.push_span("a.start_at", *start);
        if let Some(end) = end {
            // Few accesses are left: the plus keeps SQLite from searching the ends of all.
            self.sql.push_str(" AND +a.end_at IS NOT NULL");
            self.push_span("+a.end_at", *end);
        }
    }

    /// Adds the status as of now: an access whose end has come is TERMINATED, whatever is stored.
    fn push_status(&mut self, status: Status) {
        if status == Status::Terminated {
            self.values.push(self.now.into());
            let n = self.values.len();
            let _ = write!(self.sql, " AND (a.status = 'TERMINATED' OR a.end_at <= ?{n})");
        } else {
            self.push("a.status =", status.as_str());
            self.values.push(self.now.into());
            let n = self.values.len();
            let _ = write!(self.sql, " AND (a.end_at IS NULL OR a.end_at > ?{n})");
        }
    }

    /// Adds labels: the stored text of an access's labels holds each of them. Both databases have REPLACE, but name the
    /// search for a text differently.
    fn push_labels(&mut self, parts: &'t [String]) {
        for part in parts {
            self.values.push(part.as_str().into());
            let n = self.values.len();
            let _ = write!(self.sql, " AND a.labels <> REPLACE(a.labels, ?{n}, '')");
        }
    }

    fn push_span(&mut self, column: &str, span: TimeSpan) {
        if span.from > TimeSpan::ALWAYS.from {
            self.push(&format!("{column} >="), span.from);
        }
        if span.until < TimeSpan::ALWAYS.until {
            self.push(&format!("{column} <"), span.until);
        }
    }

    fn push(&mut self, comparison: &str, value: impl Into<Value<'t>>) {
        self.values.push(value.into());
        let _ = write!(self.sql, " AND {comparison} ?{}", self.values.len());
    }
}

#[cfg(test)]
mod tests;
