-- The version of an account whose addresses an operator has set. Another version, or none: a tenant's admin may have
-- set them. (A program that doesn't know this column gives an account another version when it changes it.)
ALTER TABLE account ADD COLUMN vouched_version BIGINT;

-- Whose tokens are refused that were issued before they ended: deleted clients and tenants, and single tokens. Each is
-- forgotten when no token can be left.
CREATE TABLE ended (
    kind      TEXT COLLATE "C" NOT NULL,
    name      TEXT COLLATE "C" NOT NULL,
    ended_at  BIGINT NOT NULL,
    forget_at BIGINT NOT NULL,
    PRIMARY KEY (kind, name)
);

-- When a Task was begun and when it was over; nothing where a program that doesn't know these columns has done it.
ALTER TABLE task ADD COLUMN started_at BIGINT;
ALTER TABLE task ADD COLUMN ended_at BIGINT;
