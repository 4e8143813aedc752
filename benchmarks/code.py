"""Does it find the function that does it, how fast, and at what cost? The code tools on real libraries.

`python -m benchmarks.code [--quick] [--development]`. Quality: a docstring asks, the function it was
cut out of answers (`benchmarks/docstrings.py`). What is asked is `search_code`, through the contract, on
a store that `index_project` filled; beside it, from the same store, the best by words alone (BM25) and
by vectors alone. A function is found where the first of its chunks stands. NDCG@10 with one answer,
MRR within the ten; in per cent, with 95 % intervals from resampling questions.

Candidates are all chunks, as for whoever uses the tool; and once more only those of functions that
have a docstring, as figures for this task found elsewhere usually are.

The questions were drawn once. Constants are tuned on others, which `--development` asks.
"""

import hashlib
import json
import math
import platform
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, cast

import minutebook
from benchmarks import code_speed, docstrings, peers
from benchmarks.docstrings import Question
from benchmarks.finding.metrics import interval
from benchmarks.measure import DATA, FORM, NotThere, Table, asked, machine, opened, publish
from minutebook.app import App
from minutebook.config import settings_with
from minutebook.features.code.projects import Projects
from minutebook.features.models.built_in import builtin
from minutebook.memory.access.visibility import everything_in
from minutebook.record.filters import Filter
from minutebook.record.records import DEFAULT_ORGANIZATION, CodeChunk
from minutebook.serve.contracts.contract import Contract
from minutebook.serve.contracts.knowledge import knowledge
from minutebook.text.words import parse_query

QUICK = ("textwrap",)
SEED = 0
SAMPLE = 400
LIMIT = 10
DEEP = 50
"""How many are asked for, so that ten are left where only documented functions count."""
TOOL = "search_code"
MAKERS = (
    *(
        "features/code/chunking/chunks.py",
        "features/code/chunking/languages.py",
        "features/code/chunking/outline.py",
        "features/code/chunking/syntax.py",
    ),
    *("record/records/code.py", "text/words.py", "store/sqlite/schema.py"),
)
"""What makes chunks of files, texts of chunks, and the tables for both."""

HERE = Filter(organization=DEFAULT_ORGANIZATION)

EXAMPLES: Mapping[str, tuple[str, ...]] = {
    "standard library": (
        "parse a configuration file",
        "TarFile.extractall",
        "where is a file copied together with its permissions",
    ),
    "express": ("res.sendFile", "where is the view engine chosen", "parse the query string"),
}

Place = tuple[str, int, int]
"""Path, first and last line of a chunk."""


@dataclass(frozen=True, slots=True)
class Corpus:
    """A folder of code, a home whose store holds it with its vectors, and what is asked about it."""

    library: Path
    home: Path
    questions: Sequence[Question]


@dataclass(frozen=True, slots=True)
class Scores:
    """How well one ranking serves one question; each in [0, 1]."""

    found: float
    ndcg: float
    mrr: float


@dataclass(frozen=True, slots=True)
class Asked:
    """A question in one form, what counts as a candidate, and what each way of searching made of it."""

    form: str
    pool: str
    scores: Mapping[str, Scores]


def score(ranked: Sequence[Place], question: Question) -> Scores:
    """Score the best LIMIT by the place of the first that answers."""
    for place, (path, first, last) in enumerate(ranked[:LIMIT], 1):
        if question.is_answered_by(path, first, last):
            return Scores(1.0, 1 / math.log2(place + 1), 1 / place)
    return Scores(0.0, 0.0, 0.0)


def filled(modules: Sequence[str]) -> Corpus:
    """Return a home with the standard library, without docstrings, indexed; continues an earlier run."""
    folder = DATA / f"code-{_key(*modules)}"
    library, kept = folder / "library", folder / "questions.json"
    if not kept.exists():
        questions: list[Question] = []
        for path, text in docstrings.sources(modules):
            bare, own = docstrings.cut(path, text)
            questions += own
            (library / path).parent.mkdir(parents=True, exist_ok=True)
            (library / path).write_text(bare, encoding="utf-8")
        kept.write_text(json.dumps([asdict(each) for each in questions]), encoding="utf-8")
    index_once(folder / "home", library)
    told = json.loads(kept.read_text(encoding="utf-8"))
    return Corpus(library, folder / "home", [Question(**each) for each in told])


