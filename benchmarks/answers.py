"""Is the newest truth told first, and is it told what was decided? `python -m benchmarks answers [--keep]`.

Each is asked through what users get:

- *Revisions*: the pairs of `revisions.jsonl`, the older said a month before the newer, fourteen at a time among 96 notes of
  `notes.jsonl`, asked of `recall`. Pairs that look alike are asked, too: nothing of them should be said to be revised.
- *Chats*: `deciding_chats.jsonl`, sixteen chats that settle something (six of which is settled anew later), kept turn by turn
  among the sessions of `labelled_sessions.jsonl`. A report of a fault, in other words, is what they decide. It is asked of `recall`
  (ten results) and is a prompt to the hook. Apart from them twenty longer ones, `more_deciding_chats.jsonl`.
- *LoCoMo*: each turn a memory that a person wrote, each question a prompt to the hook; as strangers the questions of the
  conversation before.

`--keep` writes `docs/answers.json`, from which `make docs` makes a part of `docs/quality.md`. Nothing here was fitted to
these sets but the part `learn` of the revisions, and what a turn gains that settles something to the first chats; the second
were written before that, but by the same hand, and their figures were seen when it was chosen.
"""

import json
import tempfile
from collections.abc import Callable, Iterator, Sequence
from contextlib import closing, contextmanager
from dataclasses import asdict, dataclass, replace
from datetime import UTC, datetime, timedelta
from pathlib import Path
from threading import Event
from typing import Any

from benchmarks import public_sets
from benchmarks.finding import metrics, runs
from benchmarks.finding.datasets import Collection, Dataset, Document, Query
from benchmarks.finding.metrics import interval
from benchmarks.fit_revisions import labelled
from benchmarks.measure import ROOT, Cell, Table, asked, machine, publish
from benchmarks.quality import OURS, PUBLIC
from minutebook.app import App, open_app
from minutebook.config import load, settings_with
from minutebook.config.models import Models, models_of
from minutebook.features.hooks.contexts import HookContexts
from minutebook.features.hooks.operations import RELEVANCE
from minutebook.record.caller import Caller, with_call
from minutebook.record.origin import Origin
from minutebook.record.records import Role
from minutebook.record.writing.drafts import Draft
from minutebook.serve.contracts.knowledge import knowledge

KEPT = ROOT / "docs" / "answers.json"
CHATS, OTHERS = OURS / "deciding_chats.jsonl", OURS / "labelled_sessions.jsonl"
MORE_CHATS = OURS / "more_deciding_chats.jsonl"
LOCOMO = PUBLIC / "locomo-dev.json"

PAIRS, NOTES = 14, 96
"""Pairs in a store, and notes beside them."""

PERSON = Caller(name="benchmark", role=Role.HUMAN)
_BEGAN = datetime(2026, 1, 5, tzinfo=UTC)
_QUICK = 9
_SAID = 24
"""Characters of a response by which a passage is known to say it."""


def _yes(whether: object) -> float:
    return 100.0 * bool(whether)


def _row(name: str, values: Sequence[float]) -> tuple[Cell, ...]:
    return (name, len(values), interval(values)) if values else (name, 0, None)


