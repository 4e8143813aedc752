"""Every act that writes, on every kind of record, in every scope: one rule says what may be."""

import inspect
import re
import sys
from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import replace
from importlib import import_module
from pathlib import Path
from pkgutil import walk_packages
from typing import Any

import pytest

from minutebook.app import App, service_names
from minutebook.feature import features
from minutebook.features.archives.archive_lines import JOURNAL, Mode
from minutebook.features.archives.archives import Archives
from minutebook.features.archives.copies.backups import Backups
from minutebook.features.audit_proof.signing import HeadSigning
from minutebook.features.code.projects import Projects
from minutebook.features.governance.governed import GovernedMemories
from minutebook.features.importers.source_imports import SourceImports
from minutebook.features.ledger.decisions import DecisionActs
from minutebook.features.ledger.proposals import Proposals
from minutebook.record.caller import Caller
from minutebook.record.errors import InBatch, NotFound, Refused
from minutebook.record.filters import Filter
from minutebook.record.records import SYSTEM_ORGANIZATION, MemoryType, Role, Status, Turn
from minutebook.record.writing.drafts import Draft
from minutebook.record.writing.source_drafts import MemoryDraft, SourcePlace
from tests.examples import parametrize_in_part
from tests.features.ledger.decided import SECRET, draft
from tests.scoped import BEARER, NUMBERS, SCOPES, UNSEEN, Given, Population, populated

Attempt = Callable[[App, Caller, Given], object]


def fact(given: Given, **said: Any) -> Draft:
    return Draft(content="Mine", type=MemoryType.FACT, **said)


def imported(number: object) -> MemoryDraft:
    place = SourcePlace("/notes.md")
    return MemoryDraft(
        key=f"{number}", place=place, program="notes", content="Mine", type=MemoryType.FACT
    )


def all_or_none(app: App, caller: Caller, told: Draft) -> object:
    try:
        return app.memories.write_all([(caller, told)])
    except InBatch as error:
        raise error.error from error


def turn_of(app: App, given: Given) -> Turn:
    """A turn of the session that is given."""
    names = app.infrastructure.store.organizations()
    wheres = [Filter(organization=name, equal={"session": given.session}) for name in names]
    return next(turn for where in wheres for turn in app.infrastructure.store.find(Turn, where))


NAMED: dict[str, Attempt] = {
    "memories.write": lambda a, w, g: a.memories.write(w, fact(g, id=g.memories[0])),
    "memories.update": lambda a, w, g: a.memories.update(w, g.memories[0], {"content": "Mine"}),
    "memories.remove": lambda a, w, g: a.memories.remove(w, g.memories[0]),
    "memories.restore": lambda a, w, g: a.memories.restore(w, g.deleted),
    "memories.delete": lambda a, w, g: a.memories.delete(w, g.memories[1]),
    "memories.invalidate": lambda a, w, g: a.memories.invalidate(w, g.memories[0], "old", None),
    "memories.reinstate": lambda a, w, g: a.memories.reinstate(w, g.ended),
    "memories.store_joined": lambda a, w, g: a.memories.store_joined(
        w, fact(g), [(g.memories[0], "related")], [g.memories[1]]
    ),
    "status.lock": lambda a, w, g: a.status.lock(w, g.memories[0]),
    "status.unlock": lambda a, w, g: a.status.unlock(w, g.locked),
    "status.verify": lambda a, w, g: a.status.verify(w, g.memories[0]),
    "status.deprecate": lambda a, w, g: a.status.deprecate(w, g.memories[0], "old"),
    "GovernedMemories.edit": lambda a, w, g: a.get(GovernedMemories).edit(
        w, g.memories[0], "Mine", MemoryType.FACT
    ),
    "links.link": lambda a, w, g: a.links.link(w, *g.memories),
    "links.unlink": lambda a, w, g: a.links.unlink(w, *g.joined),
    "entities.create_relation": lambda a, w, g: a.entities.create_relation(
        w, *g.entities, "near", 9.0
    ),
    "DecisionActs.supersede": lambda a, w, g: a.get(DecisionActs).supersede(
        w, [g.decision], draft(g.target, "Mine")
    ),
    "Proposals.propose": lambda a, w, g: a.get(Proposals).propose(
        w, draft(g.target, "Mine"), [g.decision]
    ),
    "Proposals.decline": lambda a, w, g: a.get(Proposals).decline(w, g.proposal),
    "Proposals.reopen": lambda a, w, g: a.get(Proposals).reopen(w, g.declined),
    "Proposals.accept": lambda a, w, g: a.get(Proposals).accept(w, g.proposal, SECRET),
    "summaries.summarize": lambda a, w, g: a.summaries.summarize(w, g.session),
    "Projects.delete": lambda a, w, g: a.get(Projects).delete(w, g.project),
    "Projects.forget": lambda a, w, g: a.get(Projects).forget(
        w, a.get(Projects).read(w, g.project)
    ),
}
"""What is done to a record that the call names."""

