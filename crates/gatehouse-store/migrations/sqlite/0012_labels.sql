-- Labels of accesses: an access's labels are one text, ordered by key (`gatehouse_core::label`).
ALTER TABLE access ADD COLUMN labels TEXT;

-- The labels of a new access, for the response to a repeated request.
ALTER TABLE request ADD COLUMN labels TEXT;

-- The labels of the accesses that a Task creates, or their change.
ALTER TABLE task ADD COLUMN labels TEXT;

-- The keys that a tenant filters by, separated by spaces.
ALTER TABLE tenant ADD COLUMN label_keys TEXT;

-- Up to which of a tenant's running numbers the sets of a key's labels are built: the largest integer once they are
-- complete, and -1 while they are deleted because the tenant doesn't filter by the key any more. The sets are in
-- `set_part` and `set_sum`, with the kinds label and label-key.
CREATE TABLE IF NOT EXISTS label_build (
    tenant    TEXT NOT NULL,
    label_key TEXT NOT NULL,
    built_to  INTEGER NOT NULL,
    PRIMARY KEY (tenant, label_key)
) STRICT, WITHOUT ROWID;
