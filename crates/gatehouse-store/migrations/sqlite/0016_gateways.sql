-- Hooks: gateways that may ask for checks of a tenant, each in one dialect.
CREATE TABLE IF NOT EXISTS hook (
    tenant     TEXT NOT NULL,
    id         TEXT NOT NULL,
    dialect    TEXT NOT NULL,
    name       TEXT,
    key_digest BLOB NOT NULL, -- of the key, which has more random bits than can be guessed
    created_at INTEGER NOT NULL,
    used_at    INTEGER,       -- to the minute
    PRIMARY KEY (tenant, id)
) STRICT, WITHOUT ROWID;
CREATE INDEX IF NOT EXISTS hook_by_key ON hook (tenant, key_digest);

-- What the contract's devices may do at a broker.
ALTER TABLE contract ADD COLUMN policy TEXT;
