-- The audit: changes of each tenant's setup, its tokens, and refused attempts; and under `*`, those of the whole estate,
-- which outlive the tenants. Kept for longer than the journal's other events, and made in the same way.

-- Entries that have no number yet.
CREATE TABLE IF NOT EXISTS audit_new (
    tenant TEXT NOT NULL,
    draw   INTEGER NOT NULL,
    at     INTEGER NOT NULL, -- when the change happened
    entry  BLOB NOT NULL,    -- `gatehouse_core::event::encoding`
    PRIMARY KEY (tenant, draw)
) STRICT, WITHOUT ROWID;

-- Numbered entries. One has the numbers `first` to `first` + `n` - 1.
CREATE TABLE IF NOT EXISTS audit (
    tenant TEXT NOT NULL,
    first  INTEGER NOT NULL,
    n      INTEGER NOT NULL,
    at     INTEGER NOT NULL,
    entry  BLOB NOT NULL,
    mac    BLOB NOT NULL, -- of this entry and of the one before
    PRIMARY KEY (tenant, first)
) STRICT, WITHOUT ROWID;

-- Both ends of each audit, as in `journal`.
CREATE TABLE IF NOT EXISTS audit_ends (
    tenant      TEXT NOT NULL PRIMARY KEY,
    last        INTEGER NOT NULL,
    mac         BLOB NOT NULL,
    deleted_to  INTEGER NOT NULL,
    deleted_mac BLOB NOT NULL,
    ends_mac    BLOB              -- of both ends, none before the first event
) STRICT, WITHOUT ROWID;

-- None before the first event, and in a journal that only an older program has written to.
ALTER TABLE journal ADD COLUMN ends_mac BLOB;
