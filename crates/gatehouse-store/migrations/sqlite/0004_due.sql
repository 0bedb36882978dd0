-- The work queue of all tenants: the one table that is also read by time, across tenants.
-- `due_at` is when a worker may claim the row; while a worker has the lease, it is the end of the lease.
CREATE TABLE due (
    tenant    TEXT NOT NULL,
    kind      TEXT NOT NULL,    -- tasks, ends, secret, answer, task
    name      TEXT NOT NULL,    -- name of the object; empty for the tenant itself
    part      INTEGER NOT NULL, -- part of the object
    due_at    INTEGER NOT NULL,
    is_leased INTEGER NOT NULL,
    epoch     INTEGER NOT NULL, -- fencing token: rises with each lease, so that an older one can't commit
    PRIMARY KEY (tenant, kind, name, part)
) STRICT, WITHOUT ROWID;

CREATE INDEX due_kind ON due (kind, due_at);

-- Leases, also stale ones of an earlier process: few among very many rows.
CREATE INDEX due_leased ON due (due_at) WHERE is_leased = 1;

-- The ends of existing accesses, by contract and minute. No due time is beyond the calendar.
INSERT INTO due
SELECT DISTINCT tenant, 'ends', contract_id, (end_at + 59999) / 60000,
       MIN((end_at + 59999) / 60000 * 60000, 253402300799999), 0, 0
FROM access WHERE status <> 'TERMINATED' AND end_at IS NOT NULL;
