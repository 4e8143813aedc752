"""Ask `minutebook why` for known reasons of lines: `python -m benchmarks.reasons [--quick]`.

`reasons.toml` holds one case each: the steps of a small project (commits, turns of sessions, decisions, memories), the place that
is asked about, and words that only its reason has. Each project is built in a folder and a store of its own and asked by the real command.
The reason is found if it is among the first three entries told; nothing was fitted to the part `held`, and
`hard` was written after the rules, to find where they fail: later commits that explain a sweep, or that were asked for.
"""

import json
import os
import subprocess
import sys
import tempfile
import tomllib
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from contextlib import closing
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pygit2

from benchmarks.measure import Cell, Table, asked, machine, publish
from minutebook.app import App, open_app
from minutebook.config import settings_with
from minutebook.features.code.projects import Projects
from minutebook.memory.search.recall import WEIGHTS
from minutebook.record.records import (
    Authorship,
    Decision,
    DecisionStatus,
    Memory,
    MemoryType,
    ScopeLevel,
    Status,
    Turn,
)

CASES = Path(__file__).with_name("reasons.toml")
PARTS = ("seen", "held", "hard")
START, WANTED = datetime(2026, 1, 5, 9, tzinfo=UTC), 3
_OWN: Mapping[str, Any] = {"organization": "default", "author": "ana"}

Case = Mapping[str, Any]


def main() -> None:
    """Ask, print, keep."""
    given = asked("Ask for the reasons of lines.").parse_args()
    cases = tomllib.loads(CASES.read_text(encoding="utf-8"))["case"]
    counts: dict[str, Counter[str]] = {part: Counter() for part in PARTS}
    for case in cases[::8] if given.quick else cases:
        place, recalled = places_of(case)
        found = {"found": 0 < place <= WANTED, "recalled": 0 < recalled <= WANTED}
        counts[case["part"]] += Counter(cases=1, first=place == 1, **found)
        if not found["recalled"]:
            print(
                f"    missed by recall: {case['name']}, {f'hit {recalled}' if recalled else 'not told'}"
            )
        if not 0 < place <= WANTED:
            print(f"    missed: {case['name']}, {f'entry {place}' if place else 'not told'}")
    rows: list[tuple[Cell, ...]] = [(part, *(each[name] for name in ("cases", "first", "found", "recalled"))) for part, each in counts.items()]  # fmt: skip
    columns = (
        "part",
        "lines",
        "told first",
        f"among the first {WANTED}",
        f"by recall among the first {WANTED}",
    )
    publish("reasons", machine(), [Table("Reasons for lines", columns, rows)], quick=given.quick)


def places_of(case: Case) -> tuple[int, int]:
    """Return the places of the reason of a case among the entries told, and the hits of `recall`, from 1; 0 if it is not there."""
    with tempfile.TemporaryDirectory() as folder:
        root, home = Path(folder, "project"), Path(folder, "home")
        build(case["steps"], root, home)
        told = _answer(root, home, case["ask"])
        hits = _recalled(root, home, f"Why is {case['ask']} as it is?")
    texts = [json.dumps(each, ensure_ascii=False) for each in told]
    return _place(texts, case["known_by"]), _place(hits, case["known_by"])


def _place(texts: Sequence[str], words: str) -> int:
    return next((number for number, text in enumerate(texts, 1) if words in text), 0)


def _recalled(root: Path, home: Path, question: str) -> list[str]:
    """Return the texts of the hits of `recall` where the project is indexed."""
    with closing(open_app(settings_with(home=home, embedder="none"))) as app:
        caller = app.settings.caller()
        app.get(Projects).index(caller, str(root.resolve()))
        found = app.combined.recall(caller, question, 10, WEIGHTS, app.recall_sources)
        return [each.record.text for each in found.results]


