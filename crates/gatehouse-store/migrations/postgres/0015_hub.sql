-- Hubs: subscriptions of a tenant, whose events are sent to the subscribers.
CREATE TABLE IF NOT EXISTS hub (
    tenant        TEXT COLLATE "C" NOT NULL,
    id            TEXT COLLATE "C" NOT NULL,
    callback      TEXT NOT NULL,
    query         TEXT NOT NULL,
    state         TEXT NOT NULL,
    secret        BYTEA NOT NULL,  -- sealed
    former_secret BYTEA,           -- sealed, signs too, until `former_until`
    former_until  BIGINT,
    created_at    BIGINT NOT NULL,
    ended_at      BIGINT,
    position      BIGINT NOT NULL, -- every event up to this number was delivered, or is in `hub_event`
    n_failures    BIGINT NOT NULL, -- failed messages in a row
    failing_since BIGINT,
    blocked_until BIGINT,          -- no message before this time: the subscriber can't be reached
    n_missed      BIGINT NOT NULL, -- events that were deleted for their age before they were delivered
    n_waiting     BIGINT NOT NULL, -- of `hub_event`, as is `n_dead`
    n_dead        BIGINT NOT NULL,
    n_messages    BIGINT NOT NULL, -- messages so far, to number their slots in `hub_delivery`
    n_requests    BIGINT NOT NULL, -- requests to try at once: a server that works for the hub compares it before it lets go
    PRIMARY KEY (tenant, id)
);

-- Events that could not be delivered yet, and dead letters. An event waits behind an earlier one of its subject.
CREATE TABLE IF NOT EXISTS hub_event (
    tenant     TEXT COLLATE "C" NOT NULL,
    hub        TEXT COLLATE "C" NOT NULL,
    number     BIGINT NOT NULL,
    subject    BYTEA NOT NULL,  -- identifier of its access or Task, empty for none
    is_dead    BIGINT NOT NULL,
    is_refused BIGINT NOT NULL, -- the subscriber has answered, and refused it
    n_attempts BIGINT NOT NULL,
    since      BIGINT NOT NULL,
    due_at     BIGINT NOT NULL,
    why        TEXT NOT NULL,   -- why the last attempt failed
    PRIMARY KEY (tenant, hub, number)
);

-- Deleted with the events, by their numbers.
CREATE INDEX IF NOT EXISTS hub_event_number ON hub_event (tenant, number);

-- The latest messages of each hub, in slots that are used again.
CREATE TABLE IF NOT EXISTS hub_delivery (
    tenant       TEXT COLLATE "C" NOT NULL,
    hub          TEXT COLLATE "C" NOT NULL,
    slot         BIGINT NOT NULL,
    place        BIGINT NOT NULL, -- place among all messages of the hub
    at           BIGINT NOT NULL,
    first        BIGINT NOT NULL, -- number of the first event
    n            BIGINT NOT NULL,
    status       BIGINT,          -- of the response
    milliseconds BIGINT NOT NULL,
    why          TEXT,            -- why it failed
    PRIMARY KEY (tenant, hub, slot)
);

-- How far each outlet is that all tenants' events go to. The row of the tenant `*` says since when there is one.
CREATE TABLE IF NOT EXISTS outlet (
    tenant   TEXT COLLATE "C" NOT NULL,
    name     TEXT COLLATE "C" NOT NULL,
    position BIGINT NOT NULL, -- every event up to this number was delivered
    n_missed BIGINT NOT NULL, -- events that were deleted for their age before they were delivered
    PRIMARY KEY (tenant, name)
);
