"""Rot: what texts cite at an old commit, judged at later ones: `python -m benchmarks.rot CLONE…`.

Of each clone of a repository, the texts at the commit 200 before the last (pages, docstrings, 300 messages of commits) cite what
they cite, and every tenth commit from there on is asked what became of it; an alert counts once for each citation. The truth is found
without the parser of the product: of Python by `ast.unparse`, which keeps neither comments nor blanks; of other languages by the
definition's text without either, which must stand in the file. Without a clone: this repository, as far as its history goes.

Then what a verdict costs: a store of memories that cite the first clone's definitions, of which files of half have changed, asked
for ten hits from its table, and by `recall` with verdicts and without, in turn. And what citing costs a write: the same memories
stored where the clone is an indexed project and where it is none, in turn, then judged by the job, fifty at once and one alone.
"""

import ast
import re
import threading
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from datetime import UTC, datetime
from functools import partial
from itertools import islice
from pathlib import Path
from tempfile import TemporaryDirectory
from time import process_time

import pygit2
from pygit2.enums import SortMode

from benchmarks.measure import (
    ROOT,
    Cell,
    Table,
    asked,
    machine,
    opened,
    publish,
    stopwatch,
    timed,
    timed_in_turn,
)
from minutebook.app import App
from minutebook.features.citations.cited import CitationVerdict, Cited, Judged
from minutebook.features.citations.judging import cited_in, judge
from minutebook.features.citations.trees import (
    Blobs,
    CommitTree,
    SearchedTree,
    TreeComparison,
    compared_commits,
)
from minutebook.features.citations.verdicts import Citations
from minutebook.features.code.references import references_in
from minutebook.memory.search.combined import CombinedRecall
from minutebook.memory.search.hit_notes import HitNotes
from minutebook.memory.search.newest_first import NewestFirst
from minutebook.memory.search.passages import Passages
from minutebook.memory.search.recall import WEIGHTS
from minutebook.record.caller import WorkTree, with_call
from minutebook.record.records import IndexState, Memory, MemoryType, Project, Role
from minutebook.record.writing.drafts import Draft

COMMITS, EVERY, MESSAGES = 200, 10, 300
_COMMENT = re.compile(r"/\*.*?\*/|//[^\n]*", re.DOTALL)
_BLANK = re.compile(r"\s+")
_ALERTS = frozenset(
    {CitationVerdict.CHANGED, CitationVerdict.RENAMED, CitationVerdict.MOVED, CitationVerdict.GONE}
)

_DEFINING = ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef | ast.Assign | ast.AnnAssign


def main() -> None:
    """Walk, print, keep."""
    parser = asked("Judge what texts cite, as the code changes.")
    parser.add_argument("clones", nargs="*", type=Path, metavar="CLONE")
    given = parser.parse_args()
    rows: list[tuple[Cell, ...]] = []
    total = Counter[str]()
    for clone in given.clones or [ROOT]:
        counts, seconds = walked(clone, 20 if given.quick else COMMITS)
        total += counts
        rows.append(
            _row(
                clone.resolve().parent.name if clone.name == "repo" else clone.name, counts, seconds
            )
        )
    rows.append(_row("all", total, None))
    first = given.clones[0] if given.clones else ROOT
    costs = costs_of_verdicts(first, quick=given.quick)
    writes = costs_of_writes(first, quick=given.quick)
    columns = ("repository", "cited", "alerts", "right", "precision", "removed or renamed", "found", "alerts a catch", "CPU ms a comparison")  # fmt: skip
    method = {**machine(), "commits": COMMITS, "judged every": EVERY}
    truth = Table("What became of what is cited", columns, rows)
    publish("rot", method, [truth, costs, writes], quick=given.quick)


