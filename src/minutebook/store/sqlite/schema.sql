-- The tables of a file, format 1. Once released, this script never changes: `schema.py` has the way to the next format.
--
-- An organization's number leads every key. A column without a type holds a text, or the bytes of one with lone
-- surrogates; instants are microseconds since 1970. `origin` says by which program, contract and session a record
-- was written: a JSON object, NULL if unknown.

CREATE TABLE identity (id TEXT NOT NULL) STRICT;
INSERT INTO identity VALUES (lower(hex(randomblob(16))));

-- `sequence` is that of the latest change. Each record's row holds the sequence of its own.
CREATE TABLE organizations (
    number INTEGER PRIMARY KEY, name NOT NULL UNIQUE, sequence INTEGER NOT NULL
);
CREATE TABLE spaces (
    number INTEGER PRIMARY KEY, name NOT NULL, digest NOT NULL, dimensions INTEGER NOT NULL,
    UNIQUE (name, digest, dimensions)
);
-- Which organizations have a full-text table text_<kind>_<organization>, and by which version of the text analysis
-- they were made; see text_analysis.py.
CREATE TABLE text_indices (
    organization INTEGER, kind TEXT, reached INTEGER, PRIMARY KEY (organization, kind)
) WITHOUT ROWID;
CREATE TABLE text_analysis (version INTEGER NOT NULL);
INSERT INTO text_analysis VALUES (0);

CREATE TABLE deletions (
    organization INTEGER, sequence INTEGER, kind TEXT NOT NULL, id NOT NULL,
    PRIMARY KEY (organization, sequence), UNIQUE (organization, kind, id)
) WITHOUT ROWID;

-- `space` is the space of a record's vectors, `states` the form of its packed token states; each NULL while it has
-- none, so that records that lack some are a range of an index. Vectors and states stand beside, by `row`. Texts that
-- can be long stand last, so that reading the rest of a row does not read them.
CREATE TABLE memories (
    row INTEGER PRIMARY KEY, organization INTEGER NOT NULL, id NOT NULL,
    sequence INTEGER NOT NULL, space INTEGER, states,
    scope NOT NULL, type NOT NULL, status NOT NULL, author NOT NULL,
    event_time INTEGER NOT NULL, ingestion_time INTEGER NOT NULL, updated_at INTEGER NOT NULL,
    valid_from INTEGER NOT NULL, valid_until INTEGER, repository, user,
    importance REAL NOT NULL, version INTEGER NOT NULL, superseded_by, deleted_at INTEGER,
    locked_by, unlocks_to, given_uuid, origin, reason, title, metadata NOT NULL, content NOT NULL,
    UNIQUE (organization, id)
);
CREATE INDEX memories_by_sequence ON memories (organization, sequence);
-- Covers the conditions of a Filter, so that counting reads no row.
CREATE INDEX memories_by_time ON memories
    (organization, ingestion_time, id, repository, user, deleted_at, valid_from, valid_until);
CREATE INDEX memories_by_space ON memories (organization, space, states, id);
CREATE INDEX memories_by_status ON memories (organization, status, id);
CREATE INDEX memories_by_update ON memories (organization, updated_at, id);
CREATE TABLE memories_vectors (row INTEGER PRIMARY KEY, vectors BLOB NOT NULL);
CREATE TABLE memories_states (
    row INTEGER PRIMARY KEY, organization INTEGER NOT NULL, space INTEGER NOT NULL,
    form NOT NULL, states BLOB NOT NULL
);
-- Sums the bytes without reading them.
CREATE INDEX memories_states_by_size ON memories_states (organization, length(states));

CREATE TABLE versions (
    row INTEGER PRIMARY KEY, organization INTEGER NOT NULL, id NOT NULL,
    sequence INTEGER NOT NULL, memory NOT NULL, number INTEGER NOT NULL, changed_by NOT NULL,
    changed_at INTEGER NOT NULL, origin, request NOT NULL, title, content NOT NULL,
    UNIQUE (organization, id)
);
CREATE INDEX versions_by_sequence ON versions (organization, sequence);
CREATE INDEX versions_by_memory ON versions (organization, memory, number, id);

