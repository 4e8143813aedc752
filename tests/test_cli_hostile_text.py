"""No stored text steers the terminal, hides, or forges a line, whichever command prints it."""

import json
import re
import shutil
from collections.abc import Iterator, Mapping
from dataclasses import fields, replace
from enum import Enum
from pathlib import Path
from typing import Any

import pytest

from minutebook.cli.opening import made_here
from minutebook.cli.printing import body, shown, style
from minutebook.features.hooks import log as hook_log
from minutebook.features.ledger.decisions import DecisionActs
from minutebook.features.ledger.proposals import Proposals
from minutebook.features.recall_log.recall_log import RecallLog
from minutebook.record.records import SYSTEM_ORGANIZATION, Link, Role
from minutebook.record.writing.decision_drafts import DecisionDraft
from tests.examples import parametrize_in_part
from tests.store import samples
from tests.terminal import Run, leaf_commands

STEER = "\x1b]0;owned\x07\x1b[8m\x00\x7f\x9b2J\u202e\u2066\u200f\u2028\r"
LINE = "\nFORGED line\n"
WORDS = f"kettle {STEER}{LINE}end"
"""What may be stored of any kind; a lone surrogate may in most."""

NAME = WORDS.replace("\0", "")
HALVED = WORDS + "\ud800"
FORBIDDEN = re.compile("[\x00-\x09\x0b-\x1f\x7f-\x9f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069]")
STYLE = re.compile("\x1b\\[(0|1|2|3[1-6])?m")
"""The styles that the command line itself uses."""

KEYS = {"organization", "id", "memory", "project", "source", "target", "session", "digest", "stamp"}


def hostile(record: Any) -> Any:
    """Return the record with the hostile text in every field that holds free text."""
    changed: dict[str, Any] = {}
    for each in fields(record):
        value = getattr(record, each.name)
        if each.name in KEYS or isinstance(value, Enum):
            continue
        if isinstance(value, str):
            changed[each.name] = HALVED
        elif isinstance(value, tuple):
            changed[each.name] = (HALVED, HALVED)
        elif isinstance(value, Mapping):
            changed[each.name] = {HALVED: 1 if each.name == "skipped" else HALVED}
    return replace(record, organization="default", **changed)


def records() -> Iterator[Any]:
    """Yield a record of each kind that a store takes as it is."""
    memory = samples.memory("0" * 20, title="x", reason="x", user="x", metadata={"x": "x"})
    yield hostile(memory)
    yield hostile(samples.memory("1" * 20))
    yield hostile(samples.version("0" * 20, 1, title="x"))
    yield hostile(samples.version("0" * 20, 2, title="x"))
    yield hostile(samples.entity("e", description="x", aliases=("x",)))
    yield hostile(samples.edge(Link, "0" * 20, "1" * 20))
    yield hostile(samples.project("kettle", skipped={"x": 1}, reason="x"))
    yield hostile(replace(samples.project("x", reason="x"), id=HALVED))
    yield hostile(samples.file("f", project="kettle"))
    yield hostile(samples.chunk("c", project="kettle"))
    yield hostile(samples.turn("t", session="s"))
    yield replace(hostile(samples.turn("u")), session=NAME)
    yield hostile(
        samples.summary("summary_s", session="s", technologies=("x",), reasons={"x": "x"})
    )
    yield hostile(replace(samples.summary(f"summary_{NAME}"), session=NAME))
    token = samples.token("2" * 20, bound_repositories=("x",), bound_user="x")
    yield replace(hostile(token), organization=SYSTEM_ORGANIZATION)


