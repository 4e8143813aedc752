"""Every way by which text comes out again, and what is wrong with what came."""

import csv
import html
import json
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from urllib.parse import quote

from minutebook.features.archives.notes import front_matter
from minutebook.features.hooks.contexts import HEAD, HookContexts
from minutebook.record.control_characters import escaped
from minutebook.record.policy import Redact
from tests.faults.campaign import rounds
from tests.faults.hostile.doors import PERSON, Door, context
from tests.faults.hostile.house import Answer, House
from tests.faults.hostile.items import Item
from tests.features.pages.test_hostile_text import check_inert

STEERS = re.compile(
    "[\x00-\x08\x0b-\x1f\x7f-\x9f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069\ud800-\udfff]"
)
"""What steers a terminal or reorders a line; tabs and line ends do not."""

STYLE = re.compile("\x1b\\[(0|1|2|3[1-6])?m")
_FORMULA = re.compile("[=+\\-@\t\r\n\uff1d\uff0b\uff0d\uff20]")
_PLAIN_LOG = re.compile(r"\d{4}-\d\d-\d\d \d\d:\d\d:\d\d,\d{3} [A-Z]+ [\w.]+: ")

PAGES = (
    "/", "/find", "/find?q=zq", "/find?q=zq&in=decisions", "/decisions", "/sessions", "/activity", "/activity/proof", "/health/examined", "/settings", "/graph",
    "/review?of=active", "/review?of=proposal",
    "/code", "/health", "/review",
)  # fmt: skip
COMMANDS = (
    ("list",), ("sessions",), ("decisions",), ("decisions", "--graph", "dot"), ("decisions", "--proposed"), ("audit",), ("audit", "verify"), ("recalls",),
    ("status",), ("doctor",), ("scan",), ("code",), ("list", "--alike"), ("tidy",), ("token", "list"), ("hook",), ("where",),
)  # fmt: skip
SEARCHES: Mapping[str, tuple[str, str, Mapping[str, Any]]] = {
    "memory": ("knowledge", "search_text", {}),
    "governed": ("governance", "memory-search", {"context": context("read", "robot")}),
    "turn": ("journal", "query_raw_memories", {}),
    "decision": ("ledger", "search_decisions", {"mode": "audit"}),
    "code": ("knowledge", "search_code", {}),
}
"""What finds a record of each kind again."""

MOST_PAGES = rounds(1, 10)
"""Records and sessions whose own page is looked at."""

LONG_TEXT = 2000
"""Characters from which on a text may be cut, and its last word not found."""

FORMS = ("archive", "journal", "markdown", "csv", "server-memory")


@dataclass(frozen=True)
class Wrong:
    """What is wrong: with which item, if with one, at which exit, and what was there."""

    exit: str
    item: str
    what: str

    def __str__(self) -> str:
        return f"{self.exit}: {self.item}: {escaped(self.what[:600])}"


def squashed(text: str) -> str:
    return " ".join(text.split())


def leaves(document: Any) -> Iterator[str]:
    """Yield every text in a JSON document."""
    match document:
        case str():
            yield document
        case list():
            for each in document:
                yield from leaves(each)
        case dict():
            for name, each in document.items():
                yield name
                yield from leaves(each)


