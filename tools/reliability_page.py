"""Writes `docs/reliability.md` from the figures that `make faults` kept in `docs/reliability.json`."""

import json
from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tools.tables import table

RUN_ON = "run on"
"""The figure that every row has: the day of its run."""

FIGURES = Path(__file__).resolve().parent.parent / "docs" / "reliability.json"

OPENING = """\
# Reliability

What was broken on purpose, how often, and what came of it. `make faults` runs these tests in their long form (`tests/faults/`, hours on two cores) and writes
the figures; `.ci/run` runs the short form of each. A run that finds something keeps no row: what it found is mended first, so a row here has zeros where zeros are wanted.

**What this does not show.** No power is cut: flushes are made as always, and what a disk loses of what it said it kept is not tested. All ran on Linux; the cluster is
[tried by hand](guides/citus.md). Texts and labels are by the author of the rules. Times are of a shared machine under load.
"""


@dataclass(frozen=True, slots=True)
class Table:
    """A table of the page: its title and text, the head of its first column, and its other columns.

    A column is the name of a figure, or a pattern with names of several, and a head. `is_summed` has the rows of a
    kind, the words before a colon or else the first word of a name, stand as one row with their sums.
    """

    title: str
    text: str
    row: str
    columns: Mapping[str, str]
    is_summed: bool = False


