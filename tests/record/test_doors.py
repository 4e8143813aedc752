"""Through which door a record is told: whose words it holds by the trail, and where it belongs."""

from dataclasses import replace

import pytest

from minutebook.record.caller import Caller, FolderScope
from minutebook.record.records import (
    SYSTEM_ORGANIZATION,
    Authorship,
    Entry,
    Kind,
    Memory,
    MemoryType,
    Role,
    ScopeLevel,
    Status,
)
from minutebook.record.trust.doors import (
    Door,
    Voice,
    door_of,
    is_of_project,
    voice_of_decision,
    voice_of_memory,
    waits_for_review,
)
from minutebook.record.trust.fingerprints import Fingerprinted, fingerprint
from minutebook.record.trust.trail import text_digest
from tests.store.samples import START, decision, memory

AGENT = Caller(name="bot", role=Role.AGENT)
MEMORY = memory("m", content="Refunds need two signatures.")
FACT = replace(MEMORY, type=MemoryType.FACT)


def entry(
    number: int, act: str, role: Role, before: str = "", after: str = "", **more: object
) -> Entry:
    """An entry about the memory; `before` and `after` are texts, "" where there was none."""
    made = Entry(
        organization=MEMORY.organization,
        id=str(number),
        number=number,
        at=START,
        actor="x",
        role=role,
        act=act,
        subject_kind=Kind.MEMORY,
        subject=MEMORY.id,
        request="",
        outcome="done",
        previous="",
        digest="",
        before=before and text_digest(before),
        after=after and text_digest(after),
    )
    return replace(made, **more)  # type: ignore[arg-type]


TEXT, OTHER = MEMORY.text, "Refunds need no signature."


def written(role: Role, number: int = 1, act: str = "created") -> Entry:
    return entry(number, act, role, "", TEXT)


def kept(role: Role, before: Memory, after: Memory, number: int = 2) -> Entry:
    """An update that leaves the text."""
    made = Fingerprinted(Kind.MEMORY, MEMORY.id, fingerprint(before), fingerprint(after))
    return entry(number, "update", role, TEXT, TEXT, fingerprints=(made.text(),))


VERIFIED = replace(MEMORY, status=Status.VERIFIED)
PERSON, BOT = Role.HUMAN, Role.AGENT
AS_RULE = replace(FACT, type=MemoryType.BUSINESS_RULE)


@pytest.mark.parametrize(
    ("found", "entries", "voice"),
    [
        (MEMORY, [written(PERSON)], Voice.PERSON),
        (MEMORY, [written(BOT)], Voice.AGENT),
        (MEMORY, [written(Role.VIEWER)], Voice.AGENT),
        (MEMORY, [], Voice.CLAIMED),
        # A status is no proof: an open store lets agents write it.
        (VERIFIED, [written(BOT)], Voice.AGENT),
        (VERIFIED, [written(BOT), entry(2, "verify", BOT, TEXT, TEXT)], Voice.AGENT),
        (VERIFIED, [written(BOT), entry(2, "verify", PERSON, TEXT, TEXT)], Voice.PERSON),
        (
            replace(MEMORY, status=Status.LOCKED),
            [written(BOT), entry(2, "lock", Role.MANAGER, TEXT, TEXT)],
            Voice.PERSON,
        ),
        # What was refused was not done, and what was taken back holds no more.
        (
            VERIFIED,
            [written(BOT), entry(2, "verify", PERSON, TEXT, TEXT, outcome="Locked")],
            Voice.AGENT,
        ),
        (MEMORY, [written(BOT), entry(2, "verify", PERSON, TEXT, TEXT)], Voice.AGENT),
        # The last who worded it counts.
        (MEMORY, [entry(1, "created", BOT, "", OTHER), entry(2, "update", PERSON, OTHER, TEXT)], Voice.PERSON),
        (MEMORY, [entry(1, "created", PERSON, "", OTHER), entry(2, "update", BOT, OTHER, TEXT)], Voice.AGENT),
        (VERIFIED, [written(BOT), entry(2, "verify", PERSON, OTHER, OTHER), entry(3, "update", BOT, OTHER, TEXT)], Voice.AGENT),
        # Who replaces a secret words nothing.
        (MEMORY, [entry(1, "created", BOT, "", OTHER), entry(2, "mask", PERSON, OTHER, TEXT)], Voice.AGENT),
        (MEMORY, [entry(1, "created", PERSON, "", OTHER), entry(2, "mask", PERSON, OTHER, TEXT)], Voice.PERSON),
        # What came from elsewhere is a claim, whoever brought it, until somebody here confirms it.
        (MEMORY, [written(PERSON, act="take_in")], Voice.CLAIMED),
        (VERIFIED, [written(PERSON, act="take_in")], Voice.CLAIMED),
        (VERIFIED, [written(PERSON, act="take_in"), entry(2, "verify", PERSON, TEXT, TEXT)], Voice.PERSON),
        # What another machine changed of it is a person's there as well, or nobody's here any more.
        (MEMORY, [written(PERSON), entry(2, "take_in", PERSON, TEXT, TEXT)], Voice.CLAIMED),
        (MEMORY, [written(PERSON), entry(2, "take_in_persons", PERSON, TEXT, TEXT)], Voice.PERSON),
        (MEMORY, [written(PERSON, act="take_in_persons")], Voice.PERSON),
        (MEMORY, [written(PERSON, act="take_in_persons"), entry(2, "take_in", PERSON, TEXT, TEXT)], Voice.CLAIMED),
        (MEMORY, [written(BOT, act="take_in_persons")], Voice.CLAIMED),
        (MEMORY, [entry(1, "created", PERSON, "", OTHER), entry(2, "take_in", PERSON, OTHER, TEXT)], Voice.CLAIMED),
        # An agent makes no rule of what a person said.
        (AS_RULE, [written(PERSON), kept(BOT, FACT, AS_RULE)], Voice.AGENT),
        (AS_RULE, [written(PERSON), kept(PERSON, FACT, AS_RULE)], Voice.PERSON),
        (FACT, [written(PERSON), kept(BOT, FACT, replace(FACT, importance=5.0))], Voice.PERSON),
        (FACT, [written(PERSON), entry(2, "update", BOT, TEXT, TEXT)], Voice.AGENT),
        (FACT, [written(PERSON), entry(2, "read", BOT)], Voice.PERSON),
        (AS_RULE, [written(PERSON, act="take_in"), kept(BOT, FACT, AS_RULE)], Voice.CLAIMED),
        (
            replace(AS_RULE, status=Status.VERIFIED),
            [written(BOT), entry(2, "verify", PERSON, TEXT, TEXT), kept(BOT, FACT, AS_RULE, 3)],
            Voice.AGENT,
        ),
    ],
)  # fmt: skip
def test_whose_words_a_memory_holds_is_what_the_trail_proves(
    found: Memory, entries: list[Entry], voice: Voice
) -> None:
    assert voice_of_memory(found, entries[::-1]) is voice


