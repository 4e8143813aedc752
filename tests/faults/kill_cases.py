"""What is killed, where, and what must be so afterwards."""

from collections import Counter
from collections.abc import Callable, Mapping
from contextlib import closing
from dataclasses import dataclass, field, replace
from pathlib import Path

from minutebook.app import open_app
from minutebook.features.archives.copies.backups import store_backups
from minutebook.features.code.projects import Projects
from minutebook.features.ledger.decisions import DecisionActs
from minutebook.features.tidying.findings import State
from minutebook.features.tidying.inbox import Inbox
from minutebook.features.tidying.rows import TidyRows
from minutebook.record.json_lines import line_of
from minutebook.record.records import CLASSES, CodeChunk, Memory, MemoryType, Role, Summary, Turn
from minutebook.record.rights.grants import Grant
from minutebook.record.writing.drafts import Draft
from tests.faults import victims
from tests.faults.invariants import PROBER, Acknowledged, check, violations
from tests.features.archives.test_archives import headed, turn
from tests.features.archives.test_archives import sealed as sealed_archive
from tests.features.ledger.decided import PERSON, draft
from tests.features.ledger.git.given import git, person
from tests.homes import settings_at
from tests.store.next_format import next_format
from tests.world import everything

After = Callable[[Path, Acknowledged, bool], None]
"""Checks a folder, given what was acknowledged in it so far, and whether the program came to its end."""


def checked(folder: Path, said: Acknowledged, ended: bool) -> None:
    """Hold the data directory to all invariants."""
    del ended
    check(folder / "home", said)


@dataclass(frozen=True, slots=True, kw_only=True)
class Case:
    """A program that is killed in a folder, whose data directory is `home`."""

    command: Callable[[Path, str], list[str]]
    """The module to run and its arguments, by the folder and the name of the round."""
    points: str
    """Where it is killed, as `tests.faults.killed` takes it."""
    steps: int
    """About as many as it takes, so that a random one of them is one at which it can be killed."""
    rounds: int
    """In the long form; the short one has one."""
    prepare: Callable[[Path], Acknowledged | None] = lambda folder: None
    after: After = checked
    is_fresh: bool = False
    """Whether each round begins with what was prepared, and not with what the last one left."""
    variables: Mapping[str, str] = field(default_factory=dict)


def victim(act: str, *more: str) -> Callable[[Path, str], list[str]]:
    """Run one of the victims; `more` are names in the folder."""

    def command(folder: Path, name: str) -> list[str]:
        arguments = [str(folder / each) for each in more]
        return ["tests.faults.victims", act, str(folder / "home"), name, *arguments]

    return command


def cli(*words: str) -> Callable[[Path, str], list[str]]:
    """Run a command on the data directory; words that begin with a slash are names in the folder."""

    def command(folder: Path, name: str) -> list[str]:
        del name
        typed = [str(folder / each[1:]) if each.startswith("/") else each for each in words]
        return ["minutebook", *typed, "--home", str(folder / "home")]

    return command


def real_model(folder: Path, name: str) -> list[str]:
    """Run the writer with the built-in model."""
    return ["tests.faults.victims", "write", str(folder / "home"), name, "built-in"]


# A person's work tree


def work_tree(folder: Path) -> None:
    """Make a person's repository, with something of theirs staged and something not."""
    place = person(folder / "project")
    (place / "staged.txt").write_text("mine\n")
    git(place, "add", "staged.txt")
    (place / "README.md").write_text("hello, changed\n")


def work_tree_is_whole(folder: Path, said: Acknowledged, ended: bool) -> None:
    """Check that the person's work is as they left it, and the decisions are committed and in place."""
    del ended
    place = folder / "project"
    check(folder / "home", said, ledger=place / "decisions")
    assert git(place, "status", "--porcelain") == " M README.md\nA  staged.txt\n"
    control = place / ".git"
    locks = [each for each in control.rglob("*.lock") if each.parent.name != "minutebook"]
    assert locks == list(control.glob("minutebook.*")) == []
    assert not list((place / "decisions").glob(".*"))


# Formats

OLD_RECORDS = 12


def old_store(folder: Path) -> Acknowledged:
    """Make a store of the present format, which the next one finds."""
    said = Acknowledged()
    with closing(open_app(settings_at(folder / "home", embedder="none"))) as app:
        for number in range(1, OLD_RECORDS + 1):
            text = f"old {number} " + "bread " * 200
            app.memories.store(PROBER, Draft(content=text, type=MemoryType.FACT))
            said.note(Memory, text)
    return said