CREATE TABLE entities (
    organization INTEGER, id, sequence INTEGER NOT NULL, name NOT NULL, type NOT NULL,
    author NOT NULL, created_at INTEGER NOT NULL, origin, description, aliases NOT NULL,
    repository, user,
    PRIMARY KEY (organization, id)
) WITHOUT ROWID;
CREATE INDEX entities_by_sequence ON entities (organization, sequence);
CREATE INDEX entities_by_name ON entities (organization, name);
-- Each name and alias as a JSON list of words, found by its first word.
CREATE TABLE names (
    organization INTEGER, first, entity, words,
    PRIMARY KEY (organization, first, entity, words)
) WITHOUT ROWID;
CREATE INDEX names_by_entity ON names (organization, entity);

CREATE TABLE edges (
    organization INTEGER, kind TEXT, id, sequence INTEGER NOT NULL, source NOT NULL,
    target NOT NULL, type NOT NULL, created_at INTEGER NOT NULL, weight REAL NOT NULL, origin,
    PRIMARY KEY (organization, kind, id)
) WITHOUT ROWID;
CREATE INDEX edges_by_sequence ON edges (organization, sequence);
-- They cover what a walk along edges reads, so that it searches no row by its key.
CREATE INDEX edges_by_source ON edges (organization, source, kind, id, target, type, weight);
CREATE INDEX edges_by_target ON edges (organization, target, kind, id, source, type, weight);

-- `fingerprints` are those of the records that an act changed: a JSON list.
CREATE TABLE entries (
    row INTEGER PRIMARY KEY, organization INTEGER NOT NULL, id NOT NULL,
    sequence INTEGER NOT NULL, number INTEGER NOT NULL, at INTEGER NOT NULL, actor NOT NULL,
    role NOT NULL, act NOT NULL, subject_kind NOT NULL, subject NOT NULL, request NOT NULL,
    outcome NOT NULL, before NOT NULL, after NOT NULL, previous NOT NULL, digest NOT NULL,
    token NOT NULL, origin, reason NOT NULL, fingerprints NOT NULL,
    UNIQUE (organization, id)
);
CREATE INDEX entries_by_sequence ON entries (organization, sequence);
CREATE INDEX entries_by_number ON entries (organization, number, id);
CREATE INDEX entries_by_subject ON entries (organization, subject, number, id);
CREATE TABLE heads (
    organization INTEGER, id, sequence INTEGER NOT NULL, number INTEGER NOT NULL, digest NOT NULL,
    PRIMARY KEY (organization, id)
) WITHOUT ROWID;
CREATE INDEX heads_by_sequence ON heads (organization, sequence);

CREATE TABLE projects (
    organization INTEGER, id, sequence INTEGER NOT NULL, path NOT NULL, author NOT NULL,
    state NOT NULL, started_at INTEGER NOT NULL, read_at INTEGER, completed_at INTEGER,
    total_files INTEGER NOT NULL, indexed_files INTEGER NOT NULL, skipped NOT NULL, reason,
    repository, user,
    PRIMARY KEY (organization, id)
) WITHOUT ROWID;
CREATE INDEX projects_by_sequence ON projects (organization, sequence);

CREATE TABLE files (
    organization INTEGER, id, sequence INTEGER NOT NULL, project NOT NULL, path NOT NULL,
    stamp NOT NULL, digest NOT NULL, repository, user,
    PRIMARY KEY (organization, id)
) WITHOUT ROWID;
CREATE INDEX files_by_sequence ON files (organization, sequence);
CREATE INDEX files_by_project ON files (organization, project, id);

CREATE TABLE chunks (
    row INTEGER PRIMARY KEY, organization INTEGER NOT NULL, id NOT NULL,
    sequence INTEGER NOT NULL, space INTEGER, states,
    project NOT NULL, path NOT NULL, language NOT NULL, type NOT NULL, name NOT NULL,
    signature NOT NULL, start_line INTEGER NOT NULL, end_line INTEGER NOT NULL,
    repository, user, content NOT NULL,
    UNIQUE (organization, id)
);
CREATE INDEX chunks_by_sequence ON chunks (organization, sequence);
CREATE INDEX chunks_by_space ON chunks (organization, space, states, id);
-- Covers counting a project's chunks, those with vectors among them.
CREATE INDEX chunks_by_project ON chunks (organization, project, path, space, repository, user);
CREATE INDEX chunks_by_name ON chunks (organization, name);
CREATE TABLE chunks_vectors (row INTEGER PRIMARY KEY, vectors BLOB NOT NULL);
CREATE TABLE chunks_states (
    row INTEGER PRIMARY KEY, organization INTEGER NOT NULL, space INTEGER NOT NULL,
    form NOT NULL, states BLOB NOT NULL
);
CREATE INDEX chunks_states_by_size ON chunks_states (organization, length(states));

