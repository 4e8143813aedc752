-- The tables of a database, format 1. Once released, this script never changes: `schema.py` has the way to the next format.
--
-- An organization's number leads every key. `organizations`, `spaces`, `leases`, `shared_values`, `identity` and
-- `format` are small, read by all and seldom written; a change's sequence stands in `feeds`, by organization, whose row
-- a writer locks first. No extension, sequence object, trigger or foreign key is used.
--
-- `schema.py` makes of each `text` one that sorts by code point, whatever the database's own collation: what an index
-- of any other holds changes its meaning when the operating system's rules change. Instants are microseconds since 1970.

-- `analysis` is the version of the words in `names`; the terms of all texts are of version `texts`, or of several.
CREATE TABLE identity (id text PRIMARY KEY, analysis integer NOT NULL, texts integer NOT NULL);
INSERT INTO identity VALUES (replace(gen_random_uuid()::text, '-', ''), 0, 0);

-- The numbers that were drawn last: from rows, since every node of a cluster must give them alike.
CREATE TABLE numbers (what text PRIMARY KEY, latest integer NOT NULL);
INSERT INTO numbers VALUES ('organizations', 0), ('spaces', 0);
CREATE TABLE organizations (number integer PRIMARY KEY, name text NOT NULL UNIQUE);
CREATE TABLE spaces (
    number integer PRIMARY KEY, name text NOT NULL, digest text NOT NULL,
    dimensions integer NOT NULL,
    UNIQUE (name, digest, dimensions)
);

-- Who does what has a name, such as to embed; `leases.py` asks by the database's clock.
CREATE TABLE leases (name text PRIMARY KEY, holder text NOT NULL, until timestamptz NOT NULL);

-- What all servers share beside the records: where a ledger is, the secret that accepts proposals.
CREATE TABLE shared_values (name text PRIMARY KEY, value text NOT NULL);

-- `sequence` is that of the latest change. It is drawn under the row's lock, so that in an organization
-- the order of sequences is the order of commits.
CREATE TABLE feeds (organization integer PRIMARY KEY, sequence bigint NOT NULL)
    WITH (fillfactor = 50);
CREATE TABLE deletions (
    organization integer, kind text, id text, sequence bigint NOT NULL,
    PRIMARY KEY (organization, kind, id)
);
CREATE INDEX deletions_by_sequence ON deletions (organization, sequence);

-- `client` is that of `origin`, A to Z as a to z. `text_digest` tells whether a text has changed; `terms` are those of
-- the text as version `analysis` of the text analysis has them. `space` is the space of the vectors, float16 rows;
-- `states` the form of the token states, which are compressed already. Both are NULL while there are none.
CREATE TABLE memories (
    organization integer, id text, sequence bigint NOT NULL,
    scope text NOT NULL, type text NOT NULL, status text NOT NULL, author text NOT NULL,
    event_time bigint NOT NULL, ingestion_time bigint NOT NULL, updated_at bigint NOT NULL,
    valid_from bigint NOT NULL, valid_until bigint, repository text, "user" text,
    importance double precision NOT NULL, version bigint NOT NULL, superseded_by text,
    deleted_at bigint, locked_by text, unlocks_to text, given_uuid text, reason text, title text,
    metadata text NOT NULL, content text NOT NULL, origin text, client text,
    metadata_digest bytea NOT NULL,
    text_digest bytea NOT NULL, terms bytea STORAGE EXTERNAL, analysis integer,
    space integer, vectors bytea, states text, token_states bytea STORAGE EXTERNAL,
    PRIMARY KEY (organization, id)
);
CREATE INDEX memories_by_sequence ON memories (organization, sequence);
-- Which records lack vectors is asked of all organizations at once.
CREATE INDEX memories_by_space ON memories (space, states, organization, id);
CREATE INDEX memories_by_time ON memories (organization, ingestion_time, id);
CREATE INDEX memories_by_status ON memories (organization, status, id);
CREATE INDEX memories_by_update ON memories (organization, updated_at, id);

CREATE TABLE versions (
    organization integer, id text, sequence bigint NOT NULL, memory text NOT NULL,
    number bigint NOT NULL, changed_by text NOT NULL, changed_at bigint NOT NULL,
    request text NOT NULL, title text, content text NOT NULL, origin text, client text,
    PRIMARY KEY (organization, id)
);
CREATE INDEX versions_by_sequence ON versions (organization, sequence);
CREATE INDEX versions_by_memory ON versions (organization, memory, number, id);

CREATE TABLE entities (
    organization integer, id text, sequence bigint NOT NULL, name text NOT NULL,
    type text NOT NULL, author text NOT NULL, created_at bigint NOT NULL, description text,
    aliases text NOT NULL, repository text, "user" text, origin text, client text,
    PRIMARY KEY (organization, id)
);
CREATE INDEX entities_by_sequence ON entities (organization, sequence);
CREATE INDEX entities_by_name ON entities (organization, left(name, 200));
-- Each name and alias as a JSON list of words, found by the first 200 characters of its first word; `place` is that
-- among its entity's.
CREATE TABLE names (
    organization integer, entity text, place integer, first text NOT NULL, words text NOT NULL,
    PRIMARY KEY (organization, entity, place)
);
CREATE INDEX names_by_first ON names (organization, first);