@pytest.fixture(scope="module")
def filled(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, dict[str, str]]:
    """A data directory full of hostile text, by a caller of a hostile name; ids of what it holds."""
    home = tmp_path_factory.mktemp("hostile") / "home"
    with made_here({"home": str(home), "embedder": "none"}) as (app, caller):
        asks = replace(caller, name=WORDS, role=Role.ADMIN)
        made = list(records())
        with app.infrastructure.store.transaction(*{record.organization for record in made}):
            for record in made:
                app.infrastructure.store.put(record)
        first = DecisionDraft(WORDS, WORDS, f"because of {WORDS}", (WORDS,))
        old = app.get(DecisionActs).record(asks, first)
        new = app.get(DecisionActs).supersede(asks, (old.id,), first)
        proposed = app.get(Proposals).propose(asks, replace(first, target=WORDS + "2"), ())
        app.status.deprecate(asks, "1" * 20, WORDS)
        app.note_answer(asks, WORDS, WORDS, [(made[0], 0.5)])
        app.get(RecallLog).flush()
        hook_log.append(str(home), client=WORDS, event=WORDS, outcome=WORDS, ms=1, session=WORDS)
    return home, {"decision": new.id, "proposal": proposed.id, "token": "2" * 20}


@pytest.fixture
def ids(run: Run, filled: tuple[Path, dict[str, str]], tmp_path: Path) -> dict[str, str]:
    """The ids of what the store holds, which is the test's own."""
    home, told = filled
    shutil.copytree(home, tmp_path / "home")
    return told