PLACED: dict[str, Attempt] = {
    "memories.store": lambda a, w, g: a.memories.store(w, fact(g, **g.place)),
    "memories.write_all": lambda a, w, g: all_or_none(a, w, fact(g, **g.place)),
}
"""What makes a record in a scope that the call names."""

MANY: dict[str, Attempt] = {
    "overview.reset": lambda a, w, g: a.overview.reset(w),
    "summaries.summarize_all": lambda a, w, g: a.summaries.summarize_all(w),
    "summaries.delete_all": lambda a, w, g: a.summaries.delete_all(w),
}
"""What concerns every record that the caller may write."""

HOMELY: dict[str, Attempt] = {
    "entities.create_entity": lambda a, w, g: a.entities.create_entity(
        w, "Ana", "person", "she", None
    ),
    "DecisionActs.record": lambda a, w, g: a.get(DecisionActs).record(
        w, draft(f"new {next(NUMBERS)}")
    ),
    "sessions.add": lambda a, w, g: a.sessions.add(w, "new", "Mend it", "", "Done."),
    "Projects.index": lambda a, w, g: a.get(Projects).index(w, str(g.folder)),
    "Projects.register": lambda a, w, g: a.get(Projects).register(w, str(g.folder)),
    "SourceImports.run": lambda a, w, g: a.get(SourceImports).run(
        w, "notes", [imported(next(NUMBERS))], lambda: 1.0, dry_run=False
    ),
}
"""What makes a record where the caller writes, and names no scope."""

BESIDE = {
    "memories.move",
    "Archives.export",
    "Archives.export_journal_to",
    "Archives.export_to",
    "Archives.import_",
    "Archives.import_from",
    "Backups.make",
    "Confirmations.confirm",
    "Confirmations.take_back",
    "doctor.repair",
    "Erasing.erase",
    "Erasing.resume",
    "Erasing.scrub",
    "FolderExports.notes",
    "FolderExports.tables",
    "GraphExports.run",
    "Histories.follow",
    "Inbox.apply",
    "Inbox.apply_by_rules",
    "Inbox.refuse",
    "Inbox.reopen",
    "Inbox.undo",
    "LedgerTexts.erase",
    "MachineSync.compare",
    "MachineSync.run",
    "NoteSync.run",
    "NoteSync.watch",
    "Rounds.run",
    "Rounds.run_if_due",
    "Rebuilds.rebuild",
    "Rebuilds.rebuild_from",
    "ApprovalSecret.check",
    "ApprovalSecret.pin",
    "ApprovalSecret.set",
    "SecretScan.mask",
    "tokens.create",
    "tokens.revoke",
    "tokens.revoke_signed",
    "tokens.rotate",
    "trail.audit_errors",
    "trail.audited",
    "trail.audit_refusals",
    "trail.log",
    "trail.log_many",
    "trail.take_in",
    "HeadSigning.sign",
    "Undo.take_back",
    "Undo.take_back_entries",
}
"""What changes no record of a caller's choice, is the owner's alone, or is tried below."""

READS = {
    "DecisionActs": {
        "starting_with",
        "everything",
        "history",
        "latest",
        "on_target_of",
        "read",
        "active_by_target",
    },
    "entities": {"communities", "read", "related"},
    "Erasing": {"check", "copies", "find", "unfinished"},
    "GovernedMemories": {"read", "search"},
    "Inbox": {"listing", "read"},
    "Citations": {"notes", "doubtful", "follow", "judge_anew"},
    "Ledgers": {"act", "states", "sync_visible"},
    "memories": {
        *("count", "history", "resolved_id", "narrowed", "page", "read", "read_any", "valid_at"),
        "version",
    },
    "overview": {
        "counts",
        "memories",
        "organization_with",
        "sequences",
        "to_embed",
        "token_states",
    },
    "Projects": {"indexed", "known", "progress", "read"},
    "Proposals": {"pending"},
    "SecretScan": {"counts", "scan"},
    "sessions": {"all", "connections", "overview", "page", "turn_of", "turns", "within"},
    "summaries": {"page"},
    "tokens": {"last_uses", "list"},
    "trail": {"each", "ends", "entries", "heads", "prove"},
    "TrailProving": {"prove"},
    "Undo": {"acts", "last", "obstacle", "read", "subjects"},
}
"""What only reads."""


