"""Writes `docs/reliability.md` from the figures that `make faults` kept in `docs/reliability.json`."""

import json
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

What was broken on purpose, how often, and what was lost. `make faults` runs these tests in their long form
(`tests/faults/`, hours on two cores) and writes the figures below; `.ci/run` runs the short form of each. A row is from
the last long run of its test, on the day that it names. A run that finds something keeps no row: what it found is mended first,
so zeros are what a run must show to be here. Flushes are made as always, but no power is cut: what a disk
loses of what it said it kept is not tested. Times are of a shared machine under load.
"""


@dataclass(frozen=True, slots=True)
class Table:
    """A table of the page: what it shows, what its rows are, and the columns, each with the figure's name and its head."""

    title: str
    text: str
    row: str
    columns: Mapping[str, str]


TABLES: Mapping[str, Table] = {
    "calls": Table(
        "Each call on a file fails",
        "In each use case, each call of SQLite, Git and Python on a file of the data directory fails: "
        "once, or from then on (a full disk, no permission, no file descriptor). Of like calls on one file four fail. After "
        "each step: an error in our words, or what was asked for; all of it or nothing of it there; the same call again "
        "succeeds, and a read is right; store, trail, ledger and folder hold what `tests/faults/invariants.py` says.",
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
        "The same on PostgreSQL: the server itself ends the connection before a statement, or after a commit and before its "
        "answer, or raises an error in its place. Of each use case three statements fail, others in each run.",
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
        "Callers of two organizations, with tokens of every reach and role and at the machine's command line, do at "
        "random what tools, resources, completions, REST operations and commands offer. A model of the policy says what "
        "each may see and change; every answer, every text in it and every change in the store is compared with it. After each 100 steps "
        "`audit verify` must be whole, and its fingerprints cover every record. "
        "What is about a record out of sight is asked a second time about nothing: both answers must be the same.",
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
        "Of each kind of act that was asked 50 times or more, the median time of the answers about what is not the caller's, divided by "
        "that about what is not there. So who has an id from elsewhere can tell by many questions whether there is a record; ids "
        "themselves are not to be guessed: a memory's has 55 random bits.",
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
        "Calls of every tool with arguments drawn from its schema and beyond it, and messages that break the "
        "protocol. A refused call must leave the digest of the whole store as it was; no answer may hold a stack trace "
        "or a path of the machine. Memory is the resident set of the server's process in MiB.",
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
        "Clients over stdio start together on nothing, and each writes 200 records while it reads. Those of Minutebook are "
        "served by the daemon and in processes of their own by turns; they write memories, entities, relations, turns, "
        "decisions and proposals by the five contracts, beside a server of an earlier version, which refuses each call "
        "in plain words. The others write entities, all that they know. Nobody tries again. Lost, twice: of what was acknowledged; unreadable: "
        "lines of the file. Minutebook's store then holds all that the table below lists.",
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
        "A program is killed before a random one of its steps (a write, flush or cut of the database's files, a flush or "
        "rename of another file, a transaction, a step of Git), and each third time at a random instant. After each "
        "kill the store is opened as a start does: what was acknowledged is there once, the trail holds and has a fingerprint of every "
        "record as it is (`audit verify`), the ledger's "
        "tables and Git agree (`git fsck --strict`), `doctor` finds nothing, nothing is left over or locked, and it can be "
        "written; what the program was at is ended by its next run. A restore that is killed between its renames leaves the "
        "old store without its ledger, which `doctor` says, until the next restore. A sync is killed on one of two machines that edit, decide and erase; "
        "after the last kill both end equal, with nothing lost, no piece of what was erased, and `audit verify` and `doctor` content.",
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
        "Two or three machines, each with a store, meet in a folder; on each somebody does at random, 120 times in all, what changes "
        "records: stores, edits, supersedes, links, locks, deletes, erases, decides, converses, tidies and takes that back, imports archives, "
        "brings back backups, syncs. In the second row the folder loses files, or their ends, and is brought back to an earlier state. After each act `audit verify` must be whole on its machine; after the last all sync, and then must "
        "hold the same records, with `audit verify`, `sync --check` and `doctor` content on each.",
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
        "A server of 1,000 memories has a core of the machine for itself; on the other, 48 tasks with one token flood it, and somebody "
        "with another token calls beside them: a search by words, a write, a ping, in turn. Times are milliseconds. Idle: the same calls, while the "
        "same tasks flood a server that does nothing. The limit on requests a second is off, so that only the fairness of the server counts. "
        "Times: the median of three rounds' ratios of p99, at most 3 is wanted. Answered, refused: of the flood, where it is one of calls.",
        "flood",
        {
            "answered": "answered",
            "refused": "refused",
            "search calls": "calls of each",
            "search idle": "search: p99 idle",
            "search p99": "search: p99 flooded",
            "search ratio": "search: times",
            "write idle": "write: p99 idle",
            "write p99": "write: p99 flooded",
            "write ratio": "write: times",
            "ping idle": "ping: p99 idle",
            "ping p99": "ping: p99 flooded",
            "ping ratio": "ping: times",
        },
    ),
    "floods cpu": Table(
        "Floods, by the server's processor time",
        "Of the same calls, the processor time that the server used between question and answer, for whomever: what another caller's "
        "work adds on a machine whose other work does not count. All: of the whole flood, for each of the other's calls.",
        "flood",
        {
            "search idle p50": "search: p50 idle",
            "search p50": "search: p50 flooded",
            "search idle": "search: p99 idle",
            "search p99": "search: p99 flooded",
            "write idle p50": "write: p50 idle",
            "write p50": "write: p50 flooded",
            "write idle": "write: p99 idle",
            "write p99": "write: p99 flooded",
            "ping idle p50": "ping: p50 idle",
            "ping p50": "ping: p50 flooded",
            "ping idle": "ping: p99 idle",
            "ping p99": "ping: p99 flooded",
            "spent": "all",
        },
    ),
    "damage": Table(
        "Files that are damaged",
        "A file of a data directory that a process left without closing it: a bit or byte flipped, a page of zeros or "
        "noise, torn, longer, empty. A process then opens, reads, searches, writes and runs `minutebook doctor`, in 60 s. "
        "Told: an error or a finding. Harmless: the same records and the same answers. Cut short: of a log that ends too soon the "
        "last writes are not read, and nothing tells it from what a crash leaves of a write that nobody acknowledged.",
        "part",
        {"damaged": "damaged", "told": "told", "harmless": "harmless", "cut": "cut short"},
    ),
    "edits": Table(
        "Edits past the trail",
        "Each column of each table that the database itself names is changed by SQL in one row, a row taken out, and a copy of one "
        "put in under another id. Found: by `audit verify` or `doctor`. Listed: what `audit verify` says that it does not compare.",
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
        "Five callers open sessions on one server as fast as they can; in some of them one resource more is watched than a "
        "session may. What is held is what is promised; the rest is refused with the reason. The probe is another "
        "caller's call meanwhile, the worst of 20.",
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
        "Arguments of every operation, with `-`, paths and values drawn at random among them, are posted to a server's "
        "`/operations` and to a daemon's socket. On the server's stdin a line waits, in the folder named a file with a secret text. "
        "Every post is answered within 20 s; nothing of the line or the file is in an answer, the line stays unread, and no file "
        "is made or changed beside the store's own.",
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
        "Each labelled text in `tests/faults/hostile/` goes in by each door, and a tenth of them again with "
        "`redact = mask`. They come out by tools, pages, the terminal, five forms of export, the context of hooks and the log; the "
        "data directory is searched for the bytes of what was masked. Secrets are masked or named as the setting says, except by the doors "
        "that keep what another store had; what is labelled so is marked as instructions, look-alikes come out as they were and "
        "unmarked; nothing acts on a page, steers a terminal, forges a line or a formula, or is written elsewhere.",
        "door",
        {
            "items": "items",
            "secrets": "with secrets",
            "marked": "found marked",
            "kept": "look-alikes kept",
            "refused": "answers that refuse",
            "wrong": "wrong",
        },
    ),
    "claims": Table(
        "What files claim of persons",
        "Files name a person who has no part in them as the author of all that they hold, as who verified, locked and decided it; half of their "
        "dates lie years ahead. All that pages, commands, tools, resources, hooks, exports and the Python API then show is searched for the name. "
        "Wrong: it stands somewhere without who brought the file or committed it; something is verified, locked, decided, a person's, or dated ahead "
        "for it; an entry of the trail is in that name. A note in a folder is the edit of the person whose folder it is, and names nobody else.",
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
        "An agent, a person and an importer write, confirm, reword, retype and mark memories at random in an open store, in which the agent may "
        "write any status and system scope; a quarter of the texts read as instructions. A model says which of them each door may tell a "
        "session in one of two projects: a person's and what a person confirmed; of the others no rule, none of another project or of "
        "none, and none that reads as instructions. Withheld: texts that the session may see by asking. Wrong: told or withheld otherwise "
        "than the model says; before a prompt, where relevance decides too, told otherwise.",
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
    yield from (f"## {shown.title}", "", shown.text, "")
    heads = [shown.row, *shown.columns.values(), RUN_ON]
    yield from table(
        heads,
        (
            [name, *(_cell(row.get(key, "")) for key in (*shown.columns, RUN_ON))]
            for name, row in rows.items()
        ),
    )
    yield ""


def _cell(value: object) -> str:
    match value:
        case int():
            return f"{value:,}"
        case float():
            return f"{value:,.2f}" if value < 10 else f"{value:,.0f}"
        case _:
            return str(value)
