-- Sets of running numbers whose members change: accesses by status, and what they are combined with.

-- The members of one set in the numbers from `first` to `until` - 1: a stretch of one group of 262,144 numbers. The
-- parts of a group leave no gap between them. Rows are small enough to stay whole in their page.
CREATE TABLE IF NOT EXISTS set_part (
    tenant TEXT COLLATE "C" NOT NULL,
    kind   TEXT COLLATE "C" NOT NULL, -- status, contract, offering, job
    name   TEXT COLLATE "C" NOT NULL,
    first  BIGINT NOT NULL,
    until  BIGINT NOT NULL,
    n      BIGINT NOT NULL,
    bits   BYTEA NOT NULL,
    PRIMARY KEY (tenant, kind, name, first)
) WITH (fillfactor = 70);

-- Number of a set's members by group.
CREATE TABLE IF NOT EXISTS set_sum (
    tenant TEXT COLLATE "C" NOT NULL,
    kind   TEXT COLLATE "C" NOT NULL,
    name   TEXT COLLATE "C" NOT NULL,
    grp    BIGINT NOT NULL,
    n      BIGINT NOT NULL,
    PRIMARY KEY (tenant, kind, name, grp)
) WITH (fillfactor = 50);

-- Up to which of a tenant's running numbers its sets are built. Beyond that, writers leave them alone; once all are
-- built it is the largest integer, and writers always keep them.
CREATE TABLE IF NOT EXISTS set_build (
    tenant   TEXT COLLATE "C" NOT NULL PRIMARY KEY,
    built_to BIGINT NOT NULL
) WITH (fillfactor = 50);
