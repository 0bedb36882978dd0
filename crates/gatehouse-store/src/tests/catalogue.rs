//! The schema can be distributed by tenant, as PostgreSQL's catalogue shows.

use std::collections::BTreeSet;

use super::*;
use crate::db::Row;

/// Small tables that belong to no tenant: of the schema, the servers and their keys, and revocations.
const NO_TENANTS: [&str; 4] = ["ended", "replica", "schema_version", "server_key"];

/// Indexes across tenants: the work queue is also read by time.
const ACROSS_TENANTS: [&str; 1] = ["due_kind"];

async fn names(store: &Store, sql: &'static str) -> Vec<(String, String)> {
    let read = |row: &Row<'_>| Ok((row.text(0)?, row.text(1)?));
    store.db.rows(sql, &[], read).await.unwrap()
}

async fn store(test: &str) -> Store {
    Store::open_postgres(&empty_schema(test).await, Clock::machine()).await.unwrap()
}

#[tokio::test]
async fn every_key_and_every_index_begins_with_the_tenant() {
    let store = store("begins_with_the_tenant").await;
    let indexes = "SELECT t.relname::text || '.' || i.relname::text, \
                   pg_get_indexdef(x.indexrelid, 1, false) \
                   FROM pg_index x JOIN pg_class i ON i.oid = x.indexrelid \
                   JOIN pg_class t ON t.oid = x.indrelid \
                   WHERE t.relnamespace = current_schema()::regnamespace ORDER BY 1";
    let indexes = names(&store, indexes).await;
    assert!(indexes.len() > 20, "{indexes:?}");
    let mut exceptions = BTreeSet::new();
    for (index, first_column) in &indexes {
        let (table, index) = index.split_once('.').unwrap();
        if NO_TENANTS.contains(&table) {
            continue;
        }
        if first_column != "tenant" {
            exceptions.insert(index);
        }
    }
    assert_eq!(exceptions, BTreeSet::from(ACROSS_TENANTS), "of all indexes, unique or not");
    let unique_without = "SELECT t.relname::text, i.relname::text FROM pg_index x \
                          JOIN pg_class i ON i.oid = x.indexrelid \
                          JOIN pg_class t ON t.oid = x.indrelid \
                          WHERE t.relnamespace = current_schema()::regnamespace \
                          AND x.indisunique AND NOT EXISTS (SELECT 1 FROM pg_attribute a \
                          WHERE a.attrelid = t.oid AND a.attname = 'tenant' \
                          AND a.attnum = ANY(x.indkey)) ORDER BY 1";
    let tables: Vec<_> = names(&store, unique_without).await;
    let tables: Vec<_> = tables.iter().map(|(table, _)| table.as_str()).collect();
    assert_eq!(tables, NO_TENANTS, "keys without a tenant");
}

#[tokio::test]
async fn every_table_has_a_key_and_a_tenant() {
    let store = store("a_key_and_a_tenant").await;
    let without = "SELECT c.relname::text, '' FROM pg_class c \
                   WHERE c.relkind = 'r' AND c.relnamespace = current_schema()::regnamespace \
                   AND NOT EXISTS (SELECT 1 FROM pg_attribute a WHERE a.attrelid = c.oid \
                   AND a.attname = 'tenant' AND a.attnotnull) ORDER BY 1";
    let tables: Vec<_> = names(&store, without).await.into_iter().map(|(table, _)| table).collect();
    assert_eq!(tables, NO_TENANTS);
    let keyless = "SELECT c.relname::text, '' FROM pg_class c \
                   WHERE c.relkind = 'r' AND c.relnamespace = current_schema()::regnamespace \
                   AND NOT EXISTS (SELECT 1 FROM pg_index x WHERE x.indrelid = c.oid \
                   AND x.indisprimary)";
    assert_eq!(names(&store, keyless).await, []);
}

#[tokio::test]
async fn nothing_in_the_schema_reaches_over_tenants() {
    let store = store("reaches_over_tenants").await;
    let others = "SELECT c.relname::text, c.relkind::text FROM pg_class c \
                  WHERE c.relnamespace = current_schema()::regnamespace \
                  AND c.relkind NOT IN ('r', 'i', 't') \
                  UNION ALL SELECT tgname::text, 'trigger' FROM pg_trigger t \
                  JOIN pg_class c ON c.oid = t.tgrelid \
                  WHERE c.relnamespace = current_schema()::regnamespace \
                  UNION ALL SELECT conname::text, 'constraint ' || contype::text FROM pg_constraint \
                  WHERE connamespace = current_schema()::regnamespace \
                  AND contype NOT IN ('p', 'u', 'n') \
                  UNION ALL SELECT proname::text, 'function' FROM pg_proc \
                  WHERE pronamespace = current_schema()::regnamespace ORDER BY 1";
    assert_eq!(
        names(&store, others).await,
        // A tenant's entries draw from them in the order of their changes; the draws of different tenants have no order.
        [("audit_new_draw_seq", "S"), ("event_new_draw_seq", "S")]
            .map(|(name, kind)| (name.to_owned(), kind.to_owned())),
        "sequences, views, triggers, foreign keys, functions"
    );
}

#[tokio::test]
async fn the_statements_that_distribute_the_tables_name_each_of_them() {
    let store = store("distribute_the_tables").await;
    let tables = "SELECT relname::text, '' FROM pg_class \
                  WHERE relkind = 'r' AND relnamespace = current_schema()::regnamespace";
    let tables: BTreeSet<_> = names(&store, tables).await.into_iter().map(|it| it.0).collect();
    let page = include_str!("../../../../docs/operating.md");
    let named = |function: &str| {
        let calls =
            page.lines().filter_map(|line| line.strip_prefix("SELECT ")?.strip_prefix(function));
        let named = calls.filter_map(|rest| rest.split('\'').nth(1));
        named.map(str::to_owned).collect::<BTreeSet<_>>()
    };
    let (distributed, everywhere) =
        (named("create_distributed_table("), named("create_reference_table("));
    assert_eq!(everywhere, NO_TENANTS.map(str::to_owned).into());
    assert_eq!(&distributed | &everywhere, tables);
    assert!(distributed.is_disjoint(&everywhere));
}