TABLES: Mapping[str, Table] = {
    "calls": Table(
        "Each call on a file fails",
        "In each use case, each call of SQLite, Git and Python on a file of the data directory fails, once or from then "
        "on; of like calls on one file four fail. After each step there is an error in our words or what was asked for, "
        "all of it or nothing; the same call again succeeds, and store, trail, ledger and folder hold what "
        "`tests/faults/invariants.py` says.",
        "fault",
        {
            "use_cases": "use cases",
            "steps": "steps",
            "errors": "told as an error",
            "wrong": "wrong",
        },
    ),
    "statements": Table(
        "Each statement to a server fails",
        "The same on PostgreSQL: the server ends the connection before a statement, or after a commit and before its "
        "answer, or raises an error. Of each use case three statements fail, others in each run.",
        "fault",
        {
            "use_cases": "use cases",
            "steps": "steps",
            "errors": "told as an error",
            "wrong": "wrong",
        },
    ),
    "isolation": Table(
        "Isolation",
        "Callers of two organizations, with tokens of every reach and role and at the command line, do at random what "
        "tools, resources, completions, REST operations and commands offer. A model of the policy says what each may see "
        "and change; every answer and every change in the store is compared with it. What is about a record out of sight "
        "is asked a second time about nothing: both answers must be the same.",
        "policy",
        {
            "steps": "steps",
            "callers": "callers",
            "acts": "kinds of act",
            "unseen": "about what is out of sight",
            "refused": "to be refused",
            "changed": "that changed something",
            "disagreements": "disagreements",
        },
    ),
    "isolation timings": Table(
        "What the time of an answer tells",
        "The median time of answers about what is not the caller's, divided by that about what is not there. Who has an "
        "id from elsewhere can so tell by many questions whether there is a record; ids are not to be guessed: a memory's "
        "has 55 random bits.",
        "policy",
        {
            "acts": "kinds of act",
            "ratio": "median ratio",
            "most": "largest ratio",
            "act": "of",
        },
    ),
    "fuzz": Table(
        "Malformed and hostile input",
        "Calls of every tool with arguments drawn from its schema and beyond it, and messages that break the protocol. A "
        "refused call must leave the digest of the store as it was; no answer may hold a stack trace or a path of the "
        "machine. MiB are the server's resident memory.",
        "door",
        {
            "calls": "sent",
            "refused": "refused",
            "changed": "refused, and the store changed",
            "faults": "failed unexpectedly",
            "warm": "MiB after a tenth",
            "end": "MiB at the end",
        },
    ),
    "processes": Table(
        "Many processes",
        "Clients over stdio start together on nothing, and each writes 200 records while it reads; nobody tries again. "
        "Minutebook's write by all five contracts, beside a server of an earlier version, which refuses each call in "
        "plain words. The others write entities, all that they know. Lost and twice are of what was acknowledged.",
        "server",
        {
            "ended": "servers that ended",
            "acknowledged": "acknowledged",
            "refused": "refused",
            "lost": "lost",
            "twice": "twice",
            "unreadable": "unreadable",
            "start": "last first answer, s",
            "write": "worst write, s",
            "read": "worst read, s",
            "seconds": "in all, s",
        },
    ),
    "kills": Table(
        "kill -9",
        "A program is killed before a random one of its steps on files, transactions and Git, and each third time at a "
        "random instant. The store is then opened as a start does: what was acknowledged is there once, `audit verify`, "
        "`git fsck --strict` and `doctor` find nothing, nothing is left over or locked, and the program's next run ends "
        "what it was at. A restore that is killed between its renames leaves the old store without its ledger, which "
        "`doctor` says, until the next restore.",
        "what is killed",
        {
            "rounds": "rounds",
            "killed": "killed",
            "acknowledged": "acknowledged",
            "lost": "lost",
            "broken": "invariants broken",
        },
    ),
    "machines": Table(
        "Machines in step",
        "Two or three machines, each with a store, meet in a folder; on each somebody does at random what changes "
        "records: stores, edits, supersedes, locks, deletes, erases, decides, tidies, imports, restores, syncs. After "
        "each act `audit verify` must be whole there; after the last sync all must hold the same records.",
        "machines",
        {
            "walks": "walks",
            "steps": "acts",
            "acts": "kinds of act",
            "syncs": "syncs",
            "refused": "refused",
            "differing": "records that differ",
            "alarms": "false alarms of `audit verify`",
        },
    ),
    "floods": Table(
        "Floods",
        "48 tasks with one token flood a server of 1,000 memories that has a core for itself; a caller with another token "
        "searches, writes and pings in turn. Milliseconds of the slowest of 100 calls (p99), and in brackets how many "
        "times those of the same calls while the tasks flood a server that does nothing: at most 3 is wanted. The limit "
        "on requests a second is off.",
        "flood",
        {
            "answered": "answered",
            "refused": "refused",
            "{search p99} ({search ratio})": "search",
            "{write p99} ({write ratio})": "write",
            "{ping p99} ({ping ratio})": "ping",
        },
    ),
    "damage": Table(
        "Files that are damaged",
        "A file of a data directory that a process left without closing it: a bit or byte flipped, a page of zeros or "
        "noise, torn, longer, empty. A process then opens, reads, searches, writes and runs `doctor`. Told: an error or a "
        "finding. Harmless: the same records and answers. Cut short: of a log that ends too soon the last writes are not "
        "read, as after a crash.",
        "part",
        {"damaged": "damaged", "told": "told", "harmless": "harmless", "cut": "cut short"},
    ),
    "edits": Table(
        "Edits past the trail",
        "Each column of each table is changed by SQL in one row, a row taken out, and a copy of one put in under another "
        "id. Found: by `audit verify` or `doctor`. Listed: what `audit verify` says that it does not compare.",
        "engine",
        {
            "tables": "tables",
            "edits": "edits",
            "found": "found",
            "listed": "listed",
            "unnoticed": "unnoticed",
        },
    ),
    "many sessions": Table(
        "Thousands of sessions and subscriptions",
        "Five callers open sessions on one server as fast as they can, and watch one resource more than a session may. "
        "What is held is what is promised. The probe is another caller's call meanwhile, the worst of 20.",
        "what",
        {
            "asked": "asked for",
            "held": "held",
            "refused": "refused",
            "before": "MiB before",
            "most": "MiB then",
            "probe": "probe, ms",
        },
    ),
    "posted operations": Table(
        "Operations for commands that are typed elsewhere",
        "Arguments of every operation, with `-`, paths and values drawn at random, are posted to `/operations` and to a "
        "daemon's socket. On the server's stdin a line waits, in the folder named a file with a secret text: nothing of "
        "either may be in an answer, and no file may be made or changed beside the store's own.",
        "door",
        {
            "posted": "posted",
            "done": "done",
            "refused": "refused",
            "read": "read of stdin or files",
            "written": "files written",
        },
    ),
    "hostile content": Table(
        "Hostile content",
        "Each labelled text in `tests/faults/hostile/` goes in by each door, a tenth of them again with `redact = mask`, "
        "and comes out by tools, pages, the terminal, exports, hooks and the log. Secrets are masked or named as the "
        "setting says, except by the doors that keep what another store had; orders are marked, look-alikes are not; "
        "nothing acts on a page, steers a terminal, forges a line or a formula, or is written elsewhere. Figures are sums "
        "over the doors of a kind.",
        "door",
        {
            "items": "items",
            "secrets": "with secrets",
            "marked": "found marked",
            "kept": "look-alikes kept",
            "refused": "answers that refuse",
            "wrong": "wrong",
        },
        is_summed=True,
    ),
    "claims": Table(
        "What files claim of persons",
        "Files name a person who has no part in them as author, as who verified, locked and decided; half of their dates "
        "lie years ahead. Whatever then shows records is searched for the name. Wrong: it stands without who brought the "
        "file; something is verified, locked, decided or dated ahead for it; an entry of the trail is in that name.",
        "file",
        {
            "files": "files",
            "records": "records",
            "shown": "times that the name was shown, as a claim",
            "wrong": "wrong",
        },
    ),
    "unasked": Table(
        "What is told unasked",
        "An agent, a person and an importer write, confirm, reword and mark memories at random; a quarter of the texts "
        "read as instructions. A model says which of them each door may tell a session: a person's and what a person "
        "confirmed, of the others no rule, none of another project, none that reads as instructions.",
        "door",
        {
            "walks": "walks",
            "texts": "texts",
            "told": "told",
            "withheld": "withheld",
            "wrong": "wrong",
        },
    ),
}
"""The tables, by the name that tests give to `tests.faults.campaign.report`."""


