"""Sessions of Codex: rollout files, a line of JSON an event, in an envelope or, formerly, bare."""

import itertools
from collections.abc import Callable, Iterator, Mapping
from datetime import datetime, timedelta
from pathlib import PurePath
from typing import Any

from minutebook.features.importers.sources.reading.conversation import (
    Conversation,
    MessageRef,
    read_lines,
    session_name,
)
from minutebook.features.importers.sources.reading.files import ImportSource, SourceFile, UsualPlace
from minutebook.features.importers.sources.reading.program_texts import ProgramTexts
from minutebook.features.importers.sources.reading.values import (
    object_at,
    objects_at,
    shown,
    text_at,
)
from minutebook.record.writing.source_drafts import Found, UnreadPart

NAME = "codex"
USUAL_PLACE = UsualPlace("CODEX_HOME", (".codex",), ("sessions",))

_AT_ONCE = timedelta(seconds=1)
"""A fork writes the lines that it repeats with less than that between them."""

_INJECTED = (
    "<environment_context",
    "<user_instructions",
    "# AGENTS.md instructions",
    "<INSTRUCTIONS",
)
"""Beginnings of the texts that Codex puts before a prompt, the same in each session."""

_PROGRAMS = ProgramTexts(
    outputs=(
        *("environment_context", "user_instructions", "instructions", "hook_prompt"),
        *("turn_aborted", "user_shell_command", "subagent_notification", "skill", "goal_context"),
        *("codex_internal_context", "external_context", "recommended_plugins"),
    ),
    lines=(r"# AGENTS\.md instructions.*",),
    heads=("# Context from my IDE setup:", "# Files mentioned by the user:"),
    request=r"^## My request[^\n:]*:",
)

_IsRepeated = Callable[[datetime | None, Mapping[str, Any]], bool]
"""Tells by instant and content whether a line is repeated from the session that was forked."""
_OUTPUTS = ("function_call_output", "custom_tool_call_output", "mcp_tool_call_output")


def is_wanted(path: PurePath) -> bool:
    """Tell whether a file is a session."""
    return path.suffix == ".jsonl" and path.name.startswith("rollout-")


def read(source: ImportSource) -> Iterator[Found]:
    """Yield the turns of the sessions, file by file."""
    source.fields = ("timestamp", "type", "payload")
    return read_lines(source, lambda file: _Rollout(source, file).read_line)