def costs_of_writes(clone: Path, *, quick: bool) -> Table:
    """Measure what citing adds to writes, and keeps."""
    with (
        TemporaryDirectory() as folder,
        opened(Path(folder, "with")) as citing,
        opened(Path(folder, "without")) as silent,
    ):
        root = Path(folder, "code")
        pygit2.clone_repository(pygit2.discover_repository(str(clone)) or str(clone), str(root))
        names = list(_definitions(root, 20 if quick else 200))

        def storing(app: App, word: str) -> tuple[Callable[[int], object], Callable[[], float]]:
            caller = replace(app.settings.caller(), role=Role.HUMAN)

            # Each its own words, so that no vector is known from the other.
            def store(number: int) -> object:
                path, name = names[number % len(names)]
                text = f"{word} rule {number} of {path}:{name}"
                return app.memories.store(caller, Draft(content=text, type=MemoryType.FACT))

            return store, process_time

        project = Project(
            organization="default",
            id="code",
            path=str(root),
            author="ana",
            state=IndexState.COMPLETED,
            started_at=datetime.now(UTC),
        )
        citing.infrastructure.store.put(project)
        with_it, caller = storing(citing, "the"), citing.settings.caller()
        works = {"with": with_it, "without": storing(silent, "a")}
        stored = timed_in_turn(works, 20 if quick else 300)
        follow = citing.get(Citations).follow
        follow(caller)
        judged = {}
        for many in (50, 1):
            for number in range(many):
                with_it[0](1000 + number)
            with stopwatch() as judged[many]:
                follow(caller)
        with citing.infrastructure.store.database.reading() as connection:
            size = "length(stamps) + length(judged) + length(tree) + length(said) + length(base) + length(head) + length(id)"
            kept = connection.row(f"SELECT avg({size}) FROM citations WHERE tree <> ''")
    rows: list[tuple[Cell, ...]] = [
        *((f"store {name}, ms", stored[name].p50) for name in works),
        ("ratio", stored["with"].p50 / stored["without"].p50),
        *((f"store {name}, ms CPU", stored[name].cpu) for name in works),
        ("ratio", stored["with"].cpu / stored["without"].cpu),
        *((f"judged by the job, {many} at once, ms CPU a memory", each.cpu * 1e3 / many) for many, each in judged.items()),
        ("bytes of a row with one citation", float(kept[0]) if kept else None),
    ]  # fmt: skip
    return Table("What citing costs a write", ("what", "figure"), rows)


def costs_of_verdicts(clone: Path, *, quick: bool) -> Table:
    """Measure what verdicts add to answers and to writes."""
    with TemporaryDirectory() as folder, opened(Path(folder, "home")) as app:
        root = Path(folder, "code")
        pygit2.clone_repository(pygit2.discover_repository(str(clone)) or str(clone), str(root))
        names = list(_definitions(root, 20 if quick else 200))
        caller = with_call(
            replace(app.settings.caller(), role=Role.HUMAN), work_tree=WorkTree(str(root))
        )
        for path, name in names:
            text = f"The rule of {name.replace('_', ' ')} stands in {path}:{name}"
            app.memories.store(caller, Draft(content=text, type=MemoryType.FACT))
        app.embeddings.backfill(threading.Event())
        for path in sorted({path for path, _ in names})[::2]:
            (root / path).write_text("x = 1\n")
        memories = [
            each
            for view in app.infrastructure.records.seen_by(caller)
            for each in view.find(Memory)
        ]
        citations = app.get(Citations)
        citations.wait = 60.0
        with stopwatch() as first:
            judged = citations.notes(caller, memories)
        ten = memories[:10]
        records = app.infrastructure.records
        silent = CombinedRecall(
            records,
            app.recall,
            NewestFirst(app.embeddings, records),
            Passages(records, app.embeddings),
            HitNotes({}),
        )
        rounds = 20 if quick else 300

        def asking(
            combined: CombinedRecall, words: tuple[str, str]
        ) -> tuple[Callable[[int], object], Callable[[], float]]:
            # Each its own words, so that no question's vector is known from the other.
            def ask(number: int) -> object:
                name = names[number % len(names)][1].replace("_", " ")
                text = f"{words[number % 2]} rule of {name}"
                return combined.recall(caller, text, 10, WEIGHTS, app.recall_sources)

            return ask, process_time

        table = timed(lambda _: citations.notes(caller, ten), rounds)
        asked_ones = timed_in_turn(
            {"with": asking(app.combined, ("the", "a")), "without": asking(silent, ("a", "the"))},
            rounds,
        )
    ratio = asked_ones["with"].cpu / asked_ones["without"].cpu
    rows: list[tuple[Cell, ...]] = [
        (f"{len(memories)} memories judged at first, {len(judged)} cite, ms CPU a memory", first.cpu * 1e3 / len(memories)),
        ("ten hits from the table, ms (median)", table.p50),
        ("ten hits from the table, ms (99 in 100)", table.p99),
        ("ten hits from the table, ms CPU", table.cpu),
        ("recall with verdicts, ms CPU", asked_ones["with"].cpu),
        ("recall without, ms CPU", asked_ones["without"].cpu),
        ("ratio", ratio),
    ]  # fmt: skip
    return Table("What a verdict costs", ("what", "figure"), rows)


