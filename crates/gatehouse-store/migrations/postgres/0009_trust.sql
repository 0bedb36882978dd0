-- The version of an account whose addresses an operator has set. Another version, or NULL: a tenant's admin may have
-- set them. (An older program, which doesn't know this column, gives a changed account another version.)
ALTER TABLE account ADD COLUMN vouched_version BIGINT;

-- Revocations: of all tokens that deleted clients and tenants got before, and of single tokens. A row is deleted when
-- all of its tokens have expired.
CREATE TABLE ended (
    kind      TEXT COLLATE "C" NOT NULL,
    name      TEXT COLLATE "C" NOT NULL,
    ended_at  BIGINT NOT NULL,
    forget_at BIGINT NOT NULL,
    PRIMARY KEY (kind, name)
);

-- When a Task started and when it ended; NULL where an older program, which doesn't know these columns, executed it.
ALTER TABLE task ADD COLUMN started_at BIGINT;
ALTER TABLE task ADD COLUMN ended_at BIGINT;
