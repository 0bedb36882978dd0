-- The journal: an event for every change of an access and of a Task's state.

-- Entries that are written and have no number yet, in the transactions of their changes. `draw` rises with the changes
-- of each access and Task.
CREATE TABLE IF NOT EXISTS event_new (
    tenant TEXT NOT NULL,
    draw   INTEGER NOT NULL,
    at     INTEGER NOT NULL, -- when the change happened
    entry  BLOB NOT NULL,    -- `gatehouse_core::event::encoding`
    PRIMARY KEY (tenant, draw)
) STRICT, WITHOUT ROWID;

-- Numbered entries. One has the numbers `first` to `first` + `n` - 1.
CREATE TABLE IF NOT EXISTS event (
    tenant TEXT NOT NULL,
    first  INTEGER NOT NULL,
    n      INTEGER NOT NULL,
    at     INTEGER NOT NULL,
    low    INTEGER,          -- lowest and highest running number of the entry's accesses
    high   INTEGER,
    width  INTEGER,          -- number of hexadecimal digits of `high` - `low`
    entry  BLOB NOT NULL,
    mac    BLOB NOT NULL,    -- of this entry and of the one before
    PRIMARY KEY (tenant, first)
) STRICT, WITHOUT ROWID;

CREATE INDEX IF NOT EXISTS event_access ON event (tenant, width, low) WHERE width IS NOT NULL;

-- Both ends of each tenant's journal: the last number and its entry's MAC; and the number and MAC of the last entry
-- that was deleted for its age, 0 and none at first. A tenant without a row has no journal yet.
CREATE TABLE IF NOT EXISTS journal (
    tenant      TEXT NOT NULL PRIMARY KEY,
    last        INTEGER NOT NULL,
    mac         BLOB NOT NULL,
    deleted_to  INTEGER NOT NULL,
    deleted_mac BLOB NOT NULL
) STRICT, WITHOUT ROWID;
