-- How far a tenant may page through its products; NULL leaves it to the server's settings.
ALTER TABLE tenant ADD COLUMN page_number_max INTEGER;

-- The last version that one of its accounts was given.
ALTER TABLE tenant ADD COLUMN account_version INTEGER NOT NULL DEFAULT 0;

-- Accounts of tenants at external platforms.
CREATE TABLE account (
    tenant           TEXT NOT NULL,
    name             TEXT NOT NULL,
    platform         TEXT NOT NULL,
    connector        TEXT NOT NULL,
    platform_account TEXT NOT NULL,
    settings         TEXT NOT NULL, -- a JSON object
    credentials      BLOB, -- sealed
    version          INTEGER NOT NULL, -- never given twice in a tenant
    PRIMARY KEY (tenant, name)
) STRICT;

-- The order of accounts, with all that every look at products needs of them.
CREATE INDEX account_order
    ON account (tenant, platform, name, connector, platform_account, version);
