-- Limit of paging through a tenant's products; NULL means the server's setting.
ALTER TABLE tenant ADD COLUMN page_number_max INTEGER;

-- The last version of an account of the tenant.
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
    version          INTEGER NOT NULL, -- never used twice in a tenant
    PRIMARY KEY (tenant, name)
) STRICT;

-- The order of accounts, with all columns that a list of products needs.
CREATE INDEX account_order
    ON account (tenant, platform, name, connector, platform_account, version);
