-- Servers that use this database, and when each was last heard of. They belong to no tenant, and no tenant has
-- anything here: who is there decides which part of every limit is whose.
CREATE TABLE replica (
    id        BYTEA NOT NULL PRIMARY KEY, -- drawn when it starts
    joined_at BIGINT NOT NULL,
    seen_at   BIGINT NOT NULL,
    version   TEXT COLLATE "C" NOT NULL,  -- of the program
    host      TEXT COLLATE "C" NOT NULL,  -- the name of its machine
    listen    TEXT COLLATE "C" NOT NULL,  -- the address that it listens on there
    key_name  TEXT COLLATE "C" NOT NULL   -- of the master key that it makes what is new with
) WITH (fillfactor = 50);
