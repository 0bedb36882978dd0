-- The version of an account whose addresses an operator has set. Another version, or none: a tenant's admin may have
-- set them. (A program that doesn't know this column gives an account another version when it changes it.)
ALTER TABLE account ADD COLUMN vouched_version BIGINT;
