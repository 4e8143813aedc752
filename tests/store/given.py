"""What Hypothesis draws: few ids, instants and words, so that ties occur."""

from dataclasses import replace

import numpy as np
from hypothesis import strategies as st

from minutebook.record.filters import Filter
from minutebook.record.origin import Origin
from minutebook.record.records import (
    Authorship,
    Category,
    CodeChunk,
    Decision,
    DecisionStatus,
    IndexState,
    Kind,
    Link,
    Memory,
    MemoryType,
    Mention,
    Proposal,
    ProposalStatus,
    Relation,
    Role,
    ScopeLevel,
    Status,
    Summary,
    Turn,
)
from tests.store.samples import (
    IDS,
    INSTANTS,
    ORGANIZATIONS,
    chunk,
    commit,
    decision,
    edge,
    entity,
    entry,
    file,
    head,
    mark,
    memory,
    project,
    proposal,
    summary,
    token,
    turn,
    version,
)

organizations = st.sampled_from(ORGANIZATIONS)
ids = st.sampled_from(IDS)
instants = st.sampled_from(INSTANTS)
owners = st.sampled_from([None, "r1", "r2"])
users = st.sampled_from([None, "u1", "u2"])
texts = st.lists(
    st.sampled_from(
        [
            *("ana", "Ana", "bread", "running", "run", "in_progress", "C++", "东京", "the"),
            *("die", "wurden", "Häuser", "Haus", "กำลัง"),
        ]
    ),
    max_size=6,
).map(" ".join)
anything = st.text(max_size=20) | st.text(
    st.characters() | st.sampled_from("\ud800\udfff\0 '\"|"), max_size=20
)
json_values = st.recursive(
    st.none() | st.booleans() | st.integers(-5, 5) | st.sampled_from([0.5]) | anything,
    lambda inner: st.lists(inner, max_size=2) | st.dictionaries(anything, inner, max_size=2),
    max_leaves=4,
)


origins = st.none() | st.builds(
    Origin,
    client=st.sampled_from(["", "claude-code", "Cursor", "cursor"]) | anything,
    version=st.sampled_from(["", "1.2"]),
    contract=st.sampled_from(["", "knowledge"]),
    session=st.just("") | ids,
)

memories = st.builds(
    memory,
    origin=origins,
    id=ids,
    content=texts | anything,
    organization=organizations,
    scope=st.sampled_from(ScopeLevel),
    type=st.sampled_from([MemoryType.FACT, MemoryType.RISK]),
    status=st.sampled_from([Status.ACTIVE, Status.SUPERSEDED]),
    author=st.sampled_from(["ana", "bo"]),
    event_time=instants,
    ingestion_time=instants,
    valid_from=instants,
    valid_until=st.none() | instants,
    repository=owners,
    user=users,
    title=st.none() | texts,
    importance=st.sampled_from([0.5, 1.0, 2.0]),
    metadata=st.dictionaries(anything, json_values, max_size=2),
    version=st.integers(1, 3),
    reason=st.none() | anything,
    superseded_by=st.none() | ids,
    deleted_at=st.none() | st.none() | instants,
    locked_by=st.none() | st.sampled_from(Role),
    unlocks_to=st.none() | st.sampled_from(Status),
    given_uuid=st.none() | st.uuids().map(str),
)
versions = st.builds(
    version,
    origin=origins,
    memory=ids,
    number=st.integers(1, 3),
    organization=organizations,
    content=texts | anything,
    title=st.none() | texts,
    changed_at=instants,
)
entities = st.builds(
    entity,
    origin=origins,
    id=ids,
    name=texts | anything,
    organization=organizations,
    type=st.sampled_from(["person", "place"]),
    created_at=instants,
    description=st.none() | anything,
    aliases=st.lists(texts, max_size=2).map(tuple),
    repository=owners,
    user=users,
)
edges = st.builds(
    edge,
    origin=origins,
    of=st.sampled_from([Relation, Link, Mention]),
    source=ids,
    target=ids,
    id=ids,
    organization=organizations,
    type=st.sampled_from(["near", "far"]),
    created_at=instants,
    weight=st.sampled_from([0.25, 1.0, 3.0]),
)
entries = st.builds(
    entry,
    origin=origins,
    number=st.integers(1, 12),
    organization=organizations,
    at=instants,
    actor=anything,
    role=st.sampled_from(Role),
    subject=ids,
    subject_kind=st.sampled_from(Kind),
    token=st.just("") | ids,
    reason=st.just("") | texts,
)
projects = st.builds(
    project,
    id=ids,
    organization=organizations,
    path=anything,
    state=st.sampled_from(IndexState),
    completed_at=st.none() | instants,
    total_files=st.integers(0, 3),
    skipped=st.dictionaries(anything, st.integers(0, 3), max_size=2),
    reason=st.none() | anything,
    repository=owners,
    user=users,
)
files = st.builds(
    file, id=ids, organization=organizations, project=ids, path=anything, repository=owners
)
chunks = st.builds(
    chunk,
    id=ids,
    content=texts | anything,
    organization=organizations,
    project=st.sampled_from(["a", "b"]),
    path=st.sampled_from(["a.py", "東/b.py"]) | anything,
    language=st.sampled_from(["python", "text"]),
    type=st.sampled_from(["function", "other"]),
    name=texts,
    signature=texts,
    start_line=st.integers(1, 3),
    repository=owners,
    user=users,
)
commits = st.builds(
    commit,
    id=ids,
    message=texts | anything,
    organization=organizations,
    project=st.sampled_from(["a", "b"]),
    at=instants,
    author=texts,
    files=st.lists(texts, max_size=2).map(tuple),
    changes=texts,
    repository=owners,
    user=users,
)
heads = st.builds(head, number=st.integers(1, 12), organization=organizations, digest=anything)
some_ids = st.lists(ids, max_size=2).map(tuple)
decisions = st.builds(
    decision,
    origin=origins,
    id=ids,
    organization=organizations,
    target=st.sampled_from(["store", "wire"]),
    title=texts,
    rationale=texts | anything,
    status=st.sampled_from(DecisionStatus),
    authorship=st.sampled_from(Authorship),
    created_at=instants,
    consequences=st.lists(texts | anything, max_size=2).map(tuple),
    supersedes=some_ids,
    superseded_by=some_ids,
    proposal=st.none() | ids,
    repository=owners,
    user=users,
    commit_id=st.none() | ids,
)
proposals = st.builds(
    proposal,
    origin=origins,
    id=ids,
    organization=organizations,
    target=st.sampled_from(["store", "wire"]),
    rationale=texts | anything,
    status=st.sampled_from(ProposalStatus),
    consequences=st.lists(texts | anything, max_size=2).map(tuple),
    supersedes=some_ids,
    settled_at=st.none() | instants,
    settled_by=st.none() | anything,
    decision=st.none() | ids,
    repository=owners,
    user=users,
)
marks = st.builds(mark, id=ids, organization=organizations, commit_id=ids, verified_at=instants)
tokens = st.builds(
    token,
    id=ids,
    organization=organizations,
    name=anything,
    role=st.sampled_from(Role),
    bound_organization=st.none() | anything,
    bound_repositories=st.none() | some_ids,
    bound_user=st.none() | anything,
    expires_at=st.none() | instants,
    revoked_at=st.none() | instants,
)
sessions = st.sampled_from(["s", "t"])
turns = st.builds(
    turn,
    origin=origins,
    id=ids,
    organization=organizations,
    session=sessions,
    at=instants,
    prompt=texts,
    thought=anything,
    response=texts | anything,
    repository=owners,
    user=users,
)
summaries = st.builds(
    summary,
    origin=origins,
    id=ids,
    organization=organizations,
    session=sessions,
    at=instants,
    title=texts,
    summary=texts | anything,
    category=st.sampled_from([Category.BUGFIX, Category.OTHER]),
    turn_count=st.integers(0, 3),
    technologies=st.lists(texts | anything, max_size=2).map(tuple),
    reasons=st.dictionaries(anything, anything, max_size=2),
    repository=owners,
    user=users,
)
text_records = memories | chunks | commits | decisions | proposals | turns | summaries
records = (
    text_records | versions | entities | edges | entries | projects | files | marks | heads | tokens
)