ODD = f"odd\x1b[8m\u202e{LINE}"
MEMORY = "0" * 20
OPENS_NO_STORE = {
    ("demo",): "prints of a store of its own, whose text is ours",
    ("daemon", "restart"): "starts a process, and prints that it did",
    ("daemon", "stop"): "prints the numbers of processes",
}
TYPED: Mapping[tuple[str, ...], list[list[str]]] = {
    ("serve",): [["serve", ODD], ["serve", "--http", ODD]],
    ("ui",): [["ui", "--port", ODD], ["ui", "--role", ODD]],
    ("setup",): [["setup", "--role", ODD]],
    ("help",): [["help", ODD]],
    ("install",): [["install", ODD], ["install", "cursor", "--name", ODD, "--dry-run"]],
    ("export-schema",): [["export-schema", ODD]],
    ("settings",): [["settings", "--agent", ODD], ["settings", "--role", ODD]],
    ("settings", "set"): [
        ["settings", "set", ODD, ODD],
        ["settings", "set", "role", ODD],
        ["settings", "set", "user", ODD],
    ],
    ("settings", "unset"): [["settings", "unset", ODD]],
    ("daemon", "status"): [["daemon", "status"]],
    ("remember",): [
        ["remember", "--system", ODD, "--title", ODD],
        ["remember", ODD, "--type", ODD],
        ["remember", ODD, "--title", ODD, "--tag", ODD, "--metadata", f"{ODD}={ODD}"],
        ["remember", ODD, "--metadata", ODD],
        ["remember", ODD, "--valid-from", ODD],
        ["remember", ODD, "--link", f"{MEMORY}:{ODD}"],
    ],
    ("today",): [["today"], ["today", "--date", ODD], ["today", "--since", ODD]],
    ("search",): [["search", "kettle", "--explain"]],
    ("show",): [
        ["show", MEMORY],
        ["show", MEMORY, "--version", "1"],
        ["show", "decision_"],
        ["show", ODD],
    ],
    ("list",): [["list"], ["list", "--type", ODD], ["list", "--alike"]],
    ("edit",): [["edit", ODD], ["edit", MEMORY, "--to", ODD], ["edit", ODD, "--to", ODD]],
    ("invalidate",): [
        ["invalidate", MEMORY, "--reason", ODD],
        ["invalidate", MEMORY, "--reason", ODD, "--superseded-by", ODD],
    ],
    ("forget",): [["forget", MEMORY], ["forget", "0"], ["forget", ODD]],
    ("undo",): [["undo", "--list"], ["undo", ODD], ["undo", "1"], ["undo", "--yes"]],
    ("check",): [["check", "--diff", ODD], ["check", "--project", ODD]],
    ("why",): [["why", ODD], ["why", f"{ODD}:3"]],
    ("recalls",): [
        ["recalls"],
        ["recalls", "--client", ODD],
        ["recalls", "--session", ODD],
        ["recalls", "--memory", ODD],
    ],
    ("hook",): [["hook"], ["hook", ODD], ["hook", "claude-code", "--event", ODD]],
    ("tidy",): [["tidy"], ["tidy", "--kind", ODD], ["tidy", "--dry-run"]],
    ("tidy", "show"): [["tidy", "show", "1"], ["tidy", "show", ODD]],
    ("tidy", "apply"): [["tidy", "apply", "1", "--reason", ODD], ["tidy", "apply", f"1@{ODD}"]],
    ("tidy", "refuse"): [["tidy", "refuse", ODD]],
    ("tidy", "undo"): [["tidy", "undo", "1", "--reason", ODD], ["tidy", "undo", ODD]],
    ("scan",): [
        ["scan"],
        ["scan", "--json"],
        ["scan", "--reason", ODD],
        ["scan", "--mask", "--reason", ODD],
    ],
    ("erase",): [
        ["erase", MEMORY],
        ["erase", ODD],
        ["erase", "--query", "kettle"],
        ["erase", "--query", "kettle", "--dry-run"],
        ["erase", "--query", ODD, "--dry-run"],
        ["erase", "--session", ODD],
        ["erase", "--check", ODD],
    ],
    ("index",): [["index", ODD], ["index", "odd"]],
    ("code",): [["code", "kettle"], ["code"], ["code", "--delete", ODD]],
    ("decide",): [["decide", "--title", ODD, "--target", ODD, "--rationale", ODD]],
    ("decisions",): [
        ["decisions", "--proposed"],
        ["decisions"],
        ["decisions", "--history", WORDS],
        ["decisions", "--history", ODD],
        ["decisions", "--graph", "mermaid"],
        ["decisions", "--graph", "dot"],
        ["decisions", "--graph", ODD],
    ],
    ("accept",): [["accept", ODD], ["accept", "PROPOSAL"]],
    ("ledger", "secret"): [["ledger", "secret"]],
    ("ledger", "rebuild"): [["ledger", "rebuild"]],
    ("sessions",): [
        ["sessions"],
        ["sessions", "s"],
        ["sessions", NAME],
        ["sessions", ODD],
        ["sessions", "--summarize"],
        ["sessions", ODD, "--summarize"],
    ],
    ("mark",): [
        ["mark", MEMORY, "lock"],
        ["mark", ODD, "verify"],
        ["mark", MEMORY, "deprecate", "--reason", ODD],
        ["mark", MEMORY, ODD],
    ],
    ("link",): [["link", MEMORY, "1" * 20, "--type", ODD], ["link", ODD, ODD]],
    ("audit",): [["audit"], ["audit", "--since", ODD]],
    ("audit", "verify"): [
        ["audit", "verify"],
        ["audit", "verify", "--noted", ODD],
        ["audit", "verify", "--key", ODD],
        ["audit", "verify", "--heads", ODD],
    ],
    ("audit", "head"): [["audit", "head"], ["audit", "head", "--to", "/nowhere/at/all"]],
    ("audit", "key"): [["audit", "key", "--to", "/nowhere/trail.key"]],
    ("audit", "sign"): [["audit", "sign"]],
    ("export",): [["export", ODD], ["export", f"{ODD}/{ODD}"]],
    ("import",): [["import", ODD]],
    ("backup",): [["backup", ODD], ["backup", f"{ODD}/{ODD}"]],
    ("encrypt",): [["encrypt", "--new-key"], ["encrypt", "--off", "--new-key"]],
    ("migrate",): [["migrate", "--to", ODD], ["migrate", "--from", f"postgresql://[{ODD}"]],
    ("notes",): [["notes", "vault"], ["notes", "vault", "--deletions", "keep"], ["notes", ODD]],
    ("sync",): [["sync", ODD], ["sync", "odd"], ["sync", "odd", "--check"]],
    ("store", "distribute"): [["store", "distribute"], ["store", "distribute", "--shards", ODD]],
    ("restore",): [["restore", ODD], ["restore", MEMORY]],
    ("token", "create"): [["token", "create", "--name", ODD], ["token", "create", "--role", ODD]],
    ("token", "list"): [["token", "list"]],
    ("token", "revoke"): [["token", "revoke", "TOKEN"], ["token", "revoke", ODD]],
    ("token", "rotate"): [["token", "rotate", "TOKEN"], ["token", "rotate", ODD]],
    ("status",): [["status"], ["status", ODD], ["status", f"--{ODD}"], [ODD]],
    ("doctor",): [["doctor"]],
    ("where",): [["where"], ["where", "odd"], ["where", ODD], ["where", "odd", "--trust"]],
}
"""What is typed for each command: what shows stored text, and what quotes an argument."""