CREATE TABLE commits (
    row INTEGER PRIMARY KEY, organization INTEGER NOT NULL, id NOT NULL,
    sequence INTEGER NOT NULL, space INTEGER, states,
    project NOT NULL, sha NOT NULL, at INTEGER NOT NULL, author NOT NULL,
    repository, user, message NOT NULL, files NOT NULL, changes NOT NULL,
    UNIQUE (organization, id)
);
CREATE INDEX commits_by_sequence ON commits (organization, sequence);
CREATE INDEX commits_by_space ON commits (organization, space, states, id);
CREATE INDEX commits_by_project ON commits (organization, project, id);
CREATE TABLE commits_vectors (row INTEGER PRIMARY KEY, vectors BLOB NOT NULL);
CREATE TABLE commits_states (
    row INTEGER PRIMARY KEY, organization INTEGER NOT NULL, space INTEGER NOT NULL,
    form NOT NULL, states BLOB NOT NULL
);
CREATE INDEX commits_states_by_size ON commits_states (organization, length(states));

CREATE TABLE decisions (
    row INTEGER PRIMARY KEY, organization INTEGER NOT NULL, id NOT NULL,
    sequence INTEGER NOT NULL, space INTEGER, states,
    target NOT NULL, target_key NOT NULL, status NOT NULL, authorship NOT NULL, author NOT NULL,
    created_at INTEGER NOT NULL, supersedes NOT NULL, superseded_by NOT NULL, proposal,
    repository, user, commit_id, origin, title NOT NULL, consequences NOT NULL, rationale NOT NULL,
    UNIQUE (organization, id)
);
CREATE INDEX decisions_by_sequence ON decisions (organization, sequence);
CREATE INDEX decisions_by_space ON decisions (organization, space, states, id);
CREATE INDEX decisions_by_target ON decisions (organization, target_key, status, id);
CREATE INDEX decisions_by_status ON decisions (organization, status, id);
CREATE TABLE decisions_vectors (row INTEGER PRIMARY KEY, vectors BLOB NOT NULL);
CREATE TABLE decisions_states (
    row INTEGER PRIMARY KEY, organization INTEGER NOT NULL, space INTEGER NOT NULL,
    form NOT NULL, states BLOB NOT NULL
);
CREATE INDEX decisions_states_by_size ON decisions_states (organization, length(states));

CREATE TABLE proposals (
    row INTEGER PRIMARY KEY, organization INTEGER NOT NULL, id NOT NULL,
    sequence INTEGER NOT NULL, space INTEGER, states,
    target NOT NULL, status NOT NULL, author NOT NULL, created_at INTEGER NOT NULL,
    supersedes NOT NULL, settled_at INTEGER, settled_by, decision, repository, user,
    origin, title NOT NULL, consequences NOT NULL, rationale NOT NULL,
    UNIQUE (organization, id)
);
CREATE INDEX proposals_by_sequence ON proposals (organization, sequence);
CREATE INDEX proposals_by_space ON proposals (organization, space, states, id);
CREATE INDEX proposals_by_status ON proposals (organization, status, id);
CREATE TABLE proposals_vectors (row INTEGER PRIMARY KEY, vectors BLOB NOT NULL);
CREATE TABLE proposals_states (
    row INTEGER PRIMARY KEY, organization INTEGER NOT NULL, space INTEGER NOT NULL,
    form NOT NULL, states BLOB NOT NULL
);
CREATE INDEX proposals_states_by_size ON proposals_states (organization, length(states));

CREATE TABLE ledgers (
    organization INTEGER, id, sequence INTEGER NOT NULL, commit_id NOT NULL,
    verified_at INTEGER NOT NULL,
    PRIMARY KEY (organization, id)
) WITHOUT ROWID;
CREATE INDEX ledgers_by_sequence ON ledgers (organization, sequence);

CREATE TABLE turns (
    row INTEGER PRIMARY KEY, organization INTEGER NOT NULL, id NOT NULL,
    sequence INTEGER NOT NULL, space INTEGER, states,
    session NOT NULL, at INTEGER NOT NULL, author NOT NULL, repository, user,
    origin, prompt NOT NULL, thought NOT NULL, response NOT NULL,
    UNIQUE (organization, id)
);
CREATE INDEX turns_by_sequence ON turns (organization, sequence);
CREATE INDEX turns_by_space ON turns (organization, space, states, id);
-- Covers counting, and telling of each session whose it is, how long it is and when it was.
CREATE INDEX turns_by_session ON turns (organization, session, at, id, repository, user);
CREATE INDEX turns_by_time ON turns (organization, at, id);
CREATE TABLE turns_vectors (row INTEGER PRIMARY KEY, vectors BLOB NOT NULL);
CREATE TABLE turns_states (
    row INTEGER PRIMARY KEY, organization INTEGER NOT NULL, space INTEGER NOT NULL,
    form NOT NULL, states BLOB NOT NULL
);
CREATE INDEX turns_states_by_size ON turns_states (organization, length(states));

