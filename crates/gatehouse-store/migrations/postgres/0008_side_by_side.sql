-- The oldest schema version that a program must know to work with this one. A program that knows it, but not this
-- version, runs beside newer ones during an upgrade. NULL: a program must know this version itself.
ALTER TABLE schema_version ADD COLUMN needs BIGINT;