def index_once(home: Path, library: Path) -> None:
    """Index a folder with its vectors, unless an earlier run did."""
    whole = home.with_name(f"{home.name}-whole")
    if whole.exists():
        return
    with opened(home) as app:
        app.get(Projects).index(settings_with().caller(), str(library), None)
        if app.embeddings.pending(
            CodeChunk, everything_in(app.infrastructure.store, DEFAULT_ORGANIZATION)
        ):
            raise RuntimeError(f"not every chunk of {library} has a vector: {app.embeddings.state}")
    whole.touch()


def drawn(questions: Sequence[Question], *, development: bool) -> list[Question]:
    """Draw the questions that count, or others, of other files, to tune by."""
    chosen = [each for each in questions if docstrings.is_to_tune_by(each) == development]
    return docstrings.sampled(chosen, SAMPLE, SEED)


def ask(
    app: App, contract: Contract, questions: Sequence[Question], every: Sequence[Question]
) -> list[Asked]:
    """Put each question, in both forms, to the tool and to each of its signals alone.

    The same answers are scored twice: as they are, and among the functions of `every` question.
    """
    documented: dict[str, list[Question]] = {}
    for each in every:
        documented.setdefault(each.path, []).append(each)

    def is_documented(place: Place) -> bool:
        return any(each.is_answered_by(*place) for each in documented.get(place[0], []))

    answers = []
    for question in questions:
        for form, text in (
            ("first paragraph", question.paragraph),
            ("whole docstring", question.whole),
        ):
            ranked = {
                "words": _by_words(app, text),
                "vectors": _by_vectors(app, text),
                TOOL: _by_tool(app, contract, text),
            }
            among = {by: list(filter(is_documented, places)) for by, places in ranked.items()}
            for pool, found in (("all chunks", ranked), ("documented functions", among)):
                scores = {by: score(places, question) for by, places in found.items()}
                answers.append(Asked(form, pool, scores))
    return answers


def quality(answers: Sequence[Asked]) -> list[Table]:
    """Sum up, and compare the tool with each signal alone, question by question."""
    groups: dict[tuple[str, str], list[Asked]] = {}
    for each in answers:
        groups.setdefault((each.pool, each.form), []).append(each)
    measures = ("found@10", "NDCG@10", "MRR")
    return [
        Table(
            "functions found by their docstrings, per cent [95 %]",
            ("among", "question", "n", "by", *measures),
            [
                (pool, form, len(group), by, *_summed([each.scores[by] for each in group]))
                for (pool, form), group in sorted(groups.items())
                for by in ("words", "vectors", TOOL)
            ],
        ),
        Table(
            f"{TOOL} less each signal alone, points [95 %], paired",
            ("among", "question", "n", "less", *measures),
            [
                (pool, form, len(group), by, *_summed([_gain(each.scores, by) for each in group]))
                for (pool, form), group in sorted(groups.items())
                for by in ("words", "vectors")
            ],
        ),
    ]


def examples(name: str, home: Path) -> Table:
    """Show the first three of what some searches find, for a person to judge."""
    rows: list[tuple[str | float, ...]] = []
    with opened(home) as app:
        for query in EXAMPLES[name]:
            found = _called(app, knowledge(), query=query, limit=3)["results"]
            rows += [
                (
                    query if rank == 0 else "",
                    f"{each['file_path']}:{each['start_line']}",
                    each["name"] or "",
                    each["score"],
                )
                for rank, each in enumerate(found)
            ]
    return Table(f"examples: {name}", ("query", "place", "name", "score"), rows)


EXPRESS = (
    "express",
    "5.1.0",
    "DT9ck5YIRU+8GYzzU5kT3eHGA5iL+1Zd0EutOmTE9Dtk+Tvuzd23VBU+ec7HPNSTxXYO55gPV/hq4pSBJDjFpA==",
)


