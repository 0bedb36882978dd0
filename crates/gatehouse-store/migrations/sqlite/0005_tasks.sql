-- Batches that were accepted. Rows are numbered in the order of acceptance.
CREATE TABLE task (
    tenant              TEXT NOT NULL,
    id                  BLOB NOT NULL,
    number              INTEGER NOT NULL,
    turn                INTEGER NOT NULL, -- rises with each stretch: who has the least goes first
    kind                TEXT NOT NULL,
    state               TEXT NOT NULL,
    contract_id         TEXT, -- creations
    is_explicit         INTEGER NOT NULL,
    target              TEXT, -- updates
    sets_password       INTEGER NOT NULL,
    password_hash       TEXT, -- what an update sets, once it is hashed
    n_items             INTEGER NOT NULL,
    n_succeeded         INTEGER NOT NULL,
    n_failed            INTEGER NOT NULL,
    created_at          INTEGER NOT NULL,
    shows_secrets_until INTEGER,
    correlation_id      TEXT NOT NULL,
    PRIMARY KEY (tenant, id)
) STRICT, WITHOUT ROWID;

CREATE UNIQUE INDEX task_number ON task (tenant, number);
-- Few among what may be very many that are over.
CREATE INDEX task_unfinished ON task (tenant, turn)
    WHERE state IN ('ACKNOWLEDGED', 'IN_PROGRESS');
CREATE INDEX task_creations ON task (tenant, turn, number)
    WHERE kind = 'batchCreation' AND state IN ('ACKNOWLEDGED', 'IN_PROGRESS');
CREATE INDEX task_changes ON task (tenant, number)
    WHERE kind <> 'batchCreation' AND state IN ('ACKNOWLEDGED', 'IN_PROGRESS');

-- What the client sent, in parts of so many items; sealed where it holds passwords.
CREATE TABLE task_part (
    tenant TEXT NOT NULL,
    task   BLOB NOT NULL,
    part   INTEGER NOT NULL,
    body   BLOB NOT NULL,
    PRIMARY KEY (tenant, task, part)
) STRICT;

-- Items that failed, numbered from 1 in their order. A Task that was rejected has one.
CREATE TABLE task_failure (
    tenant      TEXT NOT NULL,
    task        BLOB NOT NULL,
    number      INTEGER NOT NULL,
    ordinal     INTEGER NOT NULL,
    item_index  INTEGER NOT NULL,
    kind        TEXT NOT NULL,
    detail      TEXT NOT NULL,
    fields      TEXT NOT NULL, -- names and reasons, a line each
    access_id   TEXT,
    username    TEXT,
    device_name TEXT,
    PRIMARY KEY (tenant, task, number)
) STRICT, WITHOUT ROWID;

CREATE UNIQUE INDEX task_failure_ordinal ON task_failure (tenant, task, ordinal);

-- Sealed keys that are destroyed after their time. Not in a tree with other rows: what is deleted is
-- overwritten where it lay, and a row that moves would leave a copy behind.
CREATE TABLE secret (
    tenant TEXT NOT NULL,
    kind   TEXT NOT NULL, -- task, answer
    name   TEXT NOT NULL,
    body   BLOB NOT NULL,
    PRIMARY KEY (tenant, kind, name)
) STRICT;

-- Requests that were answered and may come again under their key. What was made once is named here; the
-- password that was shown with it lies in secret.
CREATE TABLE request (
    tenant     TEXT NOT NULL,
    operation  TEXT NOT NULL, -- create, batch, change
    key        TEXT NOT NULL, -- as the client chose it
    digest     BLOB NOT NULL, -- what the body is recognised by
    kept_until INTEGER NOT NULL,
    task       BLOB, -- batches
    access     BLOB, -- creations, and what their answer said that may have changed since
    status     TEXT,
    start_at   INTEGER,
    end_at     INTEGER,
    PRIMARY KEY (tenant, operation, key)
) STRICT, WITHOUT ROWID;

CREATE INDEX request_kept ON request (tenant, kept_until);

-- Places of a contract that batches under way have reserved.
ALTER TABLE tally ADD COLUMN n_reserved INTEGER NOT NULL DEFAULT 0;

-- The last number given to a Task.
INSERT INTO counter (tenant, kind, name, total, latest_at)
SELECT tenant, 'task', '', 0, 0 FROM tenant;