HELPERS = {"mentions", "supersession", "writer", "DecisionWriter", "SuggestedChanges"}
"""Services that act inside the transactions of others."""


@pytest.fixture(scope="module")
def population(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Population]:
    with populated(tmp_path_factory.mktemp("acts").resolve()) as filled:
        yield filled


def may_write(service: type) -> bool:
    """Tell whether a service's code changes records, or asks something that may."""
    return (
        re.search(r"\.put\(|transaction\(|_trail|_writer|_writer", inspect.getsource(service))
        is not None
    )


@pytest.mark.whole
def test_every_act_of_a_caller_is_in_the_tables_of_this_module(population: Population) -> None:
    app = population.world.app
    # Composed when they are first asked for; what helps the others is asked by no caller.
    services = {"trail": type(app.trail), "tokens": type(app.tokens)} | {
        name: type(getattr(app, name)) for name in service_names(App)
    }
    # Classes of features that take the app itself, once their modules are there.
    for feature in features():
        package = import_module(feature.module("."))
        for each in walk_packages(package.__path__, f"{package.__name__}."):
            import_module(each.name)
    services |= {
        of.__name__: of
        for name, module in list(sys.modules.items())
        if name.startswith("minutebook.features.")
        for of in vars(module).values()
        if inspect.isclass(of) and of.__module__ == name
        if inspect.isfunction(of.__init__)
        if list(inspect.signature(of.__init__).parameters) == ["self", "app"]
        or of in (Backups, HeadSigning)
    }
    acts = {
        f"{attribute}.{name}"
        for attribute, each in services.items()
        if attribute not in HELPERS
        if each.__module__.startswith(("minutebook.memory.", "minutebook.features."))
        and may_write(each)
        for name, method in inspect.getmembers(each, inspect.isfunction)
        if not name.startswith("_") and "caller" in inspect.signature(method).parameters
    }
    reads = {f"{service}.{name}" for service, names in READS.items() for name in names}
    writes = {*NAMED, *PLACED, *MANY, *HOMELY, *BESIDE}
    gives_callers = {"tokens.caller_of", "tokens.refused", "writer.embed", "Projects.may_forget"}
    assert acts - gives_callers - reads - writes == set(), "enter it in one of the tables above"
    assert not reads & writes
    assert writes - acts == {"memories.write_all"}


@pytest.mark.parametrize("scope", [each for each in SCOPES if each != "own"])
@parametrize_in_part("act", [*NAMED, *PLACED])
def test_a_token_of_a_repository_changes_nothing_beyond_it(
    population: Population, act: str, scope: str
) -> None:
    before, given = population.records(), population.given[scope]
    app = population.world.app
    expected = NotFound if act in NAMED and scope in UNSEEN else Refused
    if act == "memories.delete" and scope in UNSEEN:
        assert app.memories.delete(BEARER, given.memories[0]) is False
    elif act == "memories.write" and scope in UNSEEN:
        # As with an id that nothing has: a memory of the caller's own.
        made = app.memories.write(BEARER, fact(given, id=given.memories[0]))
        assert (made.organization, made.repository, made.content) == ("acme", "one", "Mine")
        app.memories.delete(BEARER, made.id)
    else:
        with pytest.raises(expected):
            (NAMED | PLACED)[act](app, BEARER, given)
    assert population.records() == before


@pytest.mark.parametrize("scope", [each for each in SCOPES if each != "own"])
def test_a_token_of_a_repository_takes_nothing_beyond_it_into_it(
    population: Population, scope: str
) -> None:
    app, given = population.world.app, population.given[scope]
    before = population.records()
    with pytest.raises(NotFound if scope in UNSEEN else Refused):
        app.memories.move(BEARER, given.memories[:1], "one")
    assert population.records() == before


