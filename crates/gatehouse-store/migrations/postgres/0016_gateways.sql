-- Hooks: gateways that may ask for checks of a tenant, each in one dialect.
CREATE TABLE IF NOT EXISTS hook (
    tenant     TEXT COLLATE "C" NOT NULL,
    id         TEXT COLLATE "C" NOT NULL,
    dialect    TEXT NOT NULL,
    name       TEXT,
    key_digest BYTEA NOT NULL, -- of the key, which has more random bits than can be guessed
    created_at BIGINT NOT NULL,
    used_at    BIGINT,         -- to the minute
    PRIMARY KEY (tenant, id)
);
CREATE INDEX IF NOT EXISTS hook_by_key ON hook (tenant, key_digest);

-- What the contract's devices may do at a broker.
ALTER TABLE contract ADD COLUMN IF NOT EXISTS policy TEXT;
