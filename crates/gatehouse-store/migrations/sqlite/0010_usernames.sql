-- The newest schema version that a server's program knows; NULL for an older program. Usernames are reused once every
-- server knows version 10.
ALTER TABLE replica ADD COLUMN knows INTEGER;
