-- Labels of accesses: an access's labels are one text, ordered by key (`gatehouse_core::label`).
ALTER TABLE access ADD COLUMN IF NOT EXISTS labels TEXT COLLATE "C";

-- The labels of a new access, for the response to a repeated request.
ALTER TABLE request ADD COLUMN IF NOT EXISTS labels TEXT COLLATE "C";

-- The labels of the accesses that a Task creates, or their change.
ALTER TABLE task ADD COLUMN IF NOT EXISTS labels TEXT COLLATE "C";

-- The keys that a tenant filters by, separated by spaces.
ALTER TABLE tenant ADD COLUMN IF NOT EXISTS label_keys TEXT COLLATE "C";

-- Up to which of a tenant's running numbers the sets of a key's labels are built: the largest integer once they are
-- complete, and -1 while they are deleted because the tenant doesn't filter by the key any more. The sets are in
-- `set_part` and `set_sum`, with the kinds label and label-key.
CREATE TABLE IF NOT EXISTS label_build (
    tenant    TEXT COLLATE "C" NOT NULL,
    label_key TEXT COLLATE "C" NOT NULL,
    built_to  BIGINT NOT NULL,
    PRIMARY KEY (tenant, label_key)
) WITH (fillfactor = 50);
