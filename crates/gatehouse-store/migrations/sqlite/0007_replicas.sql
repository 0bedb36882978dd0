-- Servers that use this database, with their last heartbeats. They belong to no tenant. Each live server
-- enforces its slice of every limit. (An embedded database has only one server, which sends no heartbeats.)
CREATE TABLE replica (
    id        BLOB NOT NULL PRIMARY KEY, -- random, drawn when the server starts
    joined_at INTEGER NOT NULL,
    seen_at   INTEGER NOT NULL,
    version   TEXT NOT NULL,             -- version of the program
    host      TEXT NOT NULL,             -- host name of the machine
    listen    TEXT NOT NULL,             -- address that the server listens on
    key_name  TEXT NOT NULL              -- short name of the server's first master key
) STRICT, WITHOUT ROWID;
