"""The tables, and the way from each earlier form of them to the present one.

An organization's number leads every key. `organizations`, `spaces`, `leases`, `shared_values`, `identity` and `format` are
small, read by all and seldom written; a change's sequence stands in `feeds`, by organization, whose row
a writer locks first. No extension, sequence object, trigger or foreign key is used.
"""

import re
from contextlib import suppress

from psycopg import Connection, errors

from minutebook.domain.errors import StoreError, StoreTooNew
from minutebook.store.postgres import distribution

LEAST_SERVER = 160000
"""The earliest version of PostgreSQL that the engine is tested with, as the server numbers it."""

# `text` stands for text that sorts by code point, whatever the database's own collation: what an index
# of any other holds changes its meaning when the operating system's rules change.
_FIRST = """
-- `analysis` is the version of the words in `names`.
CREATE TABLE identity (id text NOT NULL, analysis integer NOT NULL);
INSERT INTO identity VALUES (replace(gen_random_uuid()::text, '-', ''), 0);

CREATE TABLE organizations (
    number integer GENERATED ALWAYS AS IDENTITY PRIMARY KEY, name text NOT NULL UNIQUE
);
CREATE TABLE spaces (
    number integer GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    name text NOT NULL, digest text NOT NULL, dimensions integer NOT NULL,
    UNIQUE (name, digest, dimensions)
);

-- Who does what has a name, such as to embed; `leases.py` asks by the database's clock.
CREATE TABLE leases (name text PRIMARY KEY, holder text NOT NULL, until timestamptz NOT NULL);

-- `sequence` is that of the latest change. It is drawn under the row's lock, so that in an organization
-- the order of sequences is the order of commits.
CREATE TABLE feeds (organization integer PRIMARY KEY, sequence bigint NOT NULL)
    WITH (fillfactor = 50);
CREATE TABLE deletions (
    organization integer, kind text, id text, sequence bigint NOT NULL,
    PRIMARY KEY (organization, kind, id)
);

-- `space` is the space of the vectors, float16 rows; `states` the form of the token states. Both are
-- NULL while there are none. `text_digest` tells whether a text has changed.
CREATE TABLE memories (
    organization integer, id text, sequence bigint NOT NULL,
    scope text NOT NULL, type text NOT NULL, status text NOT NULL, author text NOT NULL,
    event_time bigint NOT NULL, ingestion_time bigint NOT NULL, updated_at bigint NOT NULL,
    valid_from bigint NOT NULL, valid_until bigint, repository text, "user" text,
    importance double precision NOT NULL, version bigint NOT NULL, superseded_by text,
    deleted_at bigint, locked_by text, unlocks_to text, given_uuid text, reason text, title text,
    metadata text NOT NULL, content text NOT NULL, origin text,
    client text, metadata_digest bytea NOT NULL,
    text_digest bytea NOT NULL, space integer, vectors bytea, states text, token_states bytea,
    PRIMARY KEY (organization, id)
);
CREATE INDEX memories_by_time ON memories (organization, ingestion_time, id);
CREATE INDEX memories_by_status ON memories (organization, status, id);
CREATE INDEX memories_by_update ON memories (organization, updated_at, id);

CREATE TABLE versions (
    organization integer, id text, sequence bigint NOT NULL, memory text NOT NULL,
    number bigint NOT NULL, changed_by text NOT NULL, changed_at bigint NOT NULL,
    request text NOT NULL, title text, content text NOT NULL, origin text, client text,
    PRIMARY KEY (organization, id)
);
CREATE INDEX versions_by_memory ON versions (organization, memory, number, id);

CREATE TABLE entities (
    organization integer, id text, sequence bigint NOT NULL, name text NOT NULL,
    type text NOT NULL, author text NOT NULL, created_at bigint NOT NULL, description text,
    aliases text NOT NULL, repository text, "user" text, origin text, client text,
    PRIMARY KEY (organization, id)
);
CREATE INDEX entities_by_name ON entities (organization, left(name, 200));
-- Each name and alias as a JSON list of words, found by the first 200 characters of its first word.
CREATE TABLE names (
    organization integer NOT NULL, first text NOT NULL, entity text NOT NULL, words text NOT NULL
);
CREATE INDEX names_by_first ON names (organization, first);
CREATE INDEX names_by_entity ON names (organization, entity);

CREATE TABLE edges (
    organization integer, kind text, id text, sequence bigint NOT NULL, source text NOT NULL,
    target text NOT NULL, type text NOT NULL, created_at bigint NOT NULL,
    weight double precision NOT NULL, origin text, client text,
    PRIMARY KEY (organization, kind, id)
);
CREATE INDEX edges_by_source ON edges (organization, source);
CREATE INDEX edges_by_target ON edges (organization, target);

CREATE TABLE entries (
    organization integer, id text, sequence bigint NOT NULL, number bigint NOT NULL,
    at bigint NOT NULL, actor text NOT NULL, role text NOT NULL, act text NOT NULL,
    subject_kind text NOT NULL, subject text NOT NULL, request text NOT NULL, outcome text NOT NULL,
    before text NOT NULL, after text NOT NULL, previous text NOT NULL, digest text NOT NULL,
    token text NOT NULL, origin text, client text,
    PRIMARY KEY (organization, id)
);
CREATE INDEX entries_by_number ON entries (organization, number, id);
CREATE INDEX entries_by_subject ON entries (organization, left(subject, 200), number, id);
CREATE TABLE heads (
    organization integer, id text, sequence bigint NOT NULL, number bigint NOT NULL,
    digest text NOT NULL,
    PRIMARY KEY (organization, id)
) WITH (fillfactor = 50);

CREATE TABLE projects (
    organization integer, id text, sequence bigint NOT NULL, path text NOT NULL,
    author text NOT NULL, state text NOT NULL, started_at bigint NOT NULL, read_at bigint,
    completed_at bigint, total_files bigint NOT NULL, indexed_files bigint NOT NULL,
    skipped text NOT NULL, reason text, repository text, "user" text,
    PRIMARY KEY (organization, id)
);
CREATE TABLE files (
    organization integer, id text, sequence bigint NOT NULL, project text NOT NULL,
    path text NOT NULL, stamp text NOT NULL, digest text NOT NULL, repository text, "user" text,
    PRIMARY KEY (organization, id)
);
CREATE INDEX files_by_project ON files (organization, project, id);
CREATE TABLE chunks (
    organization integer, id text, sequence bigint NOT NULL, project text NOT NULL,
    path text NOT NULL, language text NOT NULL, type text NOT NULL, name text NOT NULL,
    signature text NOT NULL, start_line bigint NOT NULL, end_line bigint NOT NULL,
    repository text, "user" text, content text NOT NULL,
    text_digest bytea NOT NULL, space integer, vectors bytea, states text, token_states bytea,
    PRIMARY KEY (organization, id)
);
CREATE INDEX chunks_by_project ON chunks (organization, project, id);
CREATE INDEX chunks_by_name ON chunks (organization, left(name, 200));

CREATE TABLE decisions (
    organization integer, id text, sequence bigint NOT NULL, target text NOT NULL,
    status text NOT NULL, authorship text NOT NULL, author text NOT NULL,
    created_at bigint NOT NULL, supersedes text NOT NULL, superseded_by text NOT NULL,
    proposal text, repository text, "user" text, commit_id text, title text NOT NULL,
    consequences text NOT NULL, rationale text NOT NULL, origin text, target_key text NOT NULL,
    client text,
    text_digest bytea NOT NULL, space integer, vectors bytea, states text, token_states bytea,
    PRIMARY KEY (organization, id)
);
CREATE INDEX decisions_by_target ON decisions (organization, left(target_key, 200), status, id);
CREATE INDEX decisions_by_status ON decisions (organization, status, id);
CREATE TABLE proposals (
    organization integer, id text, sequence bigint NOT NULL, target text NOT NULL,
    status text NOT NULL, author text NOT NULL, created_at bigint NOT NULL,
    supersedes text NOT NULL, settled_at bigint, settled_by text, decision text,
    repository text, "user" text, title text NOT NULL, consequences text NOT NULL,
    rationale text NOT NULL, origin text, client text,
    text_digest bytea NOT NULL, space integer, vectors bytea, states text, token_states bytea,
    PRIMARY KEY (organization, id)
);
CREATE INDEX proposals_by_status ON proposals (organization, status, id);
CREATE TABLE ledgers (
    organization integer, id text, sequence bigint NOT NULL, commit_id text NOT NULL,
    verified_at bigint NOT NULL,
    PRIMARY KEY (organization, id)
);
CREATE TABLE tokens (
    organization integer, id text, sequence bigint NOT NULL, name text NOT NULL,
    role text NOT NULL, digest text NOT NULL, author text NOT NULL, created_at bigint NOT NULL,
    bound_organization text, bound_repositories text, bound_user text, expires_at bigint,
    last_used_at bigint, revoked_at bigint,
    PRIMARY KEY (organization, id)
);

CREATE TABLE turns (
    organization integer, id text, sequence bigint NOT NULL, session text NOT NULL,
    at bigint NOT NULL, author text NOT NULL, repository text, "user" text, prompt text NOT NULL,
    thought text NOT NULL, response text NOT NULL, origin text, client text,
    text_digest bytea NOT NULL, space integer, vectors bytea, states text, token_states bytea,
    PRIMARY KEY (organization, id)
);
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
    text_digest bytea NOT NULL, space integer, vectors bytea, states text, token_states bytea,
    PRIMARY KEY (organization, id)
);
CREATE INDEX summaries_by_time ON summaries (organization, at, id);
CREATE INDEX summaries_by_category ON summaries (organization, category, at, id);
CREATE INDEX summaries_by_session ON summaries (organization, left(session, 200));
"""

