-- The newest version of the schema that a server's program knows; nothing where it doesn't say so. Usernames are given
-- again once every server knows version 10.
ALTER TABLE replica ADD COLUMN knows BIGINT;
