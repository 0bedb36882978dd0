-- The oldest version of the schema that a program must know to work with this one. A program that knows it, but not
-- this version, goes on beside newer ones until it is replaced. Where nothing is said, a program must know the version
-- itself.
ALTER TABLE schema_version ADD COLUMN needs INTEGER;
