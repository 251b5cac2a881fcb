-- The hot row: every append locks it and raises next_seq. It has no index on a
-- column that an append changes and room on its page, so PostgreSQL updates it
-- in place. Text is compared byte for byte, times are microseconds since 1970.
CREATE TABLE {schema}{prefix}conversations (
	id         uuid             NOT NULL PRIMARY KEY,
	uid        uuid             NOT NULL,
	generation bigint           NOT NULL,
	next_seq   bigint           NOT NULL,
	min_seq    bigint           NOT NULL,
	epoch      bigint           NOT NULL,
	created_at bigint           NOT NULL,
	updated_at bigint           NOT NULL,
	kind       text COLLATE "C" NOT NULL,
	app_name   text COLLATE "C" NOT NULL,
	user_id    text COLLATE "C" NOT NULL,
	session_id text COLLATE "C" NOT NULL,
	CHECK (kind IN ('session', 'direct', 'group')),
	CHECK (min_seq >= 1 AND next_seq >= min_seq),
	CHECK (epoch >= 1)
) WITH (fillfactor = 70);

CREATE INDEX {prefix}conversations_owner
	ON {schema}{prefix}conversations (app_name, user_id, created_at, session_id);

CREATE TABLE {schema}{prefix}events (
	conversation_id uuid             NOT NULL,
	generation      bigint           NOT NULL,
	seq             bigint           NOT NULL CHECK (seq >= 1),
	timestamp       bigint           NOT NULL,
	recorded_at     bigint           NOT NULL,
	id              text COLLATE "C" NOT NULL,
	kind            text COLLATE "C" NOT NULL,
	author          text COLLATE "C" NOT NULL,
	subject         text COLLATE "C" NOT NULL,
	invocation_id   text COLLATE "C" NOT NULL,
	branch          text COLLATE "C" NOT NULL,
	format          text COLLATE "C" NOT NULL,
	idempotency_key text COLLATE "C",
	request_hash    bytea,
	delta           text COLLATE "C",
	deletions       text COLLATE "C",
	payload         text COLLATE "C",
	PRIMARY KEY (conversation_id, generation, seq),
	CHECK ((idempotency_key IS NULL) = (request_hash IS NULL))
);

CREATE UNIQUE INDEX {prefix}events_request
	ON {schema}{prefix}events (conversation_id, generation, author, idempotency_key)
	WHERE idempotency_key IS NOT NULL;

CREATE TABLE {schema}{prefix}membership_periods (
	conversation_id uuid             NOT NULL,
	generation      bigint           NOT NULL,
	from_seq        bigint           NOT NULL,
	to_seq          bigint,
	member          text COLLATE "C" NOT NULL,
	app_name        text COLLATE "C" NOT NULL,
	PRIMARY KEY (conversation_id, generation, member, from_seq),
	CHECK (to_seq >= from_seq)
);

CREATE UNIQUE INDEX {prefix}membership_periods_open
	ON {schema}{prefix}membership_periods (conversation_id, generation, member)
	WHERE to_seq IS NULL;

CREATE INDEX {prefix}membership_periods_member
	ON {schema}{prefix}membership_periods (app_name, member, conversation_id)
	WHERE to_seq IS NULL;

CREATE TABLE {schema}{prefix}state_checkpoints (
	conversation_id uuid             NOT NULL,
	generation      bigint           NOT NULL,
	seq             bigint           NOT NULL,
	state           text COLLATE "C" NOT NULL,
	PRIMARY KEY (conversation_id, generation, seq)
);

-- One row for each state key. A removed key keeps its row with a NULL value, so
-- that sets and removals are one statement in one lock order.
CREATE TABLE {schema}{prefix}session_states (
	conversation_id uuid             NOT NULL,
	generation      bigint           NOT NULL,
	updated_at      bigint           NOT NULL,
	version         bigint           NOT NULL,
	name            text COLLATE "C" NOT NULL,
	value           text COLLATE "C",
	PRIMARY KEY (conversation_id, generation, name)
);

CREATE TABLE {schema}{prefix}app_states (
	updated_at bigint           NOT NULL,
	version    bigint           NOT NULL,
	app_name   text COLLATE "C" NOT NULL,
	name       text COLLATE "C" NOT NULL,
	value      text COLLATE "C",
	PRIMARY KEY (app_name, name)
);

CREATE TABLE {schema}{prefix}user_states (
	updated_at bigint           NOT NULL,
	version    bigint           NOT NULL,
	app_name   text COLLATE "C" NOT NULL,
	user_id    text COLLATE "C" NOT NULL,
	name       text COLLATE "C" NOT NULL,
	value      text COLLATE "C",
	PRIMARY KEY (app_name, user_id, name)
);

-- Logs whose conversation is gone and whose rows are being removed.
CREATE TABLE {schema}{prefix}discarded_logs (
	conversation_id uuid   NOT NULL,
	generation      bigint NOT NULL,
	discarded_at    bigint NOT NULL,
	PRIMARY KEY (conversation_id, generation)
);