def migrated(folder: Path, said: Acknowledged, ended: bool) -> None:
    """Check that the store is of the next format, and holds what it held."""
    with next_format():
        checked(folder, said, ended)


# Archives, backups and code

TURNS = 40


def archive(folder: Path) -> None:
    """Make a journal, and an archive with another one."""
    with closing(open_app(settings_at(folder / "home", embedder="none"))) as app:
        for number in range(TURNS):
            app.sessions.add(PROBER, "old", f"old {number}", "", "")
    lines = (line_of(turn(number, prompt=f"new {number}")) for number in range(TURNS))
    (folder / "archive.jsonl").write_bytes(sealed_archive(headed(TURNS), *lines))


def all_old_or_all_new(folder: Path, said: Acknowledged, ended: bool) -> None:
    """Check that an import that replaces did so wholly, or not at all."""
    checked(folder, said, ended)
    with closing(open_app(settings_at(folder / "home", embedder="none"))) as app:
        turns = app.infrastructure.store.find(Turn, everything("default"))
    there = sorted(each.prompt for each in turns)
    new = sorted(f"new {number}" for number in range(TURNS))
    old = sorted(f"old {number}" for number in range(TURNS))
    assert there == new if ended else there in (old, new)


def sessions(folder: Path) -> None:
    """Make sessions to summarize."""
    with closing(open_app(settings_at(folder / "home", embedder="none"))) as app:
        for number in range(12):
            request = f"Fix crash {number} in src/login.py"
            app.sessions.add(PROBER, f"s{number % 6}", request, "", "Fixed and tested.")


def summarized(folder: Path, said: Acknowledged, ended: bool) -> None:
    """Check that each session has one summary at most, and that the next run makes what is missing."""
    checked(folder, said, ended)
    with closing(open_app(settings_at(folder / "home", embedder="none"))) as app:
        assert app.summaries.summarize_all(victims.AGENT).failed == []
        found = app.infrastructure.store.find(Summary, everything("default"))
    assert sorted(each.session for each in found) == [f"s{number}" for number in range(6)]
    checked(folder, said, ended)


# Tidying

PAIRS = 4


def disorder(folder: Path) -> None:
    """Make memories that contradict one another."""
    with closing(open_app(settings_at(folder / "home", embedder="none"))) as app:
        for number in range(PAIRS):
            for value in (3, 5):
                content = f"The retry limit of service k{number} is {value}."
                app.memories.store(PERSON, Draft(content=content, type=MemoryType.FACT))


def tidied(folder: Path, said: Acknowledged, ended: bool) -> None:
    """Check that each suggestion is there once, each change whole or not made, and the next run ends the work."""
    checked(folder, said, ended)
    victims.tidy(str(folder / "home"), "again")
    with closing(open_app(settings_at(folder / "home", embedder="none"))) as app:
        store = app.infrastructure.store
        found = list(TidyRows(store.database).everything("default"))
        assert len({each.id for each in found}) == len(found) == PAIRS
        for each in found:
            kind, id = each.subjects[-1]
            record = store.get(CLASSES[kind], "default", id)
            is_applied = record is None or getattr(record, "superseded_by", None) is not None
            assert is_applied is (each.state is State.APPLIED), each
            if is_applied:
                app.get(Inbox).undo(PERSON, str(each.number))
        memories = store.find(Memory, everything("default"))
        assert [each.superseded_by for each in memories] == [None] * 2 * PAIRS
    checked(folder, said, ended)


FILES, FUNCTIONS = 12, 5


def code(folder: Path) -> None:
    """Make a folder of code."""
    (folder / "code").mkdir()
    for number in range(FILES):
        functions = (f"def f{number}_{each}():\n    return {each}\n" for each in range(FUNCTIONS))
        (folder / "code" / f"{number}.py").write_text("\n\n".join(functions))


def indexed(folder: Path, said: Acknowledged, ended: bool) -> None:
    """Check that the next run completes the index, with each function once."""
    checked(folder, said, ended)
    with closing(open_app(settings_at(folder / "home", embedder="none"))) as app:
        app.get(Projects).index(PROBER, str(folder / "code"))
        chunks = app.infrastructure.store.find(CodeChunk, everything("default"))
    names = Counter(each.name for each in chunks)
    known = [f"f{number}_{each}" for number in range(FILES) for each in range(FUNCTIONS)]
    assert names == Counter(known)
    checked(folder, said, ended)


