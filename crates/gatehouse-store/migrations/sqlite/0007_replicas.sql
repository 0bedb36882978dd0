-- Servers that use this database, and when each was last heard of. They belong to no tenant, and no tenant has
-- anything here: who is there decides which part of every limit is whose. (On this database there is only
-- ever one, which doesn't write itself down.)
CREATE TABLE replica (
    id        BLOB NOT NULL PRIMARY KEY, -- drawn when it starts
    joined_at INTEGER NOT NULL,
    seen_at   INTEGER NOT NULL,
    version   TEXT NOT NULL,             -- of the program
    host      TEXT NOT NULL,             -- the name of its machine
    listen    TEXT NOT NULL,             -- the address that it listens on there
    key_name  TEXT NOT NULL              -- of the master key that it makes what is new with
) STRICT, WITHOUT ROWID;
