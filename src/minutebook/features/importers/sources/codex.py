"""Sessions of Codex: rollout files, a line of JSON an event, in an envelope or, formerly, bare."""

import itertools
from collections.abc import Callable, Iterator, Mapping
from datetime import datetime, timedelta
from pathlib import PurePath
from typing import Any

from minutebook.features.importers.sources.reading.conversation import (
    Conversation,
    Message,
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
"""The lines that a fork repeats are written with less than that between them."""

_INJECTED = (
    "<environment_context",
    "<user_instructions",
    "# AGENTS.md instructions",
    "<INSTRUCTIONS",
)
"""How texts begin that Codex itself puts before a prompt, in each session the same."""

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

_Repeats = Callable[[datetime | None, Mapping[str, Any]], bool]
_OUTPUTS = ("function_call_output", "custom_tool_call_output", "mcp_tool_call_output")


def is_wanted(path: PurePath) -> bool:
    """Tell whether a file is a session."""
    return path.suffix == ".jsonl" and path.name.startswith("rollout-")


def read(source: ImportSource) -> Iterator[Found]:
    """Yield the turns of the sessions, file by file."""
    source.fields = ("timestamp", "type", "payload")
    return read_lines(source, lambda file: _Rollout(source, file).hear)


class _Rollout:
    """One file. The person's words stand there twice: as an event, and among the model's items.

    A session that was forked from another begins with that one's lines, behind its own heading.
    """

    def __init__(self, source: ImportSource, file: SourceFile) -> None:
        name = session_name(file.path.stem.removeprefix("rollout-"))
        self._session = Conversation(NAME, name or file.path.stem, file)
        self._source = source
        self._context: dict[str, str] = {}
        self._own = ""
        """The id in the file's own heading, which is its first."""
        self._repeats: _Repeats | None = None
        """Tells of each line behind the heading of a fork whether it is repeated; None from its own first line on."""

    def hear(self, where: Message, line: Mapping[str, Any]) -> Conversation | None:
        """Take in a line; return the session, or None for a line that is another session's."""
        payload = line.get("payload")
        is_bare = not isinstance(payload, dict)
        item: Mapping[str, Any] = line if not isinstance(payload, dict) else payload
        kind = "response_item" if is_bare else line.get("type")
        if kind != "session_meta" and self._repeats and not self._repeats(where.at, item):
            self._session.take_back()
            self._repeats = None
        where = where._replace(key=f"{self._session.session}#{where.key}")
        match kind, item.get("type"):
            case "session_meta", _:
                self._begin(where, item)
            case "turn_context", _:
                self._note(item, "model", "cwd")
            case "event_msg", "user_message":
                self._asked(where, text_at(item, "message"))
            case "event_msg", "thread_rolled_back":
                count = item.get("num_turns")
                self._session.take_back(count if isinstance(count, int) else 0)
            case "response_item", None if is_bare and "id" in line:
                self._begin(where, line)
            case "response_item", _:
                self._item(where, item)
        self._session.context(self._context)
        return None if self._repeats or kind == "session_meta" else self._session

    def _begin(self, where: Message, meta: Mapping[str, Any]) -> None:
        id = text_at(meta, "id")
        forked = text_at(meta, "forked_from_id")
        if not self._own:
            self._own = self._session.session = session_name(id) or self._session.session
            self._session.version = text_at(meta, "cli_version")
        elif session_name(id) != self._own and not self._session.has_turns:
            forked = forked or id
        if forked and not self._session.has_turns and self._repeats is None:
            self._repeats = _repeats_of(forked, where.at, self._source)
        self._note(meta, "cwd")
        branch = text_at(object_at(meta, "git"), "branch")
        self._context.update({"branch": branch} if branch else {})

    def _note(self, item: Mapping[str, Any], *names: str) -> None:
        for name in names:
            if value := text_at(item, name):
                self._context["folder" if name == "cwd" else name] = value

    def _asked(self, where: Message, text: str) -> None:
        said, injected = _PROGRAMS.parted(text)
        if said.strip() and self._session.is_asked(said):
            return
        if said.strip():
            self._session.prompt(where, said)
        if not injected.lstrip().startswith(_INJECTED):
            self._session.tell(where, injected)

    def _item(self, where: Message, item: Mapping[str, Any]) -> None:
        session = self._session
        kind = item.get("type")
        if kind == "message":
            text = "\n\n".join(_texts(item, "content"))
            if item.get("role") == "assistant":
                session.say(where, text)
            elif item.get("role") == "user":
                self._asked(where, text)
        elif kind == "reasoning":
            pieces = [*_texts(item, "summary"), *_texts(item, "content")]
            session.think(where, "\n\n".join(pieces))
        elif kind in ("function_call", "custom_tool_call"):
            session.use(where, text_at(item, "name"), text_at(item, "arguments", "input"))
        elif kind in ("local_shell_call", "web_search_call"):
            session.use(where, str(kind).removesuffix("_call"), shown(item.get("action", "")))
        elif kind in _OUTPUTS:
            output = item.get("output")
            session.result(
                "\n".join(_texts(item, "output")) or shown("" if output is None else output)
            )


def _repeats_of(session: str, at: datetime | None, source: ImportSource) -> _Repeats:
    """Return a test whether a line is one of those of a session that was forked at an instant.

    It compares them with that session's file; where that is not found, the lines that were written
    before the fork or at once with its heading are taken for them.
    """
    lines = _lines_of(session, source)
    first = next(lines, None)
    if first is not None:
        expected = itertools.chain([first], lines)
        return lambda _, item: next(expected, None) == item
    until = at

    def is_written_at_once(at: datetime | None, _: object) -> bool:
        nonlocal until
        if at is None or until is None or at > until + _AT_ONCE:
            return False
        until = max(at, until)
        return True

    return is_written_at_once


def _lines_of(session: str, source: ImportSource) -> Iterator[Any]:
    """Yield the contents of a session's lines, without its headings; nothing if the source has no file of it.

    Of a file alone the others below Codex's folder of sessions are looked at, too.
    """
    folders = [each for each in source.root.parents if each.name == USUAL_PLACE.below[0]]
    around = ImportSource(folders[0], is_wanted) if folders and source.root.is_file() else source
    for file in around.files:
        lines = (each[1] for each in around.objects(file) if not isinstance(each, UnreadPart))
        first = next(lines, {})
        if session in (text_at(object_at(first, "payload"), "id"), text_at(first, "id")):
            for line in lines:
                if line.get("type") != "session_meta":
                    yield line.get("payload", line)
            return


def _texts(item: Mapping[str, Any], name: str) -> list[str]:
    """Return the texts of a list of parts; of an image only that there was one."""
    texts = []
    for part in objects_at(item, name):
        if text := text_at(part, "text"):
            texts.append(text)
        elif part.get("type") == "input_image":
            texts.append("[image]")
    return texts