def javascript() -> Path:
    """Return a home that holds a package from npm, indexed. Raises NotThere if it cannot be had."""
    name, version, sha512 = EXPRESS
    library = peers.npm_package(name, version, sha512, install=True)
    home = DATA / f"code-{name}-{_key(name, version)}" / "home"
    home.parent.mkdir(parents=True, exist_ok=True)
    index_once(home, library)
    return home


def main() -> None:
    """Measure and publish."""
    parser = asked("Measure how well, how fast and at what cost code is found.")
    parser.add_argument(
        "--development", action="store_true", help="ask other questions, to tune by; no speed"
    )
    given = parser.parse_args()
    corpus = filled(QUICK if given.quick else ())
    questions = drawn(corpus.questions, development=given.development)
    with opened(corpus.home) as app:
        chunks = app.infrastructure.store.count(CodeChunk, HERE)
        tables = quality(ask(app, knowledge(), questions, corpus.questions))
    method = {
        **machine(),
        "corpus": f"{', '.join(QUICK) if given.quick else 'the modules that are one file'}, of the "
        f"standard library of Python {platform.python_version()}, every docstring removed; "
        f"{chunks:,} chunks",
        "questions": f"{len(questions)} of {len(corpus.questions)} docstrings of at least "
        f"{docstrings.SHORTEST_DOCSTRING} words, of functions that do something; seed {SEED}",
        "times": "milliseconds unless said; wall time p50; CPU of all threads",
    }
    if not given.development:
        tables += code_speed.tables(corpus.home, corpus.library, quick=given.quick)
    if not given.development and not given.quick:
        tables.append(examples("standard library", corpus.home))
        try:
            tables.append(examples("express", javascript()))
        except NotThere as reason:
            print(f"left out: {reason}")
    publish("code", method, tables, quick=given.quick)


def _key(*parts: str) -> str:
    """Name what a filled store depends on: the data, the model, and how files become texts."""
    root = Path(minutebook.__file__).parent
    makers = [root / name for name in MAKERS] + [Path(docstrings.__file__)]
    digest = hashlib.sha256("\0".join([platform.python_version(), *parts]).encode())
    for maker in makers:
        digest.update(maker.read_bytes())
    digest.update((builtin.MODEL.digest + FORM).encode())
    return digest.hexdigest()[:8]


def _by_words(app: App, text: str) -> list[Place]:
    found = app.infrastructure.store.match(CodeChunk, HERE, parse_query(text), DEEP)
    return _places(app, [each.id for each in found])


def _by_vectors(app: App, text: str) -> list[Place]:
    vector = app.embeddings.require_query(text).vector_of(CodeChunk)
    found = app.infrastructure.store.nearest(
        CodeChunk, HERE, app.embeddings.space_of(CodeChunk), vector, DEEP
    )
    return _places(app, [each.id for each in found])


def _by_tool(app: App, contract: Contract, text: str) -> list[Place]:
    found = _called(app, contract, query=text, limit=DEEP)["results"]
    return [(each["file_path"], each["start_line"], each["end_line"]) for each in found]


def _places(app: App, ids: Sequence[str]) -> list[Place]:
    chunks = [
        cast("CodeChunk", app.infrastructure.store.get(CodeChunk, DEFAULT_ORGANIZATION, id))
        for id in ids
    ]
    return [(chunk.path, chunk.start_line, chunk.end_line) for chunk in chunks]


def _called(app: App, contract: Contract, **arguments: object) -> Mapping[str, Any]:
    answer = contract.call(app, settings_with().caller(), TOOL, arguments)
    if answer.content is None:
        raise RuntimeError(f"{TOOL}: {answer.error}")
    return answer.content


def _gain(scores: Mapping[str, Scores], by: str) -> Scores:
    ours, alone = scores[TOOL], scores[by]
    return Scores(ours.found - alone.found, ours.ndcg - alone.ndcg, ours.mrr - alone.mrr)


def _summed(scores: Sequence[Scores]) -> list[tuple[float, float, float]]:
    return [
        interval([100 * getattr(each, name) for each in scores])
        for name in ("found", "ndcg", "mrr")
    ]


if __name__ == "__main__":
    main()