CREATE TABLE edges (
    organization integer, kind text, id text, sequence bigint NOT NULL, source text NOT NULL,
    target text NOT NULL, type text NOT NULL, created_at bigint NOT NULL,
    weight double precision NOT NULL, origin text, client text,
    PRIMARY KEY (organization, kind, id)
);
CREATE INDEX edges_by_sequence ON edges (organization, sequence);
CREATE INDEX edges_by_source ON edges (organization, source);
CREATE INDEX edges_by_target ON edges (organization, target);

-- `fingerprints` are those of the records that an act changed: a JSON list.
CREATE TABLE entries (
    organization integer, id text, sequence bigint NOT NULL, number bigint NOT NULL,
    at bigint NOT NULL, actor text NOT NULL, role text NOT NULL, act text NOT NULL,
    subject_kind text NOT NULL, subject text NOT NULL, request text NOT NULL, outcome text NOT NULL,
    before text NOT NULL, after text NOT NULL, previous text NOT NULL, digest text NOT NULL,
    token text NOT NULL, origin text, client text, reason text NOT NULL,
    fingerprints text NOT NULL,
    PRIMARY KEY (organization, id)
);
CREATE INDEX entries_by_sequence ON entries (organization, sequence);
CREATE INDEX entries_by_number ON entries (organization, number, id);
CREATE INDEX entries_by_subject ON entries (organization, left(subject, 200), number, id);
CREATE TABLE heads (
    organization integer, id text, sequence bigint NOT NULL, number bigint NOT NULL,
    digest text NOT NULL,
    PRIMARY KEY (organization, id)
) WITH (fillfactor = 50);
CREATE INDEX heads_by_sequence ON heads (organization, sequence);

CREATE TABLE projects (
    organization integer, id text, sequence bigint NOT NULL, path text NOT NULL,
    author text NOT NULL, state text NOT NULL, started_at bigint NOT NULL, read_at bigint,
    completed_at bigint, total_files bigint NOT NULL, indexed_files bigint NOT NULL,
    skipped text NOT NULL, reason text, repository text, "user" text,
    PRIMARY KEY (organization, id)
);
CREATE INDEX projects_by_sequence ON projects (organization, sequence);
CREATE TABLE files (
    organization integer, id text, sequence bigint NOT NULL, project text NOT NULL,
    path text NOT NULL, stamp text NOT NULL, digest text NOT NULL, repository text, "user" text,
    PRIMARY KEY (organization, id)
);
CREATE INDEX files_by_sequence ON files (organization, sequence);
CREATE INDEX files_by_project ON files (organization, project, id);
CREATE TABLE chunks (
    organization integer, id text, sequence bigint NOT NULL, project text NOT NULL,
    path text NOT NULL, language text NOT NULL, type text NOT NULL, name text NOT NULL,
    signature text NOT NULL, start_line bigint NOT NULL, end_line bigint NOT NULL,
    repository text, "user" text, content text NOT NULL,
    text_digest bytea NOT NULL, terms bytea STORAGE EXTERNAL, analysis integer,
    space integer, vectors bytea, states text, token_states bytea STORAGE EXTERNAL,
    PRIMARY KEY (organization, id)
);
CREATE INDEX chunks_by_sequence ON chunks (organization, sequence);
CREATE INDEX chunks_by_space ON chunks (space, states, organization, id);
CREATE INDEX chunks_by_project ON chunks (organization, project, id);
CREATE INDEX chunks_by_name ON chunks (organization, left(name, 200));

CREATE TABLE commits (
    organization integer, id text, sequence bigint NOT NULL, project text NOT NULL,
    sha text NOT NULL, at bigint NOT NULL, author text NOT NULL, repository text, "user" text,
    message text NOT NULL, files text NOT NULL, changes text NOT NULL,
    text_digest bytea NOT NULL, terms bytea STORAGE EXTERNAL, analysis integer,
    space integer, vectors bytea, states text, token_states bytea STORAGE EXTERNAL,
    PRIMARY KEY (organization, id)
);
CREATE INDEX commits_by_sequence ON commits (organization, sequence);
CREATE INDEX commits_by_space ON commits (space, states, organization, id);
CREATE INDEX commits_by_project ON commits (organization, project, id);