_TABLES = (
    *("deletions", "memories", "versions", "entities", "edges", "entries", "heads", "projects"),
    *("files", "chunks", "decisions", "proposals", "ledgers", "tokens", "turns", "summaries"),
)
_WITH_TEXT = ("memories", "chunks", "decisions", "proposals", "turns", "summaries")

# Which records lack vectors is asked of all organizations at once; the states are compressed already.
_FIRST += "".join(
    f"CREATE INDEX {table}_by_sequence ON {table} (organization, sequence);\n" for table in _TABLES
) + "".join(
    f"CREATE INDEX {table}_by_space ON {table} (space, states, organization, id);\n"
    f"ALTER TABLE {table} ALTER COLUMN token_states SET STORAGE EXTERNAL;\n"
    for table in _WITH_TEXT
)

_SECOND = "ALTER TABLE entries ADD COLUMN reason text NOT NULL DEFAULT '';"

# From which store records are, or were, moved here; how far each organization has come, by the other's
# sequences, and the own sequence at the end, by which a later write shows.
_THIRD = """
CREATE TABLE migration (source text NOT NULL, ended boolean NOT NULL);
CREATE TABLE migrated (
    organization integer PRIMARY KEY, source_sequence bigint NOT NULL, sequence bigint
);
"""

# `terms` are those of the text as version `analysis` of the text analysis has them; NULL as long as
# nobody has analysed a text that an earlier version wrote. All are of version `texts`, or of several.
_FOURTH = "ALTER TABLE identity ADD COLUMN texts integer NOT NULL DEFAULT 0;\n" + "".join(
    f"ALTER TABLE {table} ADD COLUMN terms bytea, ADD COLUMN analysis integer;\n"
    f"ALTER TABLE {table} ALTER COLUMN terms SET STORAGE EXTERNAL;\n"
    for table in _WITH_TEXT
)

