-- Limit of paging through a tenant's products; NULL means the server's setting.
ALTER TABLE tenant ADD COLUMN page_number_max BIGINT;

-- The last version of an account of the tenant.
ALTER TABLE tenant ADD COLUMN account_version BIGINT NOT NULL DEFAULT 0;

-- Accounts of tenants at external platforms.
CREATE TABLE account (
    tenant           TEXT COLLATE "C" NOT NULL,
    name             TEXT COLLATE "C" NOT NULL,
    platform         TEXT COLLATE "C" NOT NULL,
    connector        TEXT COLLATE "C" NOT NULL,
    platform_account TEXT COLLATE "C" NOT NULL,
    settings         TEXT COLLATE "C" NOT NULL, -- a JSON object
    credentials      BYTEA, -- sealed
    version          BIGINT NOT NULL, -- never used twice in a tenant
    PRIMARY KEY (tenant, name)
);

-- The order of accounts, with all columns that a list of products needs.
CREATE INDEX account_order
    ON account (tenant, platform, name, connector, platform_account, version);
