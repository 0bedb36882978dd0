-- Nobody gives an access an end while those that are there are looked at.
LOCK TABLE access IN SHARE ROW EXCLUSIVE MODE;

-- Work that is due, of every tenant: the one table that is also looked at by time, across tenants.
-- `due_at` is from when somebody may take it up; while somebody has, it is when the lease ends.
CREATE TABLE due (
    tenant    TEXT COLLATE "C" NOT NULL,
    kind      TEXT COLLATE "C" NOT NULL, -- tasks, ends, secret, answer, task
    name      TEXT COLLATE "C" NOT NULL, -- of what; empty for the tenant itself
    part      BIGINT NOT NULL,           -- which part of it
    due_at    BIGINT NOT NULL,
    is_leased BIGINT NOT NULL,
    epoch     BIGINT NOT NULL,           -- rises with each lease: an older one can't commit
    PRIMARY KEY (tenant, kind, name, part)
) WITH (fillfactor = 50);

CREATE INDEX due_kind ON due (kind, due_at);

-- The ends that accesses have already, by contract and minute. No due time lies beyond the calendar.
INSERT INTO due
SELECT DISTINCT tenant, 'ends', contract_id, (end_at + 59999) / 60000,
       LEAST((end_at + 59999) / 60000 * 60000, 253402300799999), 0, 0
FROM access WHERE status <> 'TERMINATED' AND end_at IS NOT NULL;
