-- Batches that were accepted. Rows are numbered in the order of acceptance.
CREATE TABLE task (
    tenant              TEXT COLLATE "C" NOT NULL,
    id                  BYTEA NOT NULL,
    number              BIGINT NOT NULL,
    turn                BIGINT NOT NULL, -- rises with each stretch: who has the least goes first
    kind                TEXT COLLATE "C" NOT NULL,
    state               TEXT COLLATE "C" NOT NULL,
    contract_id         TEXT COLLATE "C", -- creations
    is_explicit         BIGINT NOT NULL,
    target              TEXT COLLATE "C", -- updates
    sets_password       BIGINT NOT NULL,
    password_hash       TEXT COLLATE "C", -- what an update sets, once it is hashed
    n_items             BIGINT NOT NULL,
    n_succeeded         BIGINT NOT NULL,
    n_failed            BIGINT NOT NULL,
    created_at          BIGINT NOT NULL,
    shows_secrets_until BIGINT,
    correlation_id      TEXT COLLATE "C" NOT NULL,
    PRIMARY KEY (tenant, id)
) WITH (fillfactor = 50);

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
    tenant TEXT COLLATE "C" NOT NULL,
    task   BYTEA NOT NULL,
    part   BIGINT NOT NULL,
    body   BYTEA NOT NULL,
    PRIMARY KEY (tenant, task, part)
);

-- Items that failed, numbered from 1 in their order. A Task that was rejected has one.
CREATE TABLE task_failure (
    tenant      TEXT COLLATE "C" NOT NULL,
    task        BYTEA NOT NULL,
    number      BIGINT NOT NULL,
    ordinal     BIGINT NOT NULL,
    item_index  BIGINT NOT NULL,
    kind        TEXT COLLATE "C" NOT NULL,
    detail      TEXT COLLATE "C" NOT NULL,
    fields      TEXT COLLATE "C" NOT NULL, -- names and reasons, a line each
    access_id   TEXT COLLATE "C",
    username    TEXT COLLATE "C",
    device_name TEXT COLLATE "C",
    PRIMARY KEY (tenant, task, number)
);

CREATE UNIQUE INDEX task_failure_ordinal ON task_failure (tenant, task, ordinal);

-- Sealed keys that are destroyed after their time. What PostgreSQL deletes, it keeps until vacuum and
-- until its log is recycled: sealed, that is.
CREATE TABLE secret (
    tenant TEXT COLLATE "C" NOT NULL,
    kind   TEXT COLLATE "C" NOT NULL, -- task, answer
    name   TEXT COLLATE "C" NOT NULL,
    body   BYTEA NOT NULL,
    PRIMARY KEY (tenant, kind, name)
);

-- Requests that were answered and may come again under their key. What was made once is named here; the
-- password that was shown with it lies in secret.
CREATE TABLE request (
    tenant     TEXT COLLATE "C" NOT NULL,
    operation  TEXT COLLATE "C" NOT NULL, -- create, batch, change
    key        TEXT COLLATE "C" NOT NULL, -- as the client chose it
    digest     BYTEA NOT NULL, -- what the body is recognised by
    kept_until BIGINT NOT NULL,
    task       BYTEA, -- batches
    access     BYTEA, -- creations, and what their answer said that may have changed since
    status     TEXT COLLATE "C",
    start_at   BIGINT,
    end_at     BIGINT,
    PRIMARY KEY (tenant, operation, key)
);

CREATE INDEX request_kept ON request (tenant, kept_until);

-- Places of a contract that batches under way have reserved.
ALTER TABLE tally ADD COLUMN n_reserved BIGINT NOT NULL DEFAULT 0;

-- The last number given to a Task.
INSERT INTO counter (tenant, kind, name, total, latest_at)
SELECT tenant, 'task', '', 0, 0 FROM tenant;