# When each token was used last: no record, so no organization's writers wait for it. `last_used_at` stays
# for servers of an earlier version, which go on beside one of this.
_FIFTH = """
CREATE TABLE uses (token text PRIMARY KEY, at bigint NOT NULL) WITH (fillfactor = 50);
INSERT INTO uses SELECT id, last_used_at FROM tokens WHERE last_used_at IS NOT NULL;
"""

# What a cluster asks: a primary key for each table, so that an organization can be moved while it is
# written to, and numbers that every node gives alike. `place` is that of a name among its entity's.
_SIXTH = """
ALTER TABLE names ADD COLUMN place integer;
UPDATE names AS n SET place = numbered.place FROM (
    SELECT ctid AS row, row_number() OVER (PARTITION BY organization, entity) AS place FROM names
) AS numbered WHERE n.ctid = numbered.row;
ALTER TABLE names ADD PRIMARY KEY (organization, entity, place);
DROP INDEX names_by_entity;
ALTER TABLE identity ADD PRIMARY KEY (id);
ALTER TABLE migration ADD PRIMARY KEY (source);
ALTER TABLE organizations ALTER COLUMN number DROP IDENTITY;
ALTER TABLE spaces ALTER COLUMN number DROP IDENTITY;
CREATE TABLE numbers (what text PRIMARY KEY, latest integer NOT NULL);
INSERT INTO numbers SELECT 'organizations', coalesce(max(number), 0) FROM organizations;
INSERT INTO numbers SELECT 'spaces', coalesce(max(number), 0) FROM spaces;
INSERT INTO feeds SELECT number, 0 FROM organizations ON CONFLICT DO NOTHING;
"""

# What all servers share beside the records: where a ledger is, the secret that accepts proposals.
_SEVENTH = "CREATE TABLE shared_values (name text PRIMARY KEY, value text NOT NULL);"

