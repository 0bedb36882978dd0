-- Rate limit in requests per second; NULL means the server's setting.
ALTER TABLE tenant ADD COLUMN requests_per_second INTEGER;

-- Machines that get their tokens from the built-in issuer.
CREATE TABLE client (
    tenant      TEXT NOT NULL,
    id          TEXT NOT NULL,
    name        TEXT,
    scope       TEXT NOT NULL, -- words separated by spaces
    secret_hash TEXT NOT NULL,
    created_at  INTEGER NOT NULL,
    PRIMARY KEY (tenant, id)
) STRICT, WITHOUT ROWID;
