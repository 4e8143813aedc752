"""Words the section on verdicts of `docs/quality.md` from `docs/calibration_verdict.json`."""

import json
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parent.parent
KEPT = ROOT / "docs" / "calibration_verdict.json"

FORMS = {
    "BY_TOKENS": "With the built-in model",
    "BY_VECTORS": "With a model that gives no token states",
    "BY_WORDS": "By words alone",
    "OF_CODE": "Code",
}

SETS = {
    "notes": "short notes beside turns of technical talk",
    "locomo": "LoCoMo's turns",
    "xquad": "XQuAD's paragraphs in five languages",
    "chats": "messages of BEAM's long chats",
    "code": "CoSQA's functions",
}

OPENING = """\
## Nothing, by size of store

Whether a search has found an answer is said by one logistic of eight things that it measures: the best strength, how
far that is above the second and the fifth, the mean of the ten best, the greatest cosine, the best BM25, and the
logarithms of the number of texts and of the words asked. `python -m benchmarks.calibrate_verdict --keep` fits it to
questions asked of stores of so many texts that hold an answer, and of stores that do not. *Near* strangers are questions
of the same set whose answer is elsewhere: of another conversation, of a note or paragraph that is left out. *Far* ones
(`benchmarks/far_questions.jsonl`, 60 in eleven languages) are about nothing of the kind. One question in six is one
to three words of a text. *Area* is that under the ROC curve of the chance for answerable questions against near
strangers, *lost* the share of answerable questions that are told *nothing*, *found* the share of them that are told
*found*; *near told found* is the share of near strangers told so wrongly. A question whose answer stands lower than others counts as
answerable, too. Per cent, in brackets the 95 % interval. *Other sets* has the coefficients fitted without this set.

Long texts are the weak side: some token of a long message comes near any question. On the messages of BEAM's chats (some
300 tokens each), to which nothing is fitted, the area is 0.92 among 10, 0.91 among 100 and 0.79 among 1,000, and at a cut of
0.17 near strangers are told *nothing* in 10, 13 and 2 % at 1, 1 and 0 % of the answerable lost, far ones in 83 to 90 %;
40 to 63 % of the near strangers are told *found*. Fitted to them, too, the coefficients would lose more of what short notes
answer (18 instead of 15 % among 100).

A text in another language than the question shares no words with it, and less of the meaning: at this cut 12 to 17 % of
questions in eleven languages on XQuAD's English paragraphs lose their answer (Arabic 43 %). Where the nearest text is in no
language that the question may be in, *nothing* is a chance below 0.065 instead. It was chosen on one half of these questions
(6.4 % lost); of the other half 6.6 % lose their answer, and 32 % of the strangers are told *nothing* (60 % before).

`search_code` gives what comes as near as an answer does (a cosine of 0.64 less the mean question) even where the chance
is less: the table of code has the chance alone, by which strangers to all code are told *nothing* as before.
"""


def section() -> Iterator[str]:
    """Yield the lines of the section."""
    told = json.loads(KEPT.read_text(encoding="utf-8"))
    yield OPENING
    yield (
        f"Fitted for {told['model']}; *nothing* is a chance below {told['nothing below']}, *found* one from "
        f"{told['found from']}."
    )
    for name, form in told["forms"].items():
        yield from ("", f"### {FORMS[name]}", "")
        yield "| texts | n | area | lost | near told *nothing* | far told *nothing* | found | near told found |"
        yield "| --- | --- | --- | --- | --- | --- | --- | --- |"
        for part, title in (("sets", ""), ("left out", ", other sets")):
            for of, sizes in form.get(part, {}).items():
                yield from _rows(f"{SETS[of]}{title}", sizes)
    yield ""


def _rows(title: str, sizes: Mapping[str, Mapping[str, Any]]) -> Iterator[str]:
    yield f"| **{title}** | | | | | | | |"
    for size, each in sizes.items():
        area, low, high = each["area"]
        cells = [
            f"{int(size):,}",
            str(each["questions"]),
            f"{area:.3f} [{low:.3f}, {high:.3f}]",
            *(_share(each[key]) for key in ("lost", "near", "far", "found", "near found")),
        ]
        yield f"| {' | '.join(cells)} |"


def _share(value: Sequence[float] | None) -> str:
    if value is None:
        return ""
    share, low, high = (100 * each for each in value)
    return f"{share:.1f} [{low:.1f}, {high:.1f}]"