def revisions_of(part: str, step: int) -> Dataset:
    """Return stores of some pairs among notes, each pair with its question."""
    rows = labelled(part)[::step]
    (notes,) = public_sets.read(OURS / "notes.jsonl").collections
    beside = [
        replace(each, at=_BEGAN + timedelta(days=day % 60))
        for day, each in enumerate(notes.documents[: NOTES // step])
    ]
    collections = []
    for start in range(0, len(rows), PAIRS):
        documents, queries = list(beside), []
        for day, row in enumerate(rows[start : start + PAIRS]):
            old, new = f"{row['id']} older", f"{row['id']} newer"
            at = _BEGAN + timedelta(days=day)
            documents += [
                Document(id=old, text=row["older"], at=at),
                Document(id=new, text=row["newer"], at=at + timedelta(days=30)),
            ]
            alike = row["label"] == "alike"
            word = "with a word of change" if row["marked"] else "without such a word"
            groups = ("look alike",) if alike else (f"revise, {word}", f"revise, {row['language']}")
            queries.append(
                Query(
                    id=row["id"],
                    text=row["question"],
                    relevant={(old if alike else new): 1.0},
                    groups=groups,
                    old=frozenset({old}),
                    new=frozenset({new}),
                )
            )
        collections.append(Collection(name=f"{part} {start}", documents=documents, queries=queries))
    return Dataset(part, "lines", collections)


def revised(part: str, step: int) -> Table:
    """Ask the pairs of a part."""
    done = runs.run(revisions_of(part, step), load({}), lambda share, what: None)
    asked_of: dict[str, list[runs.QueryResult]] = {}
    for result in done.results:
        alike = "look alike" in result.query.groups
        for group in result.query.groups if alike else ("revise", *result.query.groups):
            asked_of.setdefault(group, []).append(result)
    rows: list[tuple[Cell, ...]] = []
    for group in sorted(asked_of, key=lambda name: (name == "look alike", name)):
        here = asked_of[group]
        rows.append(
            (
                group,
                len(here),
                *(
                    interval([_yes(told(each.query, each.outcomes["recall"])) for each in here])
                    for told in (_is_new_above, _is_new_first, _is_old_marked, _is_any_marked)
                ),
            )
        )
    columns = ("pairs", "n", "newer above older", "newer first", "older marked", "either marked")
    return Table(f"Revisions through recall, {part}", columns, rows)


def _is_new_above(query: Query, outcome: runs.RunOutcome) -> bool:
    found = [id for id in outcome.ranked[: runs.LIMIT] if id in query.old | query.new]
    return bool(found) and found[0] in query.new


def _is_new_first(query: Query, outcome: runs.RunOutcome) -> bool:
    return bool(outcome.ranked) and outcome.ranked[0] in query.new


def _is_old_marked(query: Query, outcome: runs.RunOutcome) -> bool:
    return bool(query.old & outcome.revised)


def _is_any_marked(query: Query, outcome: runs.RunOutcome) -> bool:
    return bool((query.old | query.new) & outcome.revised)


@dataclass(frozen=True, slots=True)
class Filled:
    """An open store, who asks in it, and which document each record was stored for."""

    app: App
    caller: Caller
    documents: dict[str, str]

    def recalled(self, query: str) -> tuple[list[str], str]:
        """Return the documents among ten results of `recall`, and all that these say."""
        arguments = {"query": query, "limit": runs.LIMIT}
        answer = knowledge().call(self.app, self.caller, "recall", arguments)
        assert answer.content is not None, answer.text
        results = answer.content["results"]
        return self._named(each["id"] for each in results), "\n".join(
            each["content"] for each in results
        )

    def told(self, prompt: str) -> tuple[list[str], int, str]:
        """Return the documents that the hook tells before a prompt, how many tokens it takes, and what it says."""
        context = self.app.get(HookContexts).before_prompt(self.caller, prompt, RELEVANCE, ())
        if context is None:
            return [], 0, ""
        return self._named(context.ids), context.tokens, context.text

    def _named(self, ids: Any) -> list[str]:
        return [self.documents[id] for id in ids if id in self.documents]


@contextmanager
def filled(documents: Sequence[Document], models: Models) -> Iterator[Filled]:
    """Keep documents as memories of a person, or as turns, each at its time."""
    said: list[datetime] = []
    with tempfile.TemporaryDirectory(prefix="minutebook-answers-") as home:
        settings = settings_with(home=Path(home), durability="normal")
        clock: Callable[[], datetime] = lambda: said[-1] if said else datetime.now(UTC)  # noqa: E731
        with closing(open_app(settings, models=models, clock=clock)) as app:
            kept = {}
            for each in documents:
                said[:] = [each.at] if each.at else []
                kept[_keep(app, each)] = each.id
            said.clear()
            app.embeddings.backfill(Event())
            yield Filled(app, PERSON, kept)


def _keep(app: App, document: Document) -> str:
    if document.is_turn:
        return app.sessions.add(PERSON, document.session, document.text, "", document.response).id
    origin = Origin(client="benchmark", session=document.session)
    caller = with_call(PERSON, session=document.session, origin=origin)
    return app.memories.store(caller, Draft(content=document.text, type=document.type)).id


def chats(path: Path, models: Models, step: int) -> Table:
    """Ask reports of faults of what chats decided, through `recall` and by the hook."""
    (ours,) = public_sets.read(path).collections
    documents = [*_other_turns(step), *ours.documents]
    groups: dict[str, list[dict[str, float]]] = {}
    response = {each.id: each.response for each in ours.documents}
    with filled(documents, models) as store:
        for query in ours.queries[::step]:
            ranked, content = store.recalled(query.text)
            told, tokens, text = store.told(query.text)
            both = query.old | frozenset(query.relevant)
            words = [response[each][:_SAID] for each in query.relevant]
            first = next((id for id in ranked if id in both), None)
            figures = {
                "among ten": _yes(query.relevant.keys() & set(ranked)),
                "said by ten": _yes(any(each in content for each in words)),
                "its session among ten": _yes(_sessions(both) & _sessions(ranked)),
                "newer above older": _yes(first in query.relevant),
                "by the hook": _yes(both & set(told) or any(each in text for each in words)),
                "tokens": float(tokens),
            }
            for group in ("all", *query.groups[:1]):
                groups.setdefault(group, []).append(figures)
    names = (
        "among ten",
        "said by ten",
        "its session among ten",
        "newer above older",
        "by the hook",
        "tokens",
    )
    rows: list[tuple[Cell, ...]] = [
        (group, len(found), *(interval([each[name] for each in found]) for name in names))
        for group, found in groups.items()
    ]
    sessions = len({each.session for each in documents})
    part = "first set" if path == CHATS else "second set"
    title = f"Decided in chats, {part}: {sessions} sessions of {len(documents)} turns"
    return Table(title, ("asked", "n", *names), rows)


def _sessions(documents: Any) -> set[str]:
    return {id.rsplit("-", 1)[0] for id in documents}


def _other_turns(step: int) -> Iterator[Document]:
    """Yield the turns of the labelled sessions, each session a day, before and between the chats."""
    lines = OTHERS.read_text(encoding="utf-8").splitlines()[::step]
    for day, row in enumerate(map(json.loads, lines)):
        for number, (prompt, _, response) in enumerate(row["turns"]):
            at = datetime(2026, 2, 20, 9, tzinfo=UTC) + timedelta(days=day, minutes=10 * number)
            id, session = f"{row['id']}-{number}", f"other {row['id']}"
            yield Document(id=id, text=prompt, response=response or "Done.", session=session, at=at)


def prompts(models: Models) -> Table:
    """Ask the hook LoCoMo's questions, and those of the conversation before."""
    collections = public_sets.read(LOCOMO).collections
    known, strange, sizes = [], [], []
    for number, each in enumerate(collections):
        with filled(each.documents, models) as store:
            for query in each.queries:
                if "1–4" in query.groups:
                    told, tokens, _ = store.told(query.text)
                    known.append(_yes(query.relevant.keys() & set(told)))
                    sizes += [float(tokens)] if told else []
            for query in collections[number - 1].queries:
                if "1–4" in query.groups:
                    strange.append(_yes(store.told(query.text)[0]))
    rows = [
        _row("evidence told, questions 1–4", known),
        _row("anything told to strangers", strange),
        _row("tokens where anything is told", sizes),
    ]
    return Table("The hook on LoCoMo", ("asked", "n", "share"), rows)


def main() -> None:
    """Ask, print, keep."""
    parser = asked("Ask what was revised and decided, through recall and hooks.")
    parser.add_argument("--keep", action="store_true", help="write docs/answers.json")
    given = parser.parse_args()
    step = _QUICK if given.quick else 1
    if given.quick:
        metrics.RESAMPLES = 100
    tables = [revised(part, step) for part in ("unseen", "learn")[: 1 if given.quick else 2]]
    models = models_of(load({}))
    models.embedding.start()
    models.embedding.wait()
    with closing(models.embedding):
        tables += [chats(path, models, step) for path in (CHATS, MORE_CHATS)]
        if LOCOMO.exists() and not given.quick:
            tables.append(prompts(models))
        else:
            print("left out: the hook on LoCoMo")
    publish("answers", machine(), tables, quick=given.quick)
    if given.keep:
        kept = [asdict(each) for each in tables]
        KEPT.write_text(json.dumps(kept, ensure_ascii=False, indent=1) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