def build(steps: Sequence[Case], root: Path, home: Path) -> None:
    """Make the commits and the records of a case."""
    repository = pygit2.init_repository(root, initial_head="main")
    app, at = open_app(settings_with(home=home, embedder="none")), START
    for number, step in enumerate(steps):
        at += timedelta(hours=step.get("hours", 24))
        if "commit" in step:
            _commit(repository, step, int(at.timestamp()))
        else:
            _remember(app, step, f"r{number}", at)
    app.close()
    repository.checkout_head()


def _commit(repository: pygit2.Repository, step: Case, at: int) -> None:
    branch = step.get("on", "main")
    base: list[pygit2.Oid] = [] if repository.head_is_unborn else [_tip(repository, "main")]
    if "merge" in step:
        theirs = _tip(repository, step["merge"])
        tree = repository.merge_commits(base[0], theirs).write_tree(repository)
        parents = [*base, theirs]
    else:
        parents = [_tip(repository, branch)] if branch in repository.branches else base
        index = pygit2.Index()
        for path, text in _files(repository, parents, step):
            id = repository.create_blob(text.encode())
            index.add(pygit2.IndexEntry(path, id, pygit2.enums.FileMode.BLOB))
        tree = index.write_tree(repository)
    who = pygit2.Signature("Ana", "ana@example.org", at, 0)
    made = repository.create_commit(None, who, who, step["commit"], tree, parents)
    repository.references.create(f"refs/heads/{branch}", made, force=True)


def _tip(repository: pygit2.Repository, branch: str) -> pygit2.Oid:
    return repository.branches[branch].peel(pygit2.Commit).id


def _files(
    repository: pygit2.Repository, parents: Sequence[pygit2.Oid], step: Case
) -> Iterator[tuple[str, str]]:
    """Yield the files after a step."""
    index = pygit2.Index()
    if parents:
        index.read_tree(repository[parents[0]].peel(pygit2.Tree))
    files = {each.path: repository[each.id].peel(pygit2.Blob).data.decode() for each in index}
    files |= step.get("write", {})
    for path, old, new in step.get("edit", ()):
        assert old in files[path], (step["commit"], old)
        files[path] = files[path].replace(old, new)
    for old, new in step.get("move", ()):
        files[new] = files.pop(old)
    yield from files.items()


def _remember(app: App, step: Case, id: str, at: datetime) -> None:
    record: Turn | Decision | Memory
    if "turn" in step:
        record = Turn(**_OWN, id=id, session=id, at=at, prompt=step["turn"], thought="", response="Done.")  # fmt: skip
    elif "decision" in step:
        title, _, reason = step["decision"].partition("\n\n")
        record = Decision(**_OWN, id=id, target="app", title=title, rationale=reason, status=DecisionStatus.ACTIVE, authorship=Authorship.HUMAN, created_at=at)  # fmt: skip
    else:
        kind = MemoryType.BUSINESS_RULE if "rule" in step else MemoryType.FACT
        content = step.get("rule") or step["memory"]
        record = Memory(**_OWN, id=id, content=content, type=kind, scope=ScopeLevel.ORGANIZATION, status=Status.ACTIVE, event_time=at, ingestion_time=at, updated_at=at, valid_from=at)  # fmt: skip
    with app.infrastructure.store.transaction("default"):
        app.infrastructure.store.put(record)


def _answer(root: Path, home: Path, place: str) -> Sequence[Mapping[str, object]]:
    command = [sys.executable, "-m", "minutebook", "why", place, "--json"]
    settings = {"MINUTEBOOK_HOME": str(home), "MINUTEBOOK_EMBEDDER": "none", "MINUTEBOOK_DAEMON": "off"}  # fmt: skip
    done = subprocess.run(
        command, cwd=root, env=os.environ | settings, stdout=subprocess.PIPE, check=True, timeout=60
    )
    told: list[Mapping[str, object]] = json.loads(done.stdout)
    return told


if __name__ == "__main__":
    main()