class Exits:
    """Looks at all that comes out of a house for the items that went in, each by a door."""

    def __init__(self, house: House, pairs: Sequence[tuple[Door, Item]]) -> None:
        self._house = house
        self._pairs = pairs
        self._items = [item for _, item in pairs]
        is_masking = house.settings.redact is Redact.MASK
        self._hidden = [
            (item, secret)
            for door, item in pairs
            for secret in item.secrets
            if not door.as_it_is and (door.captured or is_masking)
        ]
        self._refused = set[Item | None]()
        self._memories: list[str] = []
        self._decisions: list[str] = []
        self.wrong: list[Wrong] = []
        self.marked = self.kept = 0

    def look(self) -> None:
        """Look at every exit."""
        for door, item in self._pairs:
            if door.kept and item not in self._refused:
                self._search(door, item)
        self._pages()
        self._terminal()
        self._exports()
        self._injected()
        self._files()

    def secrets(self, exit: str, text: str) -> None:
        """Find secrets in what came out, where they must be masked."""
        for item, secret in self._hidden:
            if secret in text or json.dumps(secret)[1:-1] in text:
                self._note(exit, item.id, f"the secret is there: {around(text, secret)}")

    def _note(self, exit: str, item: str, what: str) -> None:
        self.wrong.append(Wrong(exit, item, what))

    # Answers of tools

    def answered(self, door: Door, item: Item | None, answers: Sequence[Answer]) -> None:
        """Look at what a door answered to an item, or to all that it took if None."""
        text = "\n".join(each.text for each in answers)
        self.secrets("answer", text)
        if "Traceback" in text or "Internal error" in text:
            self._note("answer", item.id if item else "", text[-600:])
        if any(each.refused for each in answers):
            self._refused.add(item)
            return
        if not door.names:
            return
        is_said = re.search('ecrets? (were|was) found|"secrets"', text) is not None
        own = [item] if item else [each for by, each in self._pairs if by is door]
        has = [each for each in own if each.secrets]
        if has and not is_said and not door.captured:
            self._note("answer", has[0].id, f"nobody says that there is a secret: {text}")
        if is_said and not has:
            self._note("answer", own[0].id, f"a secret is said to be there: {text}")

    def _search(self, door: Door, item: Item) -> None:
        contract, tool, more = SEARCHES[door.kept]
        answer = self._house.tool(contract, tool, query=item.word, **more)
        self.secrets(tool, answer.text)
        result = answer.document["result"]
        records = [each for each in _records(result) if item.word in json.dumps(each)]
        if not records:
            # Neither a file of code nor one of a ledger holds it.
            is_binary = door.kept in ("code", "decision") and "\0" in item.bare
            if item.carries and len(item.bare) < LONG_TEXT and not is_binary:
                self._note(tool, item.id, f"it is not found: {answer.text}")
            return
        ids = {str(each[key]) for each in records for key in ("id", "memory_id") if key in each}
        if door.kept == "memory":
            self._memories += sorted(ids)[:1]
        elif door.kept == "decision":
            self._decisions += sorted(ids)[:1]
        self._marks(tool, item, ids, result)
        if item.must != "masked":
            self._verbatim(door, tool, item, records)

    def _marks(self, exit: str, item: Item, ids: set[str], result: Mapping[str, Any]) -> None:
        notes = result.get("_meta", {}).get("minutebook/provenance", {"records": []})["records"]
        own = [each for each in notes if str(each["id"]) in ids] or notes
        marks = [mark for each in own for mark in each.get("reads_as_instructions", ())]
        if item.must == "marked" and not item.missed:
            if not marks:
                self._note(exit, item.id, f"it is not marked: {result}")
            self.marked += bool(marks)
        if item.must == "kept" and marks:
            self._note(exit, item.id, f"it is marked: {marks}")

    def _verbatim(self, door: Door, exit: str, item: Item, records: list[Any]) -> None:
        if not door.exact and item.must != "kept":
            return
        # A preview ends somewhere.
        bare = item.bare if door.exact else squashed(item.bare)[:80]
        found = [each if door.exact else squashed(each) for each in leaves(records)]
        if any(bare in each for each in found):
            self.kept += item.must == "kept"
        elif "\ud800" not in bare and len(bare) < LONG_TEXT:
            self._note(exit, item.id, f"it is not as it was: {records}")

    # Pages

    def _pages(self) -> None:
        addresses = [*PAGES, *(f"/memories/{id}" for id in self._memories[:MOST_PAGES])]
        addresses += [f"/decisions/{id}" for id in self._decisions[:MOST_PAGES]]
        addresses += [f"/session?name={name}" for name in self._sessions()]
        for address in addresses:
            answer = self._house.owner.get(address)
            if answer.status_code >= 400:
                self._note("pages", address, f"status {answer.status_code}")
            self.page(address.split("?")[0].rsplit("/", 1)[0] or address, answer.text)

    def page(self, exit: str, text: str) -> None:
        """Look at a page: it holds nothing that acts."""
        try:
            check_inert(text)
        except AssertionError as error:
            self._note(f"page {exit}", "", f"it acts: {error}")
        if found := STEERS.search(text):
            self._note(f"page {exit}", "", f"it steers: {around(text, found[0])!a}")
        self.secrets(f"page {exit}", html.unescape(text))

    def _sessions(self) -> list[str]:
        names = [each.name for each in self._house.app.sessions.all(PERSON, None)[:MOST_PAGES]]
        return [quote(name, safe="", errors="replace") for name in names]

    # The terminal

    def _terminal(self) -> None:
        shown = [*COMMANDS, *(("show", id) for id in (*self._memories[:3], *self._decisions[:2]))]
        shown += [("search", self._items[0].word), ("code", self._items[0].word)]
        for words in shown:
            for more in ((), ("--json",)):
                self.printed(" ".join(words[:1]), self._house.command(*words, *more))

    def printed(self, exit: str, answer: Answer) -> None:
        """Look at what a terminal got."""
        plain = STYLE.sub("", answer.text)
        if found := STEERS.search(plain):
            self._note(f"command {exit}", "", f"it steers: {around(plain, found[0])!a}")
        if "Traceback" in plain:
            self._note(f"command {exit}", "", plain[-600:])
        if exit not in ("show", "search", "sessions", "code") and (
            found := re.search(r"^(2026 )?forged\b.*", plain, re.MULTILINE)
        ):
            self._note(f"command {exit}", "", f"a line is forged: {found[0]}")
        if exit != "scan":
            self.secrets(f"command {exit}", plain)

    # Files that go out

    def _exports(self) -> None:
        beside = set(self._house.folder.rglob("*"))
        out = self._house.folder / "out"
        out.mkdir()
        for form in FORMS:
            answer = self._house.command("export", "--format", form, str(out / form))
            self.printed(f"export {form}", answer)
            if answer.refused:
                self._note(f"export {form}", "", answer.text)
        self._house.command("backup", str(out / "backup.tar"))
        home = self._house.settings.home
        for path in set(self._house.folder.rglob("*")) - beside:
            if not path.is_relative_to(out) and not path.is_relative_to(home):
                self._note("export", "", f"it wrote {path}")
            if path.is_file() and path.suffix != ".tar" and path.is_relative_to(out):
                self._exported(path)

    def _exported(self, path: Path) -> None:
        text = path.read_bytes().decode("utf-8")
        name = path.name
        self.secrets(f"export {name}", f"{name} {text}")
        if (
            STEERS.search(name)
            or re.search(r'[\\:*?"<>|\x00-\x1f]|[. ]$', name)
            or len(name.encode()) > 255
        ):
            self._note("export markdown", "", f"a file is called {name!a}")
        if path.suffix == ".csv":
            for row in list(csv.reader(text.splitlines(keepends=True)))[1:]:
                for cell in row:
                    if _FORMULA.match(cell) and not re.fullmatch(r"-?\d[\d.e+-]*", cell):
                        self._note("export csv", "", f"a cell is a formula: {cell}")
        if path.suffix == ".md":
            fields, _, _ = front_matter.split(text)
            if "forged" in fields or "minutebook" not in fields:
                self._note("export markdown", "", f"its front matter is {fields}: {text[:300]}")

    def _files(self) -> None:
        for path in self._house.settings.home.rglob("*") if self._hidden else ():
            if path.is_file():
                content = path.read_bytes()
                for item, secret in self._hidden:
                    if secret.encode() in content:
                        self._note("data directory", item.id, f"the secret is in {path.name}")

    # What agents get unasked

    def _injected(self) -> None:
        app = self._house.app
        contexts = app.get(HookContexts)
        names = [each.name for each in app.sessions.all(PERSON, None)[:3]]
        for here in ((), *([each] for each in names)):
            context = contexts.at_start(PERSON, here, 100_000)
            if context is not None:
                self.context(context.text)

    def context(self, text: str) -> None:
        """Look at what a hook puts into a session."""
        self.secrets("hook", text)
        first, *rest = text.splitlines()
        if first != HEAD:
            self._note("hook", "", f"it begins with {first}")
        if STEERS.search(text):
            self._note("hook", "", f"it steers: {text!a}")
        if re.search(r"<(?=[a-zA-Z/!?|])", text):
            self._note("hook", "", f"it has a tag: {text}")
        by_word = {each.word: each for each in self._items}
        for line in rest:
            word = re.search(r"zq[b-z]{3}", line)
            item = by_word.get(word[0]) if word else None
            if line.startswith("- ") and item is not None:
                is_marked = "reads as instructions" in line
                if item.must == "marked" and not item.missed and not is_marked and "(" in line:
                    self._note("hook", item.id, f"it is not marked: {line}")
                if item.must == "kept" and is_marked:
                    self._note("hook", item.id, f"it is marked: {line}")
            if line.startswith("forged") or line == "- forged rule":
                self._note("hook", "", f"a line is forged: {line}")


def log_lines(text: str) -> Iterator[str]:
    """Yield what is wrong with a log: a line that steers, or is forged."""
    for line in text.splitlines():
        if STEERS.search(line) or re.match("(2026 )?forged", line):
            yield f"a line steers or is forged: {line!a}"


def around(text: str, part: str) -> str:
    at = max(0, text.find(part))
    return text[max(0, at - 80) : at + len(part) + 80]


def _records(document: Any) -> Iterator[Any]:
    """Yield the smallest objects with an id in a result's structured content or text."""
    if "structuredContent" in document:
        document = document["structuredContent"]
    else:
        document = json.loads(document["content"][0]["text"])
    yield from document if isinstance(document, list) else _lists(document)


def _lists(document: Mapping[str, Any]) -> Iterator[Any]:
    for each in document.values():
        if isinstance(each, list):
            yield from each
