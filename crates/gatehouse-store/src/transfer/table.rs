//! All tables that are copied, with their columns: the one list for copying and comparing.
//!
//! A test compares the list with the catalogues of both databases, so that no later table or column is forgotten.

use tokio_postgres::types::Type;

use super::watermark;
use crate::keys::secret;

/// A table to copy.
pub(crate) struct Table {
    pub(crate) name: &'static str,
    /// All columns, beginning with those of the primary key in its order.
    pub(crate) columns: &'static [Column],
    /// Number of columns in the primary key.
    pub(crate) n_key: usize,
    /// SQL expressions of SQLite that replace columns.
    sent: &'static [(&'static str, &'static str)],
    /// Rows that are read together: a few megabytes.
    pub(crate) n_at_once: usize,
}

/// A column.
pub(crate) struct Column {
    pub(crate) name: &'static str,
    pub(crate) kind: ColumnKind,
}

/// Type of a column.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum ColumnKind {
    Integer,
    Text,
    Bytes,
}

/// Side of the transfer that a table is read on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Side {
    Source,
    Target,
}

/// Tables that aren't copied, because each database has its own.
#[cfg(test)]
pub(crate) const NOT_COPIED: &[&str] = &["replica", "schema_version"];

/// The tables in the order of copying. The server's keys come first, together with the watermark.
pub(crate) const TABLES: &[Table] = &[
    Table { name: watermark::TABLE, ..table(&[text("name"), bytes("value")], 1) },
    Table {
        name: "tenant",
        ..table(
            &[
                text("tenant"),
                text("time_zone"),
                integer("requests_per_second"),
                integer("page_number_max"),
                integer("account_version"),
                text("label_keys"),
            ],
            1,
        )
    },
    Table {
        name: "contract",
        ..table(
            &[
                text("tenant"),
                text("id"),
                text("offering_id"),
                text("billing_model"),
                text("status"),
                integer("start_at"),
                integer("end_at"),
                text("validity"),
                integer("n_accesses_max"),
                text("policy"),
            ],
            2,
        )
    },
    Table {
        name: "counter",
        ..table(
            &[text("tenant"), text("kind"), text("name"), integer("total"), integer("latest_at")],
            3,
        )
    },
    Table {
        name: "set_part",
        n_at_once: 1000,
        ..table(
            &[
                text("tenant"),
                text("kind"),
                text("name"),
                integer("first"),
                integer("until"),
                integer("n"),
                bytes("bits"),
            ],
            4,
        )
    },
    Table {
        name: "set_sum",
        ..table(&[text("tenant"), text("kind"), text("name"), integer("grp"), integer("n")], 4)
    },
    Table {
        name: "event_new",
        ..table(&[text("tenant"), integer("draw"), integer("at"), bytes("entry")], 2)
    },
    Table {
        name: "event",
        n_at_once: 1000,
        ..table(
            &[
                text("tenant"),
                integer("first"),
                integer("n"),
                integer("at"),
                integer("low"),
                integer("high"),
                integer("width"),
                bytes("entry"),
                bytes("mac"),
            ],
            2,
        )
    },
    Table {
        name: "journal",
        ..table(
            &[
                text("tenant"),
                integer("last"),
                bytes("mac"),
                integer("deleted_to"),
                bytes("deleted_mac"),
                bytes("ends_mac"),
            ],
            1,
        )
    },
    Table {
        name: "audit_new",
        ..table(&[text("tenant"), integer("draw"), integer("at"), bytes("entry")], 2)
    },
    Table {
        name: "audit",
        ..table(
            &[
                text("tenant"),
                integer("first"),
                integer("n"),
                integer("at"),
                bytes("entry"),
                bytes("mac"),
            ],
            2,
        )
    },
    Table {
        name: "audit_ends",
        ..table(
            &[
                text("tenant"),
                integer("last"),
                bytes("mac"),
                integer("deleted_to"),
                bytes("deleted_mac"),
                bytes("ends_mac"),
            ],
            1,
        )
    },
    Table {
        name: "hub",
        ..table(
            &[
                text("tenant"),
                text("id"),
                text("callback"),
                text("query"),
                text("state"),
                bytes("secret"),
                bytes("former_secret"),
                integer("former_until"),
                integer("created_at"),
                integer("ended_at"),
                integer("position"),
                integer("n_failures"),
                integer("failing_since"),
                integer("blocked_until"),
                integer("n_missed"),
                integer("n_waiting"),
                integer("n_dead"),
                integer("n_messages"),
                integer("n_requests"),
            ],
            2,
        )
    },
    Table {
        name: "hub_event",
        ..table(
            &[
                text("tenant"),
                text("hub"),
                integer("number"),
                bytes("subject"),
                integer("is_dead"),
                integer("is_refused"),
                integer("n_attempts"),
                integer("since"),
                integer("due_at"),
                text("why"),
            ],
            3,
        )
    },
    Table {
        name: "hub_delivery",
        ..table(
            &[
                text("tenant"),
                text("hub"),
                integer("slot"),
                integer("place"),
                integer("at"),
                integer("first"),
                integer("n"),
                integer("status"),
                integer("milliseconds"),
                text("why"),
            ],
            3,
        )
    },
    Table {
        name: "outlet",
        ..table(&[text("tenant"), text("name"), integer("position"), integer("n_missed")], 2)
    },
    Table { name: "set_build", ..table(&[text("tenant"), integer("built_to")], 1) },
    Table {
        name: "label_build",
        ..table(&[text("tenant"), text("label_key"), integer("built_to")], 2)
    },
    Table {
        name: "tally",
        ..table(
            &[
                text("tenant"),
                text("contract_id"),
                integer("n_pending_active"),
                integer("n_active"),
                integer("n_suspended"),
                integer("n_pending_terminate"),
                integer("n_terminated"),
                integer("n_reserved"),
            ],
            2,
        )
    },
    Table {
        name: "day",
        ..table(&[text("tenant"), text("kind"), integer("day"), integer("n")], 3)
    },
    Table {
        name: "client",
        ..table(
            &[
                text("tenant"),
                text("id"),
                text("name"),
                text("scope"),
                text("secret_hash"),
                integer("created_at"),
            ],
            2,
        )
    },
    Table {
        name: "hook",
        ..table(
            &[
                text("tenant"),
                text("id"),
                text("dialect"),
                text("name"),
                bytes("key_digest"),
                integer("created_at"),
                integer("used_at"),
            ],
            2,
        )
    },
    Table {
        name: "ended",
        ..table(&[text("kind"), text("name"), integer("ended_at"), integer("forget_at")], 2)
    },
    Table {
        name: "account",
        n_at_once: 1000,
        ..table(
            &[
                text("tenant"),
                text("name"),
                text("platform"),
                text("connector"),
                text("platform_account"),
                text("settings"),
                bytes("credentials"),
                integer("version"),
                integer("vouched_version"),
            ],
            2,
        )
    },
    Table {
        name: "access",
        ..table(
            &[
                text("tenant"),
                integer("number"),
                integer("offering_number"),
                integer("contract_number"),
                integer("job_number"),
                bytes("id"),
                text("contract_id"),
                text("offering_id"),
                bytes("job"),
                text("username"),
                text("password_hash"),
                text("device_name"),
                text("status"),
                integer("start_at"),
                integer("end_at"),
                integer("created_at"),
                integer("first_connected_at"),
                integer("is_terminating"),
                integer("end_before"),
                integer("version"),
                text("labels"),
            ],
            2,
        )
    },
    Table {
        name: "task",
        ..table(
            &[
                text("tenant"),
                bytes("id"),
                integer("number"),
                integer("turn"),
                text("kind"),
                text("state"),
                text("contract_id"),
                integer("is_explicit"),
                text("target"),
                integer("sets_password"),
                text("password_hash"),
                integer("n_items"),
                integer("n_succeeded"),
                integer("n_failed"),
                integer("created_at"),
                integer("shows_secrets_until"),
                text("correlation_id"),
                integer("started_at"),
                integer("ended_at"),
                text("labels"),
            ],
            2,
        )
    },
    Table {
        name: "task_part",
        // Each row may hold some hundred items with names and passwords.
        n_at_once: 50,
        ..table(&[text("tenant"), bytes("task"), integer("part"), bytes("body")], 3)
    },
    Table {
        name: "task_failure",
        n_at_once: 1000,
        ..table(
            &[
                text("tenant"),
                bytes("task"),
                integer("number"),
                integer("ordinal"),
                integer("item_index"),
                text("kind"),
                text("detail"),
                text("fields"),
                text("access_id"),
                text("username"),
                text("device_name"),
            ],
            3,
        )
    },
    Table {
        name: "secret",
        sent: &[("body", secret::SEALED_IN_SQLITE)],
        ..table(&[text("tenant"), text("kind"), text("name"), bytes("body")], 3)
    },
    Table {
        name: "request",
        ..table(
            &[
                text("tenant"),
                text("operation"),
                text("key"),
                bytes("digest"),
                integer("kept_until"),
                bytes("task"),
                bytes("access"),
                text("status"),
                integer("start_at"),
                integer("end_at"),
                text("labels"),
            ],
            3,
        )
    },
    Table {
        name: "due",
        // All leases end with the transfer. `due_at` stays the end of the lease, which has come by the time that a
        // server starts, so that repeated reads are equal.
        sent: &[("is_leased", "0"), ("epoch", "epoch + is_leased")],
        ..table(
            &[
                text("tenant"),
                text("kind"),
                text("name"),
                integer("part"),
                integer("due_at"),
                integer("is_leased"),
                integer("epoch"),
            ],
            4,
        )
    },
];

