-- Requests that a tenant may send in a second; NULL leaves it to the server's settings.
ALTER TABLE tenant ADD COLUMN requests_per_second INTEGER;

-- Machines that get their tokens from the built-in issuer.
CREATE TABLE client (
    tenant      TEXT NOT NULL,
    id          TEXT NOT NULL,
    name        TEXT,
    scope       TEXT NOT NULL, -- words with spaces between
    secret_hash TEXT NOT NULL,
    created_at  INTEGER NOT NULL,
    PRIMARY KEY (tenant, id)
) STRICT, WITHOUT ROWID;