def two_stores(folder: Path) -> None:
    """Make a backup of one store, and another store in the data directory."""
    for name, text in (("other", "from the backup"), ("home", "there before")):
        with closing(open_app(settings_at(folder / name, embedder="none"))) as app:
            app.memories.store(PROBER, Draft(content=text, type=MemoryType.FACT))
            app.get(DecisionActs).record(PERSON, draft(text, text))
            if name == "other":
                app.get(store_backups).make(PERSON, folder / "backup.tar")
            else:
                # A restore leaves it as it is.
                owner = replace(PERSON, writes_system=True)
                made = app.tokens.create(owner, Grant(name="ci", role=Role.AGENT))
                app.tokens.revoke(owner, made.token.id)


def backed_up(folder: Path, said: Acknowledged, ended: bool) -> None:
    """Check that a backup is there whole or not at all, and the next one is made."""
    check(folder / "home", said)
    path = folder / "made.tar"
    assert path.exists() or not ended
    if not path.exists():
        with closing(open_app(settings_at(folder / "home", embedder="none"))) as app:
            app.get(store_backups).make(PERSON, path)
    assert not list(folder.glob(".*"))
    target = folder / "restored"
    restore = ["restore", str(path), "--home", str(target)]
    _run(*restore)
    check(target, texts_of("there before"))


def restored(folder: Path, said: Acknowledged, ended: bool) -> None:
    """Check that one of both stores is there, and that the next restore brings back the backup.

    A kill between the renames leaves the old store without its ledger, or with the new one: `doctor` says so.
    """
    del said
    home = folder / "home"
    with closing(open_app(settings_at(home, embedder="none"))) as app:
        (memory,) = app.infrastructure.store.find(Memory, everything("default"))
    text = memory.content
    assert text == "from the backup" if ended else text in ("from the backup", "there before")
    found = violations(home, texts_of(text))
    assert all("ledger" in each or "tables and Git" in each for each in found), found
    assert not (found and ended), found
    _run("restore", str(folder / "backup.tar"), "--replace", "--home", str(home))
    check(home, texts_of("from the backup"))


def texts_of(text: str) -> Acknowledged:
    """Return what one of the two stores holds."""
    said = Acknowledged()
    said.note(Memory, text)
    return said


def _run(*words: str) -> None:
    from tests.terminal import typed

    done = typed(*words)
    assert done.exit_code == 0, done.output


WRITING = "database,transactions,files,git"

CASES: dict[str, Case] = {
    "writer of all kinds": Case(command=victim("write"), points=WRITING, steps=850, rounds=60),
    "writer with the real model": Case(command=real_model, points=WRITING, steps=900, rounds=30),
    "decisions in a person's work tree": Case(
        command=victim("decide", "project/decisions"),
        points="git,files",
        steps=99,
        rounds=60,
        prepare=work_tree,
        after=work_tree_is_whole,
    ),
    "checkpoint of the log": Case(
        command=victim("grow"), points="database=minutebook.db$", steps=1100, rounds=40
    ),
    "save of the vector index": Case(
        command=victim("search"), points="files=segment|dead|manifest", steps=25, rounds=40
    ),
    "journal import": Case(
        command=cli("import", "/archive.jsonl", "--replace"),
        points=WRITING,
        steps=83,
        rounds=30,
        prepare=archive,
        after=all_old_or_all_new,
        is_fresh=True,
    ),
    "indexer": Case(
        command=cli("index", "/code"),
        points="transactions,database",
        steps=430,
        rounds=30,
        prepare=code,
        after=indexed,
        is_fresh=True,
    ),
    "summarize_sessions": Case(
        command=victim("summarize"),
        points=WRITING,
        steps=290,
        rounds=30,
        prepare=sessions,
        after=summarized,
        is_fresh=True,
    ),
    "tidying": Case(
        command=victim("tidy"),
        points=WRITING,
        steps=450,
        rounds=30,
        prepare=disorder,
        after=tidied,
        is_fresh=True,
    ),
    "backup": Case(
        command=cli("backup", "/made.tar"),
        points="files,database",
        steps=160,
        rounds=30,
        prepare=two_stores,
        after=backed_up,
        is_fresh=True,
    ),
    "restore": Case(
        command=cli("restore", "/backup.tar", "--replace"),
        points="files,database",
        steps=100,
        rounds=30,
        prepare=two_stores,
        after=restored,
        is_fresh=True,
    ),
    "migration to the next format": Case(
        command=victim("migrate"),
        points="database",
        steps=60,
        rounds=30,
        prepare=old_store,
        after=migrated,
        is_fresh=True,
    ),
}