const fn table(columns: &'static [Column], n_key: usize) -> Table {
    Table { name: "", columns, n_key, sent: &[], n_at_once: 10_000 }
}

const fn text(name: &'static str) -> Column {
    Column { name, kind: ColumnKind::Text }
}

const fn integer(name: &'static str) -> Column {
    Column { name, kind: ColumnKind::Integer }
}

const fn bytes(name: &'static str) -> Column {
    Column { name, kind: ColumnKind::Bytes }
}

impl Table {
    /// Statement that reads at most `n_rows` in the order of the key; where it `has_begun`, those after a key.
    pub(crate) fn page_sql(&self, side: Side, has_begun: bool, n_rows: usize) -> String {
        let columns: Vec<_> = self.columns.iter().map(|it| self.read_as(it.name, side)).collect();
        let key: Vec<_> = self.columns[..self.n_key].iter().map(|it| it.name).collect();
        let places: Vec<_> = (1..=self.n_key).map(|n| format!("?{n}")).collect();
        let (columns, key) = (columns.join(", "), key.join(", "));
        let mut conditions = Vec::new();
        if has_begun {
            conditions.push(format!("({key}) > ({})", places.join(", ")));
        }
        if self.name == watermark::TABLE {
            // The watermark isn't part of the source.
            conditions.push(format!("name <> '{}'", watermark::NAME));
        }
        let conditions = match conditions.is_empty() {
            true => String::new(),
            false => format!(" WHERE {}", conditions.join(" AND ")),
        };
        format!("SELECT {columns} FROM {}{conditions} ORDER BY {key} LIMIT {n_rows}", self.name)
    }

    /// Statement that copies rows into the table.
    pub(crate) fn copy_sql(&self) -> String {
        let columns: Vec<_> = self.columns.iter().map(|it| it.name).collect();
        format!("COPY {} ({}) FROM STDIN (FORMAT binary)", self.name, columns.join(", "))
    }

    /// PostgreSQL's types of the columns.
    pub(crate) fn types(&self) -> Vec<Type> {
        let types = self.columns.iter().map(|it| match it.kind {
            ColumnKind::Integer => Type::INT8,
            ColumnKind::Text => Type::TEXT,
            ColumnKind::Bytes => Type::BYTEA,
        });
        types.collect()
    }

    fn read_as(&self, column: &'static str, side: Side) -> &'static str {
        let sent = self.sent.iter().find(|(name, _)| side == Side::Source && *name == column);
        sent.map_or(column, |(_, expression)| expression)
    }
}