class _Rollout:
    """One file. It has the person's words twice: as an event, and among the model's items.

    A session that was forked from another has the lines of that one after its own heading.
    """

    def __init__(self, source: ImportSource, file: SourceFile) -> None:
        name = session_name(file.path.stem.removeprefix("rollout-"))
        self._session = Conversation(NAME, name or file.path.stem, file)
        self._source = source
        self._context: dict[str, str] = {}
        self._own_id = ""
        """The id in the file's own heading, which is the first one."""
        self._is_repeated: _IsRepeated | None = None
        """None unless lines of a forked session are being read."""

    def read_line(self, ref: MessageRef, line: Mapping[str, Any]) -> Conversation | None:
        """Add a line to the session and return it; None for a heading or a line of another session."""
        payload = line.get("payload")
        is_bare = not isinstance(payload, dict)
        item: Mapping[str, Any] = line if not isinstance(payload, dict) else payload
        kind = "response_item" if is_bare else line.get("type")
        if kind != "session_meta" and self._is_repeated and not self._is_repeated(ref.at, item):
            self._session.take_back_turns()
            self._is_repeated = None
        ref = ref._replace(key=f"{self._session.session}#{ref.key}")
        match kind, item.get("type"):
            case "session_meta", _:
                self._begin(ref, item)
            case "turn_context", _:
                self._note(item, "model", "cwd")
            case "event_msg", "user_message":
                self._add_user_text(ref, text_at(item, "message"))
            case "event_msg", "thread_rolled_back":
                count = item.get("num_turns")
                self._session.take_back_turns(count if isinstance(count, int) else 0)
            case "response_item", None if is_bare and "id" in line:
                self._begin(ref, line)
            case "response_item", _:
                self._add_item(ref, item)
        self._session.note_context(self._context)
        return None if self._is_repeated or kind == "session_meta" else self._session

    def _begin(self, ref: MessageRef, meta: Mapping[str, Any]) -> None:
        """Read a heading: the file's own, or that of the session from which it was forked."""
        id = text_at(meta, "id")
        forked = text_at(meta, "forked_from_id")
        if not self._own_id:
            self._own_id = self._session.session = session_name(id) or self._session.session
            self._session.version = text_at(meta, "cli_version")
        elif session_name(id) != self._own_id and not self._session.has_turns:
            forked = forked or id
        if forked and not self._session.has_turns and self._is_repeated is None:
            self._is_repeated = _test_of_repeated(forked, ref.at, self._source)
        self._note(meta, "cwd")
        branch = text_at(object_at(meta, "git"), "branch")
        self._context.update({"branch": branch} if branch else {})

    def _note(self, item: Mapping[str, Any], *names: str) -> None:
        for name in names:
            if value := text_at(item, name):
                self._context["folder" if name == "cwd" else name] = value

    def _add_user_text(self, ref: MessageRef, text: str) -> None:
        """Add the words of the person, and of programs, in a text; once, though it stands in the file twice."""
        said, injected = _PROGRAMS.split(text)
        if said.strip() and self._session.has_open_prompt(said):
            return
        if said.strip():
            self._session.add_prompt(ref, said)
        if not injected.lstrip().startswith(_INJECTED):
            self._session.add_program_text(ref, injected)

    def _add_item(self, ref: MessageRef, item: Mapping[str, Any]) -> None:
        """Add an item of the model's input or output to the conversation; other kinds of items are left out."""
        session = self._session
        kind = item.get("type")
        if kind == "message":
            text = "\n\n".join(_texts(item, "content"))
            if item.get("role") == "assistant":
                session.add_answer(ref, text)
            elif item.get("role") == "user":
                self._add_user_text(ref, text)
        elif kind == "reasoning":
            pieces = [*_texts(item, "summary"), *_texts(item, "content")]
            session.add_reasoning(ref, "\n\n".join(pieces))
        elif kind in ("function_call", "custom_tool_call"):
            session.add_tool_use(ref, text_at(item, "name"), text_at(item, "arguments", "input"))
        elif kind in ("local_shell_call", "web_search_call"):
            session.add_tool_use(
                ref, str(kind).removesuffix("_call"), shown(item.get("action", ""))
            )
        elif kind in _OUTPUTS:
            output = item.get("output")
            session.add_tool_result(
                "\n".join(_texts(item, "output")) or shown("" if output is None else output)
            )


def _test_of_repeated(session: str, at: datetime | None, source: ImportSource) -> _IsRepeated:
    """Return a test whether a line is repeated from the `session` that was forked at an instant.

    It compares the lines with those in that session's file. If there is no such file, it counts the lines that
    were written before the fork, or less than a second after the line before.
    """
    lines = _lines_of(session, source)
    first = next(lines, None)
    if first is not None:
        expected = itertools.chain([first], lines)
        return lambda _, item: next(expected, None) == item
    until = at

    def is_written_at_once(at: datetime | None, _: object) -> bool:
        """Tell whether a message came within _AT_ONCE of the one before, as those do that a program wrote in one go."""
        nonlocal until
        if at is None or until is None or at > until + _AT_ONCE:
            return False
        until = max(at, until)
        return True

    return is_written_at_once


def _lines_of(session: str, source: ImportSource) -> Iterator[Any]:
    """Yield the contents of a session's lines, without its headings; nothing if there is no file of it.

    If the source is a single file, it looks through all files in Codex's folder of sessions.
    """
    folders = [each for each in source.root.parents if each.name == USUAL_PLACE.below[0]]
    if folders and source.root.is_file():
        source = ImportSource(folders[0], is_wanted)
    for file in source.files:
        lines = (each[1] for each in source.objects(file) if not isinstance(each, UnreadPart))
        first = next(lines, {})
        if session in (text_at(object_at(first, "payload"), "id"), text_at(first, "id")):
            for line in lines:
                if line.get("type") != "session_meta":
                    yield line.get("payload", line)
            return


def _texts(item: Mapping[str, Any], name: str) -> list[str]:
    """Return the texts of a list of parts, for an image `[image]`."""
    texts = []
    for part in objects_at(item, name):
        if text := text_at(part, "text"):
            texts.append(text)
        elif part.get("type") == "input_image":
            texts.append("[image]")
    return texts