@pytest.mark.parametrize("act", MANY)
def test_an_act_on_all_there_is_leaves_what_is_beyond_the_token(
    population: Population, act: str
) -> None:
    own = population.fill("own")
    population.world.app.sessions.add(BEARER, own.session, "And more", "", "Done.")
    before = population.records()
    MANY[act](population.world.app, BEARER, own)
    after = population.records()
    assert after != before
    for key in before.keys() | after.keys():
        record = after.get(key, before.get(key))
        if before.get(key) != after.get(key):
            assert getattr(record, "organization", "") == "acme"
            assert getattr(record, "repository", "one") == "one", record


@parametrize_in_part("act", [*NAMED, *PLACED, *HOMELY])
def test_a_token_of_a_repository_writes_into_it(population: Population, act: str) -> None:
    own = population.fill("own")
    before = population.records()
    # The same words within a minute would be a call that is tried again.
    population.world.clock.turn(61)
    (NAMED | PLACED | HOMELY)[act](population.world.app, BEARER, own)
    after = population.records()
    changed = [after[key] for key in after if before.get(key) != after[key]]
    assert changed or before.keys() - after.keys()
    for record in changed:
        assert getattr(record, "repository", "one") == "one"


@parametrize_in_part("act", [*NAMED, *PLACED, *HOMELY, *MANY])
def test_a_viewer_changes_nothing(population: Population, act: str) -> None:
    before, given = population.records(), population.given["organization"]
    viewer = replace(BEARER, role=Role.VIEWER, repository_bound=False, repositories=None)
    with pytest.raises(Refused):
        (NAMED | PLACED | HOMELY | MANY)[act](population.world.app, viewer, given)
    assert population.records() == before


@parametrize_in_part("act", [*NAMED, *PLACED, *HOMELY])
def test_the_systems_is_changed_through_no_contract(population: Population, act: str) -> None:
    before, given = population.records(), population.given["system"]
    anyone = Caller(name="ada", role=Role.ADMIN, organization=SYSTEM_ORGANIZATION)
    with pytest.raises(Refused):
        (NAMED | PLACED | HOMELY)[act](population.world.app, anyone, given)
    assert population.records() == before


def test_an_import_takes_in_nothing_beyond_the_token(
    population: Population, tmp_path: Path
) -> None:
    archives: Archives = population.world.app.get(Archives)
    for number, scope in enumerate(SCOPES):
        who = replace(BEARER, **SCOPES[scope], token="", repository_bound=False, writes_system=True)
        path = tmp_path / f"{number}.jsonl"
        archives.export_to(who, JOURNAL, path)
        before = population.records()
        for mode in Mode:
            with suppress(Refused):
                archives.import_from(BEARER, path, mode)
            after = population.records()
            for key in before.keys() | after.keys():
                if before.get(key) != after.get(key):
                    record = after.get(key, before.get(key))
                    assert getattr(record, "repository", None) == "one", scope


def test_nobody_deletes_the_successor_of_what_they_may_not_change(population: Population) -> None:
    own, wide = population.fill("own"), population.fill("organization")
    app = population.world.app
    person = replace(BEARER, repository_bound=False, token="")
    app.memories.invalidate(person, wide.memories[0], None, own.memories[0])
    before = population.records()
    with pytest.raises(Refused):
        app.memories.delete(BEARER, own.memories[0])
    assert population.records() == before
    app.overview.reset(BEARER)
    superseded = app.memories.read(person, wide.memories[0])
    assert (superseded.superseded_by, superseded.status) == (own.memories[0], Status.SUPERSEDED)


def test_a_relation_is_its_narrower_ends(population: Population) -> None:
    own, wide = population.fill("own"), population.given["organization"]
    graph = population.world.app.entities
    assert graph.create_relation(BEARER, own.entities[0], wide.entities[0], "uses", 1.0)
    with pytest.raises(Refused):
        graph.create_relation(BEARER, wide.entities[0], wide.entities[1], "uses", 1.0)


def test_an_agent_deletes_no_project_of_anothers(population: Population) -> None:
    own, app = population.fill("own"), population.world.app
    with pytest.raises(Refused):
        app.get(Projects).delete(replace(BEARER, name="other", role=Role.AGENT), own.project)
    assert app.get(Projects).read(BEARER, own.project)
    app.get(Projects).delete(replace(BEARER, role=Role.AGENT), own.project)
