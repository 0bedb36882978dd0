-- Hubs: subscriptions of a tenant, whose events are sent to the subscribers.
CREATE TABLE IF NOT EXISTS hub (
    tenant        TEXT NOT NULL,
    id            TEXT NOT NULL,
    callback      TEXT NOT NULL,
    query         TEXT NOT NULL,
    state         TEXT NOT NULL,
    secret        BLOB NOT NULL,  -- sealed
    former_secret BLOB,           -- sealed, signs too, until `former_until`
    former_until  INTEGER,
    created_at    INTEGER NOT NULL,
    ended_at      INTEGER,
    position      INTEGER NOT NULL, -- every event up to this number was delivered, or is in `hub_event`
    n_failures    INTEGER NOT NULL, -- failed messages in a row
    failing_since INTEGER,
    blocked_until INTEGER,          -- no message before this time: the subscriber can't be reached
    n_missed      INTEGER NOT NULL, -- events that were deleted for their age before they were delivered
    n_waiting     INTEGER NOT NULL, -- of `hub_event`, as is `n_dead`
    n_dead        INTEGER NOT NULL,
    n_messages    INTEGER NOT NULL, -- messages so far, to number their slots in `hub_delivery`
    n_requests    INTEGER NOT NULL, -- requests to try at once: a server that works for the hub compares it before it lets go
    PRIMARY KEY (tenant, id)
) STRICT, WITHOUT ROWID;

-- Events that could not be delivered yet, and dead letters. An event waits behind an earlier one of its subject.
CREATE TABLE IF NOT EXISTS hub_event (
    tenant     TEXT NOT NULL,
    hub        TEXT NOT NULL,
    number     INTEGER NOT NULL,
    subject    BLOB NOT NULL,  -- identifier of its access or Task, empty for none
    is_dead    INTEGER NOT NULL,
    is_refused INTEGER NOT NULL, -- the subscriber has answered, and refused it
    n_attempts INTEGER NOT NULL,
    since      INTEGER NOT NULL,
    due_at     INTEGER NOT NULL,
    why        TEXT NOT NULL,   -- why the last attempt failed
    PRIMARY KEY (tenant, hub, number)
) STRICT, WITHOUT ROWID;

-- Deleted with the events, by their numbers.
CREATE INDEX IF NOT EXISTS hub_event_number ON hub_event (tenant, number);

-- The latest messages of each hub, in slots that are used again.
CREATE TABLE IF NOT EXISTS hub_delivery (
    tenant       TEXT NOT NULL,
    hub          TEXT NOT NULL,
    slot         INTEGER NOT NULL,
    place        INTEGER NOT NULL, -- place among all messages of the hub
    at           INTEGER NOT NULL,
    first        INTEGER NOT NULL, -- number of the first event
    n            INTEGER NOT NULL,
    status       INTEGER,          -- of the response
    milliseconds INTEGER NOT NULL,
    why          TEXT,            -- why it failed
    PRIMARY KEY (tenant, hub, slot)
) STRICT, WITHOUT ROWID;

-- How far each outlet is that all tenants' events go to. The row of the tenant `*` says since when there is one.
CREATE TABLE IF NOT EXISTS outlet (
    tenant   TEXT NOT NULL,
    name     TEXT NOT NULL,
    position INTEGER NOT NULL, -- every event up to this number was delivered
    n_missed INTEGER NOT NULL, -- events that were deleted for their age before they were delivered
    PRIMARY KEY (tenant, name)
) STRICT, WITHOUT ROWID;
