-- Times are milliseconds since 1970 in UTC; identifiers are their sixteen bytes.
-- Every key of a tenant's table begins with the tenant.

CREATE TABLE tenant (
    tenant    TEXT COLLATE "C" NOT NULL PRIMARY KEY,
    time_zone TEXT COLLATE "C" NOT NULL
);

CREATE TABLE contract (
    tenant         TEXT COLLATE "C" NOT NULL,
    id             TEXT COLLATE "C" NOT NULL,
    offering_id    TEXT COLLATE "C" NOT NULL,
    billing_model  TEXT COLLATE "C" NOT NULL,
    status         TEXT COLLATE "C" NOT NULL,
    start_at       BIGINT,
    end_at         BIGINT,
    validity       TEXT COLLATE "C",
    n_accesses_max BIGINT,
    PRIMARY KEY (tenant, id)
);

-- The last running number of each set that accesses are listed by, which is also the number of accesses in
-- the set. The row of kind `tenant` is locked before an access gets its numbers.
CREATE TABLE counter (
    tenant    TEXT COLLATE "C" NOT NULL,
    kind      TEXT COLLATE "C" NOT NULL, -- tenant, offering, contract, job
    name      TEXT COLLATE "C" NOT NULL, -- empty for the tenant itself
    total     BIGINT NOT NULL,
    latest_at BIGINT NOT NULL, -- when the last number was assigned
    PRIMARY KEY (tenant, kind, name)
) WITH (fillfactor = 50);

-- Number of a contract's accesses whose stored status isn't TERMINATED. Separate from the counters, so that
-- ending an access doesn't wait for creations.
CREATE TABLE usage (
    tenant      TEXT COLLATE "C" NOT NULL,
    contract_id TEXT COLLATE "C" NOT NULL,
    n_live      BIGINT NOT NULL,
    PRIMARY KEY (tenant, contract_id)
) WITH (fillfactor = 50);

-- The primary key is the order of the tenant's list.
CREATE TABLE access (
    tenant             TEXT COLLATE "C" NOT NULL,
    number             BIGINT NOT NULL,
    offering_number    BIGINT NOT NULL,
    contract_number    BIGINT NOT NULL,
    job_number         BIGINT,
    id                 BYTEA NOT NULL,
    contract_id        TEXT COLLATE "C" NOT NULL,
    offering_id        TEXT COLLATE "C" NOT NULL,
    job                BYTEA,
    username           TEXT COLLATE "C" NOT NULL,
    password_hash      TEXT COLLATE "C" NOT NULL,
    device_name        TEXT COLLATE "C",
    status             TEXT COLLATE "C" NOT NULL,
    start_at           BIGINT NOT NULL,
    end_at             BIGINT,
    created_at         BIGINT NOT NULL,
    first_connected_at BIGINT,
    is_terminating     BIGINT NOT NULL,
    end_before         BIGINT,
    version            BIGINT NOT NULL,
    PRIMARY KEY (tenant, number)
) WITH (fillfactor = 90);

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
    name  TEXT COLLATE "C" NOT NULL PRIMARY KEY,
    value BYTEA NOT NULL
);
