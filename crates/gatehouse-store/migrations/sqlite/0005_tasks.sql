-- Accepted batches. Rows are numbered in the order of acceptance.
CREATE TABLE task (
    tenant              TEXT NOT NULL,
    id                  BLOB NOT NULL,
    number              INTEGER NOT NULL,
    turn                INTEGER NOT NULL, -- rises with each chunk: the Task with the lowest is next
    kind                TEXT NOT NULL,
    state               TEXT NOT NULL,
    contract_id         TEXT, -- creations
    is_explicit         INTEGER NOT NULL,
    target              TEXT, -- updates
    sets_password       INTEGER NOT NULL,
    password_hash       TEXT, -- hash of the password that an update sets
    n_items             INTEGER NOT NULL,
    n_succeeded         INTEGER NOT NULL,
    n_failed            INTEGER NOT NULL,
    created_at          INTEGER NOT NULL,
    shows_secrets_until INTEGER,
    correlation_id      TEXT NOT NULL,
    PRIMARY KEY (tenant, id)
) STRICT, WITHOUT ROWID;

CREATE UNIQUE INDEX task_number ON task (tenant, number);
-- Unfinished Tasks: few among very many finished ones.
CREATE INDEX task_unfinished ON task (tenant, turn)
    WHERE state IN ('ACKNOWLEDGED', 'IN_PROGRESS');
CREATE INDEX task_creations ON task (tenant, turn, number)
    WHERE kind = 'batchCreation' AND state IN ('ACKNOWLEDGED', 'IN_PROGRESS');
CREATE INDEX task_changes ON task (tenant, number)
    WHERE kind <> 'batchCreation' AND state IN ('ACKNOWLEDGED', 'IN_PROGRESS');

-- The client's items, in parts of several items each; sealed where they contain passwords.
CREATE TABLE task_part (
    tenant TEXT NOT NULL,
    task   BLOB NOT NULL,
    part   INTEGER NOT NULL,
    body   BLOB NOT NULL,
    PRIMARY KEY (tenant, task, part)
) STRICT;

-- Failed items, numbered from 1 in their order. A rejected Task has one.
CREATE TABLE task_failure (
    tenant      TEXT NOT NULL,
    task        BLOB NOT NULL,
    number      INTEGER NOT NULL,
    ordinal     INTEGER NOT NULL,
    item_index  INTEGER NOT NULL,
    kind        TEXT NOT NULL,
    detail      TEXT NOT NULL,
    fields      TEXT NOT NULL, -- a line of name and reason for each field
    access_id   TEXT,
    username    TEXT,
    device_name TEXT,
    PRIMARY KEY (tenant, task, number)
) STRICT, WITHOUT ROWID;

CREATE UNIQUE INDEX task_failure_ordinal ON task_failure (tenant, task, ordinal);

-- Sealed secrets, which are destroyed at the end of their lifetime. Each has pages of its own: deleted bytes
-- are overwritten in place, and a row that moves would leave a copy.
CREATE TABLE secret (
    tenant TEXT NOT NULL,
    kind   TEXT NOT NULL, -- task, answer
    name   TEXT NOT NULL,
    body   BLOB NOT NULL,
    PRIMARY KEY (tenant, kind, name)
) STRICT;

-- Results of idempotent requests, by their key. The password that the response showed is in `secret`.
CREATE TABLE request (
    tenant     TEXT NOT NULL,
    operation  TEXT NOT NULL, -- create, batch, change
    key        TEXT NOT NULL, -- as the client chose it
    digest     BLOB NOT NULL, -- of the body
    kept_until INTEGER NOT NULL,
    task       BLOB, -- batches
    access     BLOB, -- creations, with the fields of their response that may have changed since
    status     TEXT,
    start_at   INTEGER,
    end_at     INTEGER,
    PRIMARY KEY (tenant, operation, key)
) STRICT, WITHOUT ROWID;

CREATE INDEX request_kept ON request (tenant, kept_until);

-- Accesses that unfinished batches have reserved in a contract's quota.
ALTER TABLE tally ADD COLUMN n_reserved INTEGER NOT NULL DEFAULT 0;

-- The last number of a Task.
INSERT INTO counter (tenant, kind, name, total, latest_at)
SELECT tenant, 'task', '', 0, 0 FROM tenant;