def _definitions(root: Path, most: int) -> Iterator[tuple[str, str]]:
    """Yield paths and names of definitions of a clone, one a file."""
    repository = pygit2.Repository(str(root))
    tree = SearchedTree(CommitTree(Blobs(repository), repository.head.peel(pygit2.Commit)))
    paths = [each.path for each in repository.index if each.path.endswith((".py", ".ts"))]
    found = ((path, each) for path in paths for each in tree.definitions(path)[:1])
    for path, each in islice(found, most):
        yield path, ".".join(each.names)


def _row(name: str, counts: Counter[str], milliseconds: float | None) -> tuple[Cell, ...]:
    alerts, right, gone = counts["alerts"], counts["right"], counts["gone"]
    return (
        *(name, counts["cited"], alerts, right, right / alerts if alerts else None, gone),
        *(counts["found"], alerts / right if right else None, milliseconds),
    )


def walked(clone: Path, commits: int) -> tuple[Counter[str], float]:
    """Judge every tenth of the last commits of a clone; return counts, and CPU milliseconds a comparison."""
    repository = pygit2.Repository(pygit2.discover_repository(str(clone)) or str(clone))
    walk = repository.walk(repository.head.target, SortMode.TOPOLOGICAL)
    walk.simplify_first_parent()
    line = [each for each, _ in zip(walk, range(commits + 1), strict=False)][::-1]
    blobs, base = Blobs(repository), line[0]
    before = SearchedTree(CommitTree(blobs, base))
    references = [each for text in texts(repository, base, before) for each in references_in(text)]
    cited = {
        (each.path, each.lines, each.definition): each
        for each in cited_in(list(dict.fromkeys(references)), before)
    }
    counts = Counter[str](cited=len(cited))
    open_ones, used, compared = list(cited.values()), 0.0, 0
    for later in [*line[EVERY:-1:EVERY], line[-1]]:
        started = process_time()
        now = compared_commits(blobs, base, later)
        comparison = TreeComparison(before, now.after, now.now, now.added)
        judged = [judge(each, comparison) for each in open_ones]
        used, compared = used + process_time() - started, compared + 1
        for each in judged:
            _count(counts, each, comparison, is_last=later is line[-1])
        open_ones = [each.cited for each in judged if each.verdict not in _ALERTS]
    return counts, used / compared * 1000


def _count(
    counts: Counter[str], judged: Judged, comparison: TreeComparison, *, is_last: bool
) -> None:
    is_alert = judged.verdict in _ALERTS
    if not is_alert and not is_last:
        return
    truth = became(judged.cited, comparison)
    counts["alerts"] += is_alert
    counts["right"] += is_alert and truth != "same"
    counts["gone"] += truth == "gone"
    counts["found"] += is_alert and truth == "gone"
    if is_alert is (truth == "same"):
        print(
            f"    {'false' if is_alert else 'missed'}: {judged.cited.written} in {judged.cited.path}: {judged.verdict}, is {truth}"
        )