# Which records each question got: beside the records, in no change feed.
_EIGHTH = """
CREATE TABLE recalls (
    organization integer NOT NULL, id text NOT NULL, at bigint NOT NULL, asker text NOT NULL,
    actor text NOT NULL, client text NOT NULL, contract text NOT NULL, act text NOT NULL,
    session text NOT NULL, question text, PRIMARY KEY (organization, id)
);
CREATE INDEX recalls_by_time ON recalls (organization, at, id);
CREATE INDEX recalls_by_session ON recalls (organization, session, at, id);
CREATE TABLE recalled (
    organization integer NOT NULL, recall text NOT NULL, place integer NOT NULL, kind text NOT NULL,
    id text NOT NULL, score double precision NOT NULL, PRIMARY KEY (organization, recall, place)
);
CREATE INDEX recalled_by_record ON recalled (organization, id, recall);
"""

# How the records may be put in order: beside them, in no change feed.
_NINTH = """
CREATE TABLE suggestions (
    organization integer NOT NULL, id text NOT NULL, number integer NOT NULL, finding text NOT NULL,
    state text NOT NULL, certainty double precision NOT NULL, subjects text NOT NULL, due bigint,
    found_at bigint NOT NULL, settled_at bigint, settled_by text NOT NULL, undo text NOT NULL,
    PRIMARY KEY (organization, id)
);
CREATE INDEX suggestions_by_number ON suggestions (organization, number);
CREATE INDEX suggestions_by_due ON suggestions (organization, state, due);
CREATE INDEX suggestions_by_state ON suggestions (organization, state, number);
"""

# Fingerprints of the records that an act changed: a JSON list.
_TENTH = "ALTER TABLE entries ADD COLUMN fingerprints text NOT NULL DEFAULT '[]';"

_SCRIPTS = (_FIRST, _SECOND, _THIRD, _FOURTH, _FIFTH, _SIXTH, _SEVENTH, _EIGHTH, _NINTH, _TENTH)
SCRIPTS = tuple(re.sub(r" text\b", ' text COLLATE "C"', each) for each in _SCRIPTS)
"""Script n leads from version n to version n + 1; a script that was released never changes."""

VERSION = len(SCRIPTS)


def prepare(connection: Connection, place: str) -> None:
    """Bring the tables to the present form, unless they have it; others wait meanwhile.

    Raises StoreTooNew if a later version wrote them, StoreError if the server is too old, the
    database's texts are not UTF-8 or another program's tables stand there.
    """
    if connection.info.server_version < LEAST_SERVER:
        raise StoreError(
            f"{place}: the server is PostgreSQL {connection.info.server_version // 10000}; "
            f"Minutebook needs {LEAST_SERVER // 10000} or later"
        )
    encoding = connection.info.parameter_status("server_encoding")
    if encoding != "UTF8":
        raise StoreError(
            f"{place}: the database keeps texts as {encoding}; make one with ENCODING 'UTF8'"
        )
    if _is_current(connection, place):
        return
    # Of several that find an empty database one makes the table; then all wait at its row.
    with suppress(errors.UniqueViolation, errors.DuplicateTable):
        connection.execute(
            "CREATE TABLE IF NOT EXISTS format (one boolean PRIMARY KEY, version integer NOT NULL)"
        )
    connection.execute("INSERT INTO format VALUES (TRUE, 0) ON CONFLICT DO NOTHING")
    with connection.transaction():
        connection.execute("SELECT version FROM format FOR UPDATE")
        scripts = SCRIPTS[_version(connection) :]
        if scripts:
            distribution.begin_change(connection, place)
        for script in scripts:
            for statement in _statements(script):
                connection.execute(statement.encode())
        if scripts:
            distribution.place_new(connection, place)
        connection.execute("UPDATE format SET version = %s", (VERSION,))


def _statements(script: str) -> list[str]:
    """Return the statements of a script one by one, as a cluster must be given them."""
    without_comments = re.sub(r"--.*", "", script)
    return [each for each in without_comments.split(";") if each.strip()]


def _is_current(connection: Connection, place: str) -> bool:
    """Tell whether the tables have the present form. Raises StoreTooNew or StoreError."""
    found = connection.execute(
        "SELECT count(*) FILTER (WHERE relname = 'format'), count(*) FROM pg_class"
        " WHERE relnamespace = current_schema()::regnamespace AND relkind IN ('r', 'p')"
    ).fetchone()
    has_format, tables = found or (0, 0)
    if tables and not has_format:
        raise StoreError(
            f"{place}: this database holds another program's tables; name an empty one"
        )
    version = _version(connection) if has_format else 0
    if version > VERSION:
        raise StoreTooNew(
            f"{place}: the store has format {version}, this version of Minutebook reads up to "
            f"{VERSION}; upgrade Minutebook, or name another database. Nothing was changed"
        )
    return version == VERSION


def _version(connection: Connection) -> int:
    found = connection.execute("SELECT version FROM format").fetchone()
    return 0 if found is None else int(found[0])
