-- Times are milliseconds since 1970 in UTC; identifiers are their sixteen bytes.
-- Every key of a tenant's table begins with the tenant.

CREATE TABLE tenant (
    tenant    TEXT NOT NULL PRIMARY KEY,
    time_zone TEXT NOT NULL
) STRICT, WITHOUT ROWID;

CREATE TABLE contract (
    tenant         TEXT NOT NULL,
    id             TEXT NOT NULL,
    offering_id    TEXT NOT NULL,
    billing_model  TEXT NOT NULL,
    status         TEXT NOT NULL,
    start_at       INTEGER,
    end_at         INTEGER,
    validity       TEXT,
    n_accesses_max INTEGER,
    PRIMARY KEY (tenant, id)
) STRICT, WITHOUT ROWID;

-- The last running number of each set that accesses are listed by, which is also the number of accesses in
-- the set. The row of kind `tenant` is locked before an access gets its numbers.
CREATE TABLE counter (
    tenant    TEXT NOT NULL,
    kind      TEXT NOT NULL, -- tenant, offering, contract, job
    name      TEXT NOT NULL, -- empty for the tenant itself
    total     INTEGER NOT NULL,
    latest_at INTEGER NOT NULL, -- when the last number was assigned
    PRIMARY KEY (tenant, kind, name)
) STRICT, WITHOUT ROWID;

-- Number of a contract's accesses whose stored status isn't TERMINATED. Separate from the counters, so that
-- ending an access doesn't wait for creations.
CREATE TABLE usage (
    tenant      TEXT NOT NULL,
    contract_id TEXT NOT NULL,
    n_live      INTEGER NOT NULL,
    PRIMARY KEY (tenant, contract_id)
) STRICT, WITHOUT ROWID;

-- Rows are stored in the order of the tenant's list.
CREATE TABLE access (
    tenant             TEXT NOT NULL,
    number             INTEGER NOT NULL,
    offering_number    INTEGER NOT NULL,
    contract_number    INTEGER NOT NULL,
    job_number         INTEGER,
    id                 BLOB NOT NULL,
    contract_id        TEXT NOT NULL,
    offering_id        TEXT NOT NULL,
    job                BLOB,
    username           TEXT NOT NULL,
    password_hash      TEXT NOT NULL,
    device_name        TEXT,
    status             TEXT NOT NULL,
    start_at           INTEGER NOT NULL,
    end_at             INTEGER,
    created_at         INTEGER NOT NULL,
    first_connected_at INTEGER,
    is_terminating     INTEGER NOT NULL,
    end_before         INTEGER,
    version            INTEGER NOT NULL,
    PRIMARY KEY (tenant, number)
) STRICT, WITHOUT ROWID;

CREATE UNIQUE INDEX access_id ON access (tenant, id);
CREATE UNIQUE INDEX access_username ON access (tenant, username);
CREATE UNIQUE INDEX access_offering ON access (tenant, offering_id, offering_number);
CREATE UNIQUE INDEX access_contract ON access (tenant, contract_id, contract_number);
CREATE UNIQUE INDEX access_job ON access (tenant, job, job_number) WHERE job IS NOT NULL;

-- Accesses with an end whose expiry is not stored yet.
CREATE INDEX access_due ON access (tenant, contract_id, end_at)
    WHERE status <> 'TERMINATED' AND end_at IS NOT NULL;

-- The server's own keys, which belong to no tenant: fingerprints and sealed keys.
CREATE TABLE server_key (
    name  TEXT NOT NULL PRIMARY KEY,
    value BLOB NOT NULL
) STRICT, WITHOUT ROWID;
