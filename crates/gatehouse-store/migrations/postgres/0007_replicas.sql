-- Servers that use this database, with their last heartbeats. They belong to no tenant. Each live server
-- enforces its slice of every limit.
CREATE TABLE replica (
    id        BYTEA NOT NULL PRIMARY KEY, -- random, drawn when the server starts
    joined_at BIGINT NOT NULL,
    seen_at   BIGINT NOT NULL,
    version   TEXT COLLATE "C" NOT NULL,  -- version of the program
    host      TEXT COLLATE "C" NOT NULL,  -- host name of the machine
    listen    TEXT COLLATE "C" NOT NULL,  -- address that the server listens on
    key_name  TEXT COLLATE "C" NOT NULL   -- short name of the server's first master key
) WITH (fillfactor = 50);