@pytest.mark.whole
def test_every_command_is_tried() -> None:
    assert {words for words, _ in leaf_commands()} == set(TYPED) | set(OPENS_NO_STORE)


@parametrize_in_part("command", TYPED, ids=" ".join)
def test_no_command_lets_stored_text_steer_the_terminal(
    run: Run, ids: dict[str, str], tmp_path: Path, command: tuple[str, ...]
) -> None:
    (tmp_path / "odd").mkdir()
    (tmp_path / "odd" / ".minutebook.toml").write_text('repository = "odd"\n# \x1b[8m\n')
    (tmp_path / "odd" / "kettle\x1b[8m\u202e.py").write_text("def kettle(): '\x1b[8m\u202e'\n")
    for line in TYPED[command]:
        arguments = [ids.get(each.lower(), each) for each in line]
        for more in ([], ["--json"]):
            result = run(*arguments, *more, color=True, input="n\n")
            assert result.exception is None or isinstance(result.exception, SystemExit)
            printed = STYLE.sub("", result.stdout + result.stderr)
            assert FORBIDDEN.findall(printed) == [], (line, printed)
            assert not re.search("^FORGED", printed, re.MULTILINE), (line, printed)


SHOW = ("list", "show", "search", "decisions", "sessions", "code")


THERE = {words for words, _ in leaf_commands()}


@pytest.mark.parametrize(
    "words",
    [each for each in (*((each,) for each in SHOW), ("token", "list")) if each in THERE],
)
def test_what_is_stored_is_shown_with_escapes(
    run: Run, ids: dict[str, str], words: tuple[str, ...]
) -> None:
    printed = run(*TYPED[words][0]).stdout
    assert r"\x1b[8m" in printed
    assert r"\u202e" in printed


@pytest.mark.needs("audit_proof")
def test_who_did_what_is_shown_without_signs_that_steer(run: Run, ids: dict[str, str]) -> None:
    printed = run(*TYPED[("audit",)][0]).stdout
    assert "owned" in printed
    assert not {"\x1b", "\u202e", "\r"} & set(printed)


def _content(hits: list[dict[str, Any]]) -> Any:
    """The text of the first that is a memory."""
    records = (each["record"] for each in hits)
    return next(each["content"] for each in records if each["kind"] == "memory")


@pytest.mark.parametrize(
    ("arguments", "field"),
    [
        (["list"], lambda told: told["memories"][0]["content"]),
        (["show", MEMORY], lambda told: told["title"]),
        (["search", "kettle", "--limit", "50"], _content),
        pytest.param(
            ["sessions"], lambda told: told[0]["title"], marks=pytest.mark.needs("journal")
        ),
        pytest.param(
            ["sessions", "s"],
            lambda told: told["turns"][0]["thought"],
            marks=pytest.mark.needs("journal"),
        ),
        pytest.param(
            ["code"], lambda told: told[0]["project"]["path"], marks=pytest.mark.needs("code")
        ),
        pytest.param(
            ["code", "kettle"],
            lambda told: told[0]["chunk"]["signature"],
            marks=pytest.mark.needs("code"),
        ),
    ],
)
def test_json_holds_what_was_stored(
    run: Run, ids: dict[str, str], arguments: list[str], field: Any
) -> None:
    assert field(json.loads(run(*arguments, "--json").stdout)) == HALVED


def test_a_long_text_keeps_its_lines_and_tabs_and_a_short_one_shows_them(run: Run) -> None:
    id = run("remember", "first\n\tsecond").output.strip()
    assert f"content         first\n{' ' * 16}\tsecond\n" in run("show", id).output
    assert "first\\n\\tsecond" in shown("first\n\tsecond")
    assert shown(body("first\n\tsecond", "  ")) == "first\n  \tsecond"


def test_only_styles_of_the_command_line_come_through() -> None:
    assert shown(style("plain \x1b[31m", fg="red")) == "\x1b[31mplain \\x1b[31m\x1b[0m"
    assert shown(style("plain")) == "plain"