CREATE TABLE summaries (
    row INTEGER PRIMARY KEY, organization INTEGER NOT NULL, id NOT NULL,
    sequence INTEGER NOT NULL, space INTEGER, states,
    session NOT NULL, at INTEGER NOT NULL, category NOT NULL, turn_count INTEGER NOT NULL,
    quality INTEGER NOT NULL, productivity INTEGER NOT NULL, impact INTEGER NOT NULL,
    complexity INTEGER NOT NULL, made_by NOT NULL, last_turn NOT NULL, author NOT NULL,
    repository, user, origin, title NOT NULL, technologies NOT NULL, reasons NOT NULL,
    summary NOT NULL,
    UNIQUE (organization, id)
);
CREATE INDEX summaries_by_sequence ON summaries (organization, sequence);
CREATE INDEX summaries_by_space ON summaries (organization, space, states, id);
CREATE INDEX summaries_by_time ON summaries (organization, at, id);
CREATE INDEX summaries_by_category ON summaries (organization, category, at, id);
CREATE INDEX summaries_by_session ON summaries (organization, session);
CREATE TABLE summaries_vectors (row INTEGER PRIMARY KEY, vectors BLOB NOT NULL);
CREATE TABLE summaries_states (
    row INTEGER PRIMARY KEY, organization INTEGER NOT NULL, space INTEGER NOT NULL,
    form NOT NULL, states BLOB NOT NULL
);
CREATE INDEX summaries_states_by_size ON summaries_states (organization, length(states));

CREATE TABLE tokens (
    organization INTEGER, id, sequence INTEGER NOT NULL, name NOT NULL, role NOT NULL,
    digest NOT NULL, author NOT NULL, created_at INTEGER NOT NULL, bound_organization,
    bound_repositories, bound_user, expires_at INTEGER, revoked_at INTEGER,
    PRIMARY KEY (organization, id)
) WITHOUT ROWID;
CREATE INDEX tokens_by_sequence ON tokens (organization, sequence);

-- Beside the records, in no change feed:

-- When each token was used last.
CREATE TABLE uses (token PRIMARY KEY, at INTEGER NOT NULL) WITHOUT ROWID;

-- Whose tables stand beside these, and in which format: `store/sql/side_tables.py` makes them.
CREATE TABLE side_tables (feature TEXT PRIMARY KEY, format INTEGER NOT NULL) WITHOUT ROWID;

-- From which store records are, or were, moved here; how far each organization has come, by the
-- other's sequences, and the own sequence at the end, by which a later write shows.
CREATE TABLE migration (source TEXT NOT NULL, ended INTEGER NOT NULL);
CREATE TABLE migrated (
    organization INTEGER PRIMARY KEY, source_sequence INTEGER NOT NULL, sequence INTEGER
);