def page() -> list[str]:
    """Return the lines of the page."""
    told = json.loads(FIGURES.read_text(encoding="utf-8")) if FIGURES.exists() else {}
    return [
        OPENING,
        *(
            line
            for name, each in TABLES.items()
            if name in told
            for line in _section(each, told[name])
        ),
    ]


def _section(shown: Table, rows: Mapping[str, Mapping[str, Any]]) -> Iterator[str]:
    days = sorted({row[RUN_ON] for row in rows.values()})
    ran = f"Run on {' and '.join(days)}." if len(days) < 3 else f"Run from {days[0]} to {days[-1]}."
    yield from (f"## {shown.title}", "", f"{shown.text} {ran}", "")
    shown_rows = _sums(rows) if shown.is_summed else rows
    yield from table(
        [shown.row, *shown.columns.values()],
        ([name, *(_figure(row, key) for key in shown.columns)] for name, row in shown_rows.items()),
    )
    yield ""


def _sums(rows: Mapping[str, Mapping[str, Any]]) -> Mapping[str, Mapping[str, Any]]:
    """Return the sums of the figures of each kind of row, by the kind."""
    sums: dict[str, Counter[str]] = {}
    for name, row in rows.items():
        kind = name.partition(":")[0] if ":" in name else name.split()[0]
        sums.setdefault(kind, Counter()).update(
            {key: value for key, value in row.items() if isinstance(value, int)}
        )
    return sums


def _figure(row: Mapping[str, Any], key: str) -> str:
    """Return a cell: a figure by its name, or several in a pattern of names in braces."""
    if "{" not in key:
        return _cell(row.get(key, ""))
    return key.format_map({name: _cell(value) for name, value in row.items()})


def _cell(value: object) -> str:
    match value:
        case int():
            return f"{value:,}"
        case float():
            return f"{value:,.2f}" if value < 10 else f"{value:,.0f}"
        case _:
            return str(value)
