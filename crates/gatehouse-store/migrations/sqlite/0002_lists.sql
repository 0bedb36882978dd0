-- Number of a contract's accesses by stored status. Separate from the counters, so that a change of an access
-- waits for creations only while they commit.
CREATE TABLE tally (
    tenant              TEXT NOT NULL,
    contract_id         TEXT NOT NULL,
    n_pending_active    INTEGER NOT NULL,
    n_active            INTEGER NOT NULL,
    n_suspended         INTEGER NOT NULL,
    n_pending_terminate INTEGER NOT NULL,
    n_terminated        INTEGER NOT NULL,
    PRIMARY KEY (tenant, contract_id)
) STRICT, WITHOUT ROWID;

INSERT INTO tally
SELECT c.tenant, c.id,
       COUNT(*) FILTER (WHERE a.status = 'PENDING_ACTIVE'),
       COUNT(*) FILTER (WHERE a.status = 'ACTIVE'),
       COUNT(*) FILTER (WHERE a.status = 'SUSPENDED'),
       COUNT(*) FILTER (WHERE a.status = 'PENDING_TERMINATE'),
       COUNT(*) FILTER (WHERE a.status = 'TERMINATED')
FROM contract c LEFT JOIN access a ON a.tenant = c.tenant AND a.contract_id = c.id
GROUP BY c.tenant, c.id;

DROP TABLE usage;

-- Numbers of accesses created and ended on each day in UTC (days since 1970).
CREATE TABLE day (
    tenant TEXT NOT NULL,
    kind   TEXT NOT NULL, -- created, ended
    day    INTEGER NOT NULL,
    n      INTEGER NOT NULL,
    PRIMARY KEY (tenant, kind, day)
) STRICT, WITHOUT ROWID;

INSERT INTO day
SELECT tenant, 'created', created_at / 86400000, COUNT(*) FROM access GROUP BY 1, 3;
INSERT INTO day
SELECT tenant, 'ended', end_at / 86400000, COUNT(*) FROM access
WHERE status = 'TERMINATED' GROUP BY 1, 3;

-- Accesses by their device's name. An access without one uses its username.
CREATE INDEX access_device_name ON access (tenant, device_name, number)
    WHERE device_name IS NOT NULL;

-- With the status, so that expired accesses are counted without reading their rows.
DROP INDEX access_due;
CREATE INDEX access_due ON access (tenant, contract_id, end_at, status)
    WHERE status <> 'TERMINATED' AND end_at IS NOT NULL;
