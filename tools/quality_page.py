"""Writes `docs/quality.md` from the figures that `python -m benchmarks.quality --keep` kept."""

import json
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parent.parent
FIGURES = ROOT / "docs" / "quality.json"

SHOWN = {
    "notes": ("all", "en", "de", "fr", "es", "zh", "across languages"),
    "relations": ("all", "one relation", "two relations", "by way of a memory"),
    "paraphrases": ("all", "en"),
    "locomo-dev": ("1–4", "1 multi-hop", "2 temporal", "4 single-hop", "5 adversarial"),
    "xquad-dev": ("of English paragraphs", "ar → en", "within one language"),
    "beam-dev": ("all", "knowledge_update"),
    "cosqa-dev": ("all",),
}
"""The groups of questions that the page shows of each set; `docs/quality.json` has all."""

OPENING = """\
# Quality

How well questions find what answers them, through the real tools with their defaults and the built-in models. Only evidence is scored, which a text is or is not. Nothing here is judged by a model: one set of answers
scores 91 or 35 by the wording of the judge's instructions.
`python -m benchmarks.finding` measures a set of your own in the same way ([guide](measuring-search.md)); the figures of every group, with intervals and costs, are in `quality.json`, `answers.json` and `calibration*.json` beside this page.

- `notes`: 210 short unrelated notes in five languages in one store, questions that share few words with them, some in another language, and 36 about nothing in the store. Ours, fixed before tuning.
- `paraphrases`: 120 notes of one sentence, 80 of them English, in one store; questions without a content word in common, and 60 about nothing in the store. Ours, written before anything was fitted, and nothing is fitted to it.
- `relations`: 105 memories with entities and relations, in three languages; most questions need the graph. Ours, fixed before tuning.
- `locomo-dev`: five of LoCoMo's ten conversations, a memory a turn. `xquad-dev`: 120 paragraphs, questions in twelve languages. `beam-dev`: ten long chats, a memory a message. `cosqa-dev`: 500 web queries for functions, asked of `search_code`.
  The other half of each is held back for whoever checks us.
"""

CLOSING = """\
## Relevance

`relevance`, from 0 to 1, is the chance that a hit is about the question, the same for every question and store ([0027](decisions/0027-late-interaction-and-relevance.md)). Where no hit reaches the cut, the answer says "Perhaps nothing here is about that; these are the nearest." Nothing is left out for it: a guess hides nothing from whoever asked.
Hooks and session starts, which nobody asked, stay silent. *Doubted* above is how often that sentence stands beside an answer that is there; *strangers* how often it stands where there is none.
Long texts are the weak side: some token of a long message comes near any question, so that strangers to long chats are hardly doubted.

## The newest truth

Pairs of a statement and another said a month later, among 96 notes (`benchmarks/revisions.jsonl`, in five languages, a half of it never learnt from): the newer stands first of the two in some 94 of 100, the older one is marked in 71 of 100, and 2 of 100 pairs that only look alike are
marked. What people decided in chats and amended two months later is found by a report of a fault in other words in half of the cases, the amendment before the first rule in a third: that is as far as evidence without a model's reading goes.

## A week of one developer

`python -m benchmarks week` plays thirteen sessions in three projects through the hooks: at each start, before each of 60 prompts (20 of them about nothing that memory knows), at each end. Each line told was judged by hand. 40 lines were told: 36 right, none stale, four beside the point; silent before 19 of 20 strangers;
93 tokens where something was told, at the middle. At starts all 31 are right; before prompts five of nine: what is told there is the weak half. A second week in German, French and Chinese, to which no rule was made: 22 of 26 right, two stale, silent before 17 of 17, 87 tokens. No model is called for any of it.

## What becomes of what is cited

`python -m benchmarks.rot CLONE…` walks nine public repositories, with notes that cite files, lines, definitions, constants, fields and commands as they were, and judges the notes by the code 200 commits later. Of 1,042 citations 366 were alerted, 363 rightly (99.2 %); all 87 things that had been removed or renamed were found; 1.01 alerts a catch.
Ten hits get their verdicts from a table in 0.4 ms.

## Why a line is as it is

`python -m benchmarks.reasons`: fifty small projects, each built with its commits, sessions and decisions; the reason stands in one old commit, turn or record behind two to seven later ones (moves, formatters, reverts). It is among the first three entries in 48 of 50, told first in 46, among the first three of `recall` in 47.
A report of a bug that names no file finds its commit in some three of ten: one-line messages say too little.

## What did not help

The [decisions](decisions/README.md) have the figures.

- Two indices, one for each model: a [vector of both](decisions/0071-two-models-one-vector.md) ranks as well and needs no second column, index or fusion.
- The model of English by itself for English, beside mapped vectors for the rest: German questions then see German texts alone.
- A pointwise fit of ranking (it learns how hard questions are), a learned fusion (12 points on notes), one more model trained on public questions ([0070](decisions/0070-training-of-our-own.md)).
- Scores relative to background passages, whitening, power means, sessions' vectors, each token's mean over the candidates.
- A threshold that empties a list: it hid eight of nineteen answers that stood among the first ten of twenty notes.
"""


def page() -> str:
    """Return the page."""
    told = json.loads(FIGURES.read_text(encoding="utf-8"))
    lines = [OPENING, f"Measured with {told['program']}, {told['model']}; per cent.", ""]
    heads = ["set", "questions", "words", "vectors", "**NDCG@10**", "first", "among ten"]
    lines += _row([*heads, "doubted", "strangers"], head=True)
    for each in told["sets"]:
        lines += _set(each)
    return "\n".join([*lines, "", *_updates(told["sets"]), CLOSING])


def _set(told: Mapping[str, Any]) -> Iterator[str]:
    groups = told["levels"]["document"]
    main = told["main"]
    doubts = (told["separation"] or {"groups": {}})["groups"]
    yield from _row([f"**{told['name']}**, {told['documents']:,} documents", *[""] * 8])
    for name in SHOWN.get(told["name"], ("all",)):
        if name not in groups:
            continue
        systems = groups[name]["systems"]
        figures = systems[main]
        doubt = doubts.get(name, {"systems": {}})["systems"].get(main, {})
        yield from _row(
            [
                name,
                str(groups[name]["questions"]),
                *(_cent(systems.get(each, {}).get("NDCG@10")) for each in ("words", "vectors")),
                f"**{_cent(figures['NDCG@10'])}**",
                *(_cent(figures[each]) for each in ("any@1", "any@10")),
                *(_cent(doubt.get(each)) for each in ("doubted", "doubted_without")),
            ]
        )


def _updates(sets: Sequence[Mapping[str, Any]]) -> Iterator[str]:
    for told in sets:
        if (changed := told.get("updates")) is not None:
            figures = changed["systems"][told["main"]]
            parts = ", ".join(f"{name} {_cent(value)} %" for name, value in figures.items())
            yield f"Of {changed['questions']} questions of {told['name']} about what changed: {parts}."
            yield ""


def _cent(figure: Sequence[float] | None) -> str:
    return "" if figure is None else f"{100 * figure[0]:.1f}"


def _row(cells: list[str], *, head: bool = False) -> Iterator[str]:
    yield f"| {' | '.join(cells)} |"
    if head:
        yield f"|{' --- |' * len(cells)}"