-- What the planner is to take as given: that one organization may hold all, so that to search by it
-- alone is no search. Without this it expects ten rows and scans them in the wanted order.
ANALYZE sqlite_schema;
INSERT INTO sqlite_stat1 (tbl, idx, stat) VALUES
    ('deletions', 'deletions', '100000 100000 1'),
    ('deletions', 'sqlite_autoindex_deletions_2', '100000 100000 50000 1'),
    ('memories', 'sqlite_autoindex_memories_1', '1000000 1000000 1'),
    ('memories', 'memories_by_sequence', '1000000 1000000 1'),
    ('memories', 'memories_by_time', '1000000 1000000 2 1 1 1 1 1 1'),
    ('memories', 'memories_by_update', '1000000 1000000 2 1'),
    ('memories', 'memories_by_status', '1000000 1000000 200000 1'),
    ('memories', 'memories_by_space', '1000000 1000000 500000 500000 1'),
    ('memories_states', 'memories_states_by_size', '1000000 1000000 1000'),
    ('versions', 'sqlite_autoindex_versions_1', '1000000 1000000 1'),
    ('versions', 'versions_by_sequence', '1000000 1000000 1'),
    ('versions', 'versions_by_memory', '1000000 1000000 2 1 1'),
    ('entities', 'entities', '100000 100000 1'),
    ('entities', 'entities_by_sequence', '100000 100000 1'),
    ('entities', 'entities_by_name', '100000 100000 2'),
    ('names', 'names', '100000 100000 10 2 1'),
    ('names', 'names_by_entity', '100000 100000 2'),
    ('edges', 'edges', '1000000 1000000 500000 1'),
    ('edges', 'edges_by_sequence', '1000000 1000000 1'),
    ('edges', 'edges_by_source', '1000000 1000000 10 5 1 1 1 1'),
    ('edges', 'edges_by_target', '1000000 1000000 10 5 1 1 1 1'),
    ('entries', 'sqlite_autoindex_entries_1', '1000000 1000000 1'),
    ('entries', 'entries_by_sequence', '1000000 1000000 1'),
    ('entries', 'entries_by_number', '1000000 1000000 1 1'),
    ('entries', 'entries_by_subject', '1000000 1000000 10 1 1'),
    ('heads', 'heads', '1000 1000 1'),
    ('files', 'files', '1000000 1000000 1'),
    ('files', 'files_by_sequence', '1000000 1000000 1'),
    ('files', 'files_by_project', '1000000 1000000 100000 1'),
    ('chunks', 'sqlite_autoindex_chunks_1', '1000000 1000000 1'),
    ('chunks', 'chunks_by_sequence', '1000000 1000000 1'),
    ('chunks', 'chunks_by_project', '1000000 1000000 100000 10 5 5 5'),
    ('chunks', 'chunks_by_name', '1000000 1000000 10'),
    ('chunks', 'chunks_by_space', '1000000 1000000 500000 500000 1'),
    ('chunks_states', 'chunks_states_by_size', '1000000 1000000 1000'),
    ('commits', 'sqlite_autoindex_commits_1', '1000000 1000000 1'),
    ('commits', 'commits_by_sequence', '1000000 1000000 1'),
    ('commits', 'commits_by_project', '1000000 1000000 100000 1'),
    ('commits', 'commits_by_space', '1000000 1000000 500000 500000 1'),
    ('commits_states', 'commits_states_by_size', '1000000 1000000 1000'),
    ('decisions', 'sqlite_autoindex_decisions_1', '100000 100000 1'),
    ('decisions', 'decisions_by_sequence', '100000 100000 1'),
    ('decisions', 'decisions_by_status', '100000 100000 50000 1'),
    ('decisions', 'decisions_by_target', '100000 100000 10 2 1'),
    ('decisions', 'decisions_by_space', '1000000 1000000 500000 500000 1'),
    ('decisions_states', 'decisions_states_by_size', '1000000 1000000 1000'),
    ('proposals', 'sqlite_autoindex_proposals_1', '100000 100000 1'),
    ('proposals', 'proposals_by_sequence', '100000 100000 1'),
    ('proposals', 'proposals_by_status', '100000 100000 10000 1'),
    ('proposals', 'proposals_by_space', '1000000 1000000 500000 500000 1'),
    ('proposals_states', 'proposals_states_by_size', '1000000 1000000 1000'),
    ('turns', 'sqlite_autoindex_turns_1', '1000000 1000000 1'),
    ('turns', 'turns_by_sequence', '1000000 1000000 1'),
    ('turns', 'turns_by_session', '1000000 1000000 100 1 1 1 1'),
    ('turns', 'turns_by_time', '1000000 1000000 2 1'),
    ('turns', 'turns_by_space', '1000000 1000000 500000 500000 1'),
    ('turns_states', 'turns_states_by_size', '1000000 1000000 1000'),
    ('summaries', 'sqlite_autoindex_summaries_1', '100000 100000 1'),
    ('summaries', 'summaries_by_sequence', '100000 100000 1'),
    ('summaries', 'summaries_by_time', '100000 100000 2 1'),
    ('summaries', 'summaries_by_category', '100000 100000 20000 2 1'),
    ('summaries', 'summaries_by_session', '100000 100000 2'),
    ('summaries', 'summaries_by_space', '1000000 1000000 500000 500000 1'),
    ('summaries_states', 'summaries_states_by_size', '1000000 1000000 1000'),
    ('recalls', 'recalls', '100000 100000 1'),
    ('recalls', 'recalls_by_time', '100000 100000 1 1'),
    ('recalls', 'recalls_by_session', '100000 100000 50 1 1'),
    ('recalled', 'recalled', '1000000 1000000 10 1'),
    ('recalled', 'recalled_by_record', '1000000 1000000 20 1');