def texts(repository: pygit2.Repository, base: pygit2.Commit, tree: SearchedTree) -> Iterator[str]:
    """Yield the texts at a commit that may cite its code."""
    for path in CommitTree(Blobs(repository), base).paths:
        if path.endswith((".md", ".rst", ".txt")):
            yield "\n".join(tree.lines(path))
        elif path.endswith(".py"):
            parsed = _parsed("\n".join(tree.lines(path)))
            for node in ast.walk(parsed):
                if isinstance(node, ast.Module | ast.ClassDef | ast.FunctionDef):
                    yield ast.get_docstring(node) or ""
        elif path.endswith((".ts", ".tsx", ".js")):
            yield from re.findall(r"/\*\*.*?\*/", "\n".join(tree.lines(path)), re.DOTALL)
    for each, _ in zip(repository.walk(base.id), range(MESSAGES), strict=False):
        yield each.message


def became(cited: Cited, comparison: TreeComparison) -> str:
    """Return what truly became of something: `same`, `changed`, or `gone` from where it was, by name or by place."""
    before = "\n".join(comparison.before.lines(cited.path))
    if cited.path not in comparison.after:
        return "gone"
    after = "\n".join(comparison.after.lines(cited.path))
    if cited.definition is None:
        wanted = before if cited.lines is None else _lines(before, cited.lines)
        return "same" if cited.lines is None or _plain(wanted) in _plain(after) else "changed"
    if cited.path.endswith(".py"):
        found = [_defined(_parsed(each), cited.definition.names) for each in (before, after)]
        if not found[1]:
            return "gone"
        return "same" if set(found[0]) & set(found[1]) else "changed"
    wanted = _lines(before, (cited.definition.first, cited.definition.last))
    # What looks like a comment is none in JSON.
    plain = _plain if not cited.path.endswith(".json") else partial(_BLANK.sub, "")
    if plain(wanted) in plain(after):
        return "same"
    name = re.escape(cited.definition.names[-1])
    declared = rf"\b(?:function\*?|class|const|let|var|interface|type|enum|get|set|async|static|public|private|readonly)\s+{name}\b|^\s*{name}\s*[(=:?<]"
    return "changed" if re.search(declared, after, re.MULTILINE) else "gone"


def _lines(text: str, lines: tuple[int, int]) -> str:
    return "\n".join(text.split("\n")[lines[0] - 1 : lines[1]])


def _plain(text: str) -> str:
    return _BLANK.sub("", _COMMENT.sub("", text))


def _parsed(text: str) -> ast.Module:
    try:
        return ast.parse(text)
    except (SyntaxError, ValueError):
        return ast.Module([], [])


def _defined(module: ast.Module, names: Sequence[str]) -> list[str]:
    """Return the sources, without comments and blanks, of what is defined under these names."""
    found: list[ast.AST] = [module]
    for name in names:
        found = [node for outer in found for node in _within(outer) if name in _names(node)]
    return [ast.unparse(each) for each in found]


def _names(node: ast.AST) -> set[str]:
    """Return the names that a node defines: its own, or those of the values that it assigns."""
    given = getattr(node, "targets", None) or [getattr(node, "target", None)]
    return {getattr(node, "name", ""), *(getattr(each, "id", "") for each in given)}


def _within(outer: ast.AST) -> Iterator[ast.AST]:
    """Yield the definitions in a node that are in no other definition in it."""
    for node in ast.iter_child_nodes(outer):
        if isinstance(node, _DEFINING):
            yield node
        else:
            yield from _within(node)


if __name__ == "__main__":
    main()
