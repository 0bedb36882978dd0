-- Rate limit in requests per second; NULL means the server's setting.
ALTER TABLE tenant ADD COLUMN requests_per_second BIGINT;

-- Machines that get their tokens from the built-in issuer.
CREATE TABLE client (
    tenant      TEXT COLLATE "C" NOT NULL,
    id          TEXT COLLATE "C" NOT NULL,
    name        TEXT COLLATE "C",
    scope       TEXT COLLATE "C" NOT NULL, -- words separated by spaces
    secret_hash TEXT COLLATE "C" NOT NULL,
    created_at  BIGINT NOT NULL,
    PRIMARY KEY (tenant, id)
);