CREATE TABLE decisions (
    organization integer, id text, sequence bigint NOT NULL, target text NOT NULL,
    status text NOT NULL, authorship text NOT NULL, author text NOT NULL,
    created_at bigint NOT NULL, supersedes text NOT NULL, superseded_by text NOT NULL,
    proposal text, repository text, "user" text, commit_id text, title text NOT NULL,
    consequences text NOT NULL, rationale text NOT NULL, origin text, client text,
    target_key text NOT NULL,
    text_digest bytea NOT NULL, terms bytea STORAGE EXTERNAL, analysis integer,
    space integer, vectors bytea, states text, token_states bytea STORAGE EXTERNAL,
    PRIMARY KEY (organization, id)
);
CREATE INDEX decisions_by_sequence ON decisions (organization, sequence);
CREATE INDEX decisions_by_space ON decisions (space, states, organization, id);
CREATE INDEX decisions_by_target ON decisions (organization, left(target_key, 200), status, id);
CREATE INDEX decisions_by_status ON decisions (organization, status, id);
CREATE TABLE proposals (
    organization integer, id text, sequence bigint NOT NULL, target text NOT NULL,
    status text NOT NULL, author text NOT NULL, created_at bigint NOT NULL,
    supersedes text NOT NULL, settled_at bigint, settled_by text, decision text,
    repository text, "user" text, title text NOT NULL, consequences text NOT NULL,
    rationale text NOT NULL, origin text, client text,
    text_digest bytea NOT NULL, terms bytea STORAGE EXTERNAL, analysis integer,
    space integer, vectors bytea, states text, token_states bytea STORAGE EXTERNAL,
    PRIMARY KEY (organization, id)
);
CREATE INDEX proposals_by_sequence ON proposals (organization, sequence);
CREATE INDEX proposals_by_space ON proposals (space, states, organization, id);
CREATE INDEX proposals_by_status ON proposals (organization, status, id);
CREATE TABLE ledgers (
    organization integer, id text, sequence bigint NOT NULL, commit_id text NOT NULL,
    verified_at bigint NOT NULL,
    PRIMARY KEY (organization, id)
);
CREATE INDEX ledgers_by_sequence ON ledgers (organization, sequence);
CREATE TABLE tokens (
    organization integer, id text, sequence bigint NOT NULL, name text NOT NULL,
    role text NOT NULL, digest text NOT NULL, author text NOT NULL, created_at bigint NOT NULL,
    bound_organization text, bound_repositories text, bound_user text, expires_at bigint,
    revoked_at bigint,
    PRIMARY KEY (organization, id)
);
CREATE INDEX tokens_by_sequence ON tokens (organization, sequence);

CREATE TABLE turns (
    organization integer, id text, sequence bigint NOT NULL, session text NOT NULL,
    at bigint NOT NULL, author text NOT NULL, repository text, "user" text, prompt text NOT NULL,
    thought text NOT NULL, response text NOT NULL, origin text, client text,
    text_digest bytea NOT NULL, terms bytea STORAGE EXTERNAL, analysis integer,
    space integer, vectors bytea, states text, token_states bytea STORAGE EXTERNAL,
    PRIMARY KEY (organization, id)
);
CREATE INDEX turns_by_sequence ON turns (organization, sequence);
CREATE INDEX turns_by_space ON turns (space, states, organization, id);
CREATE INDEX turns_by_session ON turns (organization, left(session, 200), at, id);
CREATE INDEX turns_by_time ON turns (organization, at, id);
CREATE TABLE summaries (
    organization integer, id text, sequence bigint NOT NULL, session text NOT NULL,
    at bigint NOT NULL, category text NOT NULL, turn_count bigint NOT NULL,
    quality bigint NOT NULL, productivity bigint NOT NULL, impact bigint NOT NULL,
    complexity bigint NOT NULL, made_by text NOT NULL, last_turn text NOT NULL,
    author text NOT NULL, repository text, "user" text, title text NOT NULL,
    technologies text NOT NULL, reasons text NOT NULL, summary text NOT NULL, origin text,
    client text,
    text_digest bytea NOT NULL, terms bytea STORAGE EXTERNAL, analysis integer,
    space integer, vectors bytea, states text, token_states bytea STORAGE EXTERNAL,
    PRIMARY KEY (organization, id)
);
CREATE INDEX summaries_by_sequence ON summaries (organization, sequence);
CREATE INDEX summaries_by_space ON summaries (space, states, organization, id);
CREATE INDEX summaries_by_time ON summaries (organization, at, id);
CREATE INDEX summaries_by_category ON summaries (organization, category, at, id);
CREATE INDEX summaries_by_session ON summaries (organization, left(session, 200));

-- Beside the records, in no change feed:

-- When each token was used last: no organization's writers wait for it.
CREATE TABLE uses (token text PRIMARY KEY, at bigint NOT NULL) WITH (fillfactor = 50);

-- Whose tables stand beside these, and in which format: `store/sql/side_tables.py` makes them.
CREATE TABLE side_tables (feature text PRIMARY KEY, format integer NOT NULL);

-- From which store records are, or were, moved here; how far each organization has come, by the other's sequences, and
-- the own sequence at the end, by which a later write shows.
CREATE TABLE migration (source text PRIMARY KEY, ended boolean NOT NULL);
CREATE TABLE migrated (
    organization integer PRIMARY KEY, source_sequence bigint NOT NULL, sequence bigint
);