filters = st.builds(
    Filter,
    organization=organizations,
    repositories=st.none() | st.frozensets(st.sampled_from(["r1", "r2"])),
    users=st.none() | st.frozensets(st.sampled_from(["u1", "u2"])),
    valid_at=st.none() | instants,
    differs_between=st.none() | st.none() | st.tuples(instants, instants),
    equal=st.just({}),
    ids=st.none() | st.frozensets(ids, max_size=3),
    with_deleted=st.booleans(),
)
memory_filters = st.builds(
    lambda where, client, span, equal, starts: replace(
        where, client=client, since=span[0], until=span[1], equal=equal, starts=starts
    ),
    filters,
    st.none() | st.none() | st.sampled_from(["", "claude-code", "CURSOR"]),
    st.just((None, None)) | st.tuples(st.none() | instants, st.none() | instants),
    st.fixed_dictionaries(
        {},
        optional={
            "type": st.sampled_from([MemoryType.FACT, MemoryType.RISK]),
            "status": st.sampled_from([Status.ACTIVE, Status.SUPERSEDED]),
            "user": users,
            "title": st.none() | texts,
            "importance": st.sampled_from([0.5, 1.0]),
            "event_time": instants,
            "superseded_by": st.none() | ids,
        },
    ),
    st.just({})
    | st.fixed_dictionaries(
        {"title": st.sampled_from(["", "a", "ANA", "bread r", "东", "\ud800"])}
    ),
)
chunk_filters = st.builds(
    lambda where, equal: replace(where, equal=equal),
    filters,
    st.fixed_dictionaries(
        {},
        optional={
            "project": st.sampled_from(["a", "b"]),
            "language": st.sampled_from(["python", "text"]),
            "path": st.just("a.py"),
            "type": st.just("function"),
        },
    ),
)
decision_filters = st.builds(
    lambda where, equal: replace(where, equal=equal),
    filters,
    st.fixed_dictionaries(
        {},
        optional={
            "target": st.sampled_from(["store", "wire"]),
            "status": st.sampled_from([DecisionStatus.ACTIVE, DecisionStatus.SUPERSEDED]),
            "repository": owners,
        },
    ),
)
turn_filters = st.builds(
    lambda where, equal: replace(where, equal=equal),
    filters,
    st.fixed_dictionaries({}, optional={"session": sessions, "repository": owners, "user": users}),
)
selections = (
    st.tuples(st.just(Memory), memory_filters)
    | st.tuples(st.just(CodeChunk), chunk_filters)
    | st.tuples(st.just(Decision), decision_filters)
    | st.tuples(st.just(Proposal), filters)
    | st.tuples(st.just(Turn), turn_filters)
    | st.tuples(st.just(Summary), filters)
)
"""A class of records with a text, and a Filter of them."""

DIRECTIONS = np.array(
    [[1, 0, 0, 0], [0, 1, 0, 0], [0.6, 0.8, 0, 0], [0.8, 0, 0.6, 0], [0, 0, -1, 0]], np.float32
)
directions = st.integers(0, len(DIRECTIONS) - 1).map(lambda place: DIRECTIONS[place])
vectors = st.lists(directions, min_size=1, max_size=3).map(np.array)
