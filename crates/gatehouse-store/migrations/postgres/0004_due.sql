-- No access may get an end while the existing ends are read.
LOCK TABLE access IN SHARE ROW EXCLUSIVE MODE;

-- The work queue of all tenants: the one table that is also read by time, across tenants.
-- `due_at` is when a worker may claim the row; while a worker has the lease, it is the end of the lease.
CREATE TABLE due (
    tenant    TEXT COLLATE "C" NOT NULL,
    kind      TEXT COLLATE "C" NOT NULL, -- tasks, ends, secret, answer, task
    name      TEXT COLLATE "C" NOT NULL, -- name of the object; empty for the tenant itself
    part      BIGINT NOT NULL,           -- part of the object
    due_at    BIGINT NOT NULL,
    is_leased BIGINT NOT NULL,
    epoch     BIGINT NOT NULL,           -- fencing token: rises with each lease, so that an older one can't commit
    PRIMARY KEY (tenant, kind, name, part)
) WITH (fillfactor = 50);

CREATE INDEX due_kind ON due (kind, due_at);

-- The ends of existing accesses, by contract and minute. No due time is beyond the calendar.
INSERT INTO due
SELECT DISTINCT tenant, 'ends', contract_id, (end_at + 59999) / 60000,
       LEAST((end_at + 59999) / 60000 * 60000, 253402300799999), 0, 0
FROM access WHERE status <> 'TERMINATED' AND end_at IS NOT NULL;
