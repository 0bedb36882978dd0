-- Accepted batches. Rows are numbered in the order of acceptance.
CREATE TABLE task (
    tenant              TEXT COLLATE "C" NOT NULL,
    id                  BYTEA NOT NULL,
    number              BIGINT NOT NULL,
    turn                BIGINT NOT NULL, -- rises with each chunk: the Task with the lowest is next
    kind                TEXT COLLATE "C" NOT NULL,
    state               TEXT COLLATE "C" NOT NULL,
    contract_id         TEXT COLLATE "C", -- creations
    is_explicit         BIGINT NOT NULL,
    target              TEXT COLLATE "C", -- updates
    sets_password       BIGINT NOT NULL,
    password_hash       TEXT COLLATE "C", -- hash of the password that an update sets
    n_items             BIGINT NOT NULL,
    n_succeeded         BIGINT NOT NULL,
    n_failed            BIGINT NOT NULL,
    created_at          BIGINT NOT NULL,
    shows_secrets_until BIGINT,
    correlation_id      TEXT COLLATE "C" NOT NULL,
    PRIMARY KEY (tenant, id)
) WITH (fillfactor = 50);

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
    tenant TEXT COLLATE "C" NOT NULL,
    task   BYTEA NOT NULL,
    part   BIGINT NOT NULL,
    body   BYTEA NOT NULL,
    PRIMARY KEY (tenant, task, part)
);

-- Failed items, numbered from 1 in their order. A rejected Task has one.
CREATE TABLE task_failure (
    tenant      TEXT COLLATE "C" NOT NULL,
    task        BYTEA NOT NULL,
    number      BIGINT NOT NULL,
    ordinal     BIGINT NOT NULL,
    item_index  BIGINT NOT NULL,
    kind        TEXT COLLATE "C" NOT NULL,
    detail      TEXT COLLATE "C" NOT NULL,
    fields      TEXT COLLATE "C" NOT NULL, -- a line of name and reason for each field
    access_id   TEXT COLLATE "C",
    username    TEXT COLLATE "C",
    device_name TEXT COLLATE "C",
    PRIMARY KEY (tenant, task, number)
);

CREATE UNIQUE INDEX task_failure_ordinal ON task_failure (tenant, task, ordinal);

-- Sealed secrets, which are destroyed at the end of their lifetime. PostgreSQL keeps sealed copies until VACUUM
-- and until its log is recycled.
CREATE TABLE secret (
    tenant TEXT COLLATE "C" NOT NULL,
    kind   TEXT COLLATE "C" NOT NULL, -- task, answer
    name   TEXT COLLATE "C" NOT NULL,
    body   BYTEA NOT NULL,
    PRIMARY KEY (tenant, kind, name)
);

-- Results of idempotent requests, by their key. The password that the response showed is in `secret`.
CREATE TABLE request (
    tenant     TEXT COLLATE "C" NOT NULL,
    operation  TEXT COLLATE "C" NOT NULL, -- create, batch, change
    key        TEXT COLLATE "C" NOT NULL, -- as the client chose it
    digest     BYTEA NOT NULL, -- of the body
    kept_until BIGINT NOT NULL,
    task       BYTEA, -- batches
    access     BYTEA, -- creations, with the fields of their response that may have changed since
    status     TEXT COLLATE "C",
    start_at   BIGINT,
    end_at     BIGINT,
    PRIMARY KEY (tenant, operation, key)
);

CREATE INDEX request_kept ON request (tenant, kept_until);

-- Accesses that unfinished batches have reserved in a contract's quota.
ALTER TABLE tally ADD COLUMN n_reserved BIGINT NOT NULL DEFAULT 0;

-- The last number of a Task.
INSERT INTO counter (tenant, kind, name, total, latest_at)
SELECT tenant, 'task', '', 0, 0 FROM tenant;
