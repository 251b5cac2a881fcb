-- The hot row: every append locks it and raises next_seq. It has no index on a
-- column that an append changes. Text is compared byte for byte, times are
-- microseconds since 1970. UUIDs are BLOBs: a column typed uuid would have
-- NUMERIC affinity.
CREATE TABLE {prefix}conversations (
	id              BLOB    NOT NULL PRIMARY KEY,
	uid             BLOB    NOT NULL,
	generation      INTEGER NOT NULL,
	next_seq        INTEGER NOT NULL,
	min_seq         INTEGER NOT NULL,
	epoch           INTEGER NOT NULL,
	created_at      INTEGER NOT NULL,
	updated_at      INTEGER NOT NULL,
	kind            TEXT    NOT NULL,
	app_name        TEXT    NOT NULL,
	user_id         TEXT    NOT NULL,
	session_id      TEXT    NOT NULL,
	CHECK (kind IN ('session', 'direct', 'group')),
	CHECK (min_seq >= 1 AND next_seq >= min_seq),
	CHECK (epoch >= 1)
) STRICT, WITHOUT ROWID;

CREATE INDEX {prefix}conversations_owner
	ON {prefix}conversations (app_name, user_id, created_at, session_id);

-- With a rowid: payloads are too long for the pages of an index tree.
CREATE TABLE {prefix}events (
	conversation_id BLOB    NOT NULL,
	generation      INTEGER NOT NULL,
	seq             INTEGER NOT NULL CHECK (seq >= 1),
	timestamp       INTEGER NOT NULL,
	recorded_at     INTEGER NOT NULL,
	id              TEXT    NOT NULL,
	kind            TEXT    NOT NULL,
	author          TEXT    NOT NULL,
	subject         TEXT    NOT NULL,
	invocation_id   TEXT    NOT NULL,
	branch          TEXT    NOT NULL,
	format          TEXT    NOT NULL,
	idempotency_key TEXT,
	request_hash    BLOB,
	delta           TEXT,
	deletions       TEXT,
	payload         TEXT,
	PRIMARY KEY (conversation_id, generation, seq),
	CHECK ((idempotency_key IS NULL) = (request_hash IS NULL))
) STRICT;

CREATE UNIQUE INDEX {prefix}events_request
	ON {prefix}events (conversation_id, generation, author, idempotency_key)
	WHERE idempotency_key IS NOT NULL;

CREATE TABLE {prefix}membership_periods (
	conversation_id BLOB    NOT NULL,
	generation      INTEGER NOT NULL,
	from_seq        INTEGER NOT NULL,
	to_seq          INTEGER,
	member          TEXT    NOT NULL,
	app_name        TEXT    NOT NULL,
	PRIMARY KEY (conversation_id, generation, member, from_seq),
	CHECK (to_seq >= from_seq)
) STRICT, WITHOUT ROWID;

CREATE UNIQUE INDEX {prefix}membership_periods_open
	ON {prefix}membership_periods (conversation_id, generation, member)
	WHERE to_seq IS NULL;

CREATE INDEX {prefix}membership_periods_member
	ON {prefix}membership_periods (app_name, member, conversation_id)
	WHERE to_seq IS NULL;

CREATE TABLE {prefix}state_checkpoints (
	conversation_id BLOB    NOT NULL,
	generation      INTEGER NOT NULL,
	seq             INTEGER NOT NULL,
	state           TEXT    NOT NULL,
	PRIMARY KEY (conversation_id, generation, seq)
) STRICT, WITHOUT ROWID;

-- One row for each state key. A removed key keeps its row with a NULL value, so
-- that sets and removals are one statement in one lock order.
CREATE TABLE {prefix}session_states (
	conversation_id BLOB    NOT NULL,
	generation      INTEGER NOT NULL,
	updated_at      INTEGER NOT NULL,
	version         INTEGER NOT NULL,
	name            TEXT    NOT NULL,
	value           TEXT,
	PRIMARY KEY (conversation_id, generation, name)
) STRICT, WITHOUT ROWID;

CREATE TABLE {prefix}app_states (
	updated_at      INTEGER NOT NULL,
	version         INTEGER NOT NULL,
	app_name        TEXT    NOT NULL,
	name            TEXT    NOT NULL,
	value           TEXT,
	PRIMARY KEY (app_name, name)
) STRICT, WITHOUT ROWID;

CREATE TABLE {prefix}user_states (
	updated_at      INTEGER NOT NULL,
	version         INTEGER NOT NULL,
	app_name        TEXT    NOT NULL,
	user_id         TEXT    NOT NULL,
	name            TEXT    NOT NULL,
	value           TEXT,
	PRIMARY KEY (app_name, user_id, name)
) STRICT, WITHOUT ROWID;

-- Logs whose conversation is gone and whose rows are being removed.
CREATE TABLE {prefix}discarded_logs (
	conversation_id BLOB    NOT NULL,
	generation      INTEGER NOT NULL,
	discarded_at    INTEGER NOT NULL,
	PRIMARY KEY (conversation_id, generation)
) STRICT, WITHOUT ROWID;
