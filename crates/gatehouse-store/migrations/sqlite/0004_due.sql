-- Work that is due, of every tenant: the one table that is also looked at by time, across tenants.
-- `due_at` is from when somebody may take it up; while somebody has, it is when the lease ends.
CREATE TABLE due (
    tenant    TEXT NOT NULL,
    kind      TEXT NOT NULL,    -- tasks, ends, secret, answer, task
    name      TEXT NOT NULL,    -- of what; empty for the tenant itself
    part      INTEGER NOT NULL, -- which part of it
    due_at    INTEGER NOT NULL,
    is_leased INTEGER NOT NULL,
    epoch     INTEGER NOT NULL, -- rises with each lease: an older one can't commit
    PRIMARY KEY (tenant, kind, name, part)
) STRICT, WITHOUT ROWID;

CREATE INDEX due_kind ON due (kind, due_at);

-- Leases that a process left behind when it ended; few, among what may be very many.
CREATE INDEX due_leased ON due (due_at) WHERE is_leased = 1;

-- The ends that accesses have already, by contract and minute. No due time lies beyond the calendar.
INSERT INTO due
SELECT DISTINCT tenant, 'ends', contract_id, (end_at + 59999) / 60000,
       MIN((end_at + 59999) / 60000 * 60000, 253402300799999), 0, 0
FROM access WHERE status <> 'TERMINATED' AND end_at IS NOT NULL;
