-- Sets of running numbers whose members change: accesses by status, and what they are combined with.

-- The members of one set in the numbers from `first` to `until` - 1: a stretch of one group of 262,144 numbers. The
-- parts of a group leave no gap between them.
CREATE TABLE IF NOT EXISTS set_part (
    tenant TEXT NOT NULL,
    kind   TEXT NOT NULL, -- status, contract, offering, job
    name   TEXT NOT NULL,
    first  INTEGER NOT NULL,
    until  INTEGER NOT NULL,
    n      INTEGER NOT NULL,
    bits   BLOB NOT NULL,
    PRIMARY KEY (tenant, kind, name, first)
) STRICT, WITHOUT ROWID;

-- Number of a set's members by group.
CREATE TABLE IF NOT EXISTS set_sum (
    tenant TEXT NOT NULL,
    kind   TEXT NOT NULL,
    name   TEXT NOT NULL,
    grp    INTEGER NOT NULL,
    n      INTEGER NOT NULL,
    PRIMARY KEY (tenant, kind, name, grp)
) STRICT, WITHOUT ROWID;

-- Up to which of a tenant's running numbers its sets are built. Beyond that, writers leave them alone; once all are
-- built it is the largest integer, and writers always keep them.
CREATE TABLE IF NOT EXISTS set_build (
    tenant   TEXT NOT NULL PRIMARY KEY,
    built_to INTEGER NOT NULL
) STRICT, WITHOUT ROWID;