def test_entries_that_came_with_an_archive_prove_nothing() -> None:
    entries = [entry(9, "verify", PERSON, TEXT, TEXT), written(PERSON)]
    assert voice_of_memory(MEMORY, entries[1:], foreign=1) is Voice.CLAIMED
    assert voice_of_memory(VERIFIED, entries, foreign=1) is Voice.PERSON
    assert voice_of_memory(VERIFIED, entries, foreign=9) is Voice.CLAIMED


@pytest.mark.parametrize(
    ("authorship", "entries", "voice"),
    [
        (Authorship.HUMAN, [], Voice.PERSON),
        (Authorship.AGENT, [], Voice.AGENT),
        (Authorship.AGENT, [entry(1, "record", BOT)], Voice.AGENT),
        (Authorship.AGENT, [entry(1, "accept", Role.ADMIN)], Voice.PERSON),
        (Authorship.AGENT, [entry(1, "accept", Role.ADMIN, outcome="UnderReview")], Voice.AGENT),
        (Authorship.AGENT, [entry(1, "accept", BOT)], Voice.AGENT),
    ],
)
def test_a_decision_is_of_who_recorded_or_accepted_it(
    authorship: Authorship, entries: list[Entry], voice: Voice
) -> None:
    assert voice_of_decision(decision("d", authorship=authorship), entries) is voice


@pytest.mark.parametrize(
    ("voice", "type", "marked", "here", "door"),
    [
        (Voice.PERSON, MemoryType.BUSINESS_RULE, True, False, Door.AS_RULE),
        (Voice.PERSON, MemoryType.FACT, False, True, Door.AS_RULE),
        (Voice.AGENT, MemoryType.FACT, False, True, Door.UNASKED),
        (Voice.CLAIMED, MemoryType.FACT, False, True, Door.UNASKED),
        (Voice.AGENT, MemoryType.FACT, False, False, Door.ASKED),
        (Voice.AGENT, MemoryType.FACT, True, True, Door.ASKED),
        (Voice.AGENT, MemoryType.BUSINESS_RULE, False, True, Door.ASKED),
        (Voice.CLAIMED, MemoryType.SYSTEM_CONSTRAINT, False, True, Door.ASKED),
    ],
)
def test_the_widest_door_of_a_memory(
    voice: Voice, type: MemoryType, marked: bool, here: bool, door: Door
) -> None:
    found = replace(MEMORY, type=type, repository="api" if here else None)
    caller = replace(AGENT, folder_scope=FolderScope("api"))
    assert door_of(found, voice, caller, reads_as_instructions=marked) is door


@pytest.mark.parametrize(
    ("caller", "repository", "organization", "is_own"),
    [
        (AGENT, "api", "acme", True),
        (AGENT, None, SYSTEM_ORGANIZATION, False),
        (replace(AGENT, folder_scope=FolderScope("api")), "api", "acme", True),
        (replace(AGENT, folder_scope=FolderScope("api", frozenset({"web"}))), "web", "acme", False),
        (replace(AGENT, folder_scope=FolderScope("api")), None, "acme", False),
        (replace(AGENT, folder_scope=FolderScope()), None, "acme", True),
        (replace(AGENT, repositories=frozenset({"api"})), "api", "acme", True),
        (replace(AGENT, repositories=frozenset({"api"})), None, "acme", False),
    ],
)
def test_the_project_is_where_the_caller_works(
    caller: Caller, repository: str | None, organization: str, is_own: bool
) -> None:
    found = replace(
        FACT, repository=repository, organization=organization, scope=ScopeLevel.REPOSITORY
    )
    assert is_of_project(caller, found) is is_own


def test_an_agent_s_rules_and_what_came_from_elsewhere_wait() -> None:
    assert waits_for_review(AS_RULE, Voice.AGENT)
    assert waits_for_review(FACT, Voice.CLAIMED)
    assert not waits_for_review(FACT, Voice.AGENT)
    assert not waits_for_review(AS_RULE, Voice.PERSON)
