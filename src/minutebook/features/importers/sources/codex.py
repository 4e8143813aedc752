"""Sessions of Codex: rollout files, a line of JSON an event, in an envelope or, formerly, bare."""

from collections.abc import Iterator, Mapping
from pathlib import PurePath
from typing import Any

from minutebook.domain.writing.source_drafts import Found, SourcePlace, UnreadPart
from minutebook.features.importers.sources.reading.conversation import (
    Conversation,
    Message,
    modified,
    session_name,
)
from minutebook.features.importers.sources.reading.files import ImportSource, SourceFile, UsualPlace
from minutebook.features.importers.sources.reading.values import (
    instant_of,
    object_at,
    objects_at,
    shown,
    text_at,
)

NAME = "codex"
USUAL_PLACE = UsualPlace("CODEX_HOME", (".codex",), ("sessions",))

_INJECTED = (
    "<environment_context>",
    "<user_instructions>",
    "# AGENTS.md instructions",
    "<INSTRUCTIONS>",
)
"""How messages begin that Codex itself puts before the person's words."""

_OUTPUTS = ("function_call_output", "custom_tool_call_output", "mcp_tool_call_output")


def is_wanted(path: PurePath) -> bool:
    """Tell whether a file is a session."""
    return path.suffix == ".jsonl" and path.name.startswith("rollout-")


def read(source: ImportSource) -> Iterator[Found]:
    """Yield the turns of the sessions, file by file."""
    for file in source.files:
        yield from _Rollout(source, file).turns()


class _Rollout:
    """One file. The person's words stand there twice: as an event, and among the model's items."""

    def __init__(self, source: ImportSource, file: SourceFile) -> None:
        self._source = source
        self._file = file
        name = session_name(file.path.stem.removeprefix("rollout-"))
        self._session = Conversation(NAME, name or file.path.stem, modified(file.modified))
        self._context: dict[str, str] = {}

    def turns(self) -> Iterator[Found]:
        for each in self._source.objects(self._file):
            if isinstance(each, UnreadPart):
                yield each
                continue
            turn = self._heard(*each)
            self._session.context(self._context)
            if turn is not None:
                yield turn
        if (turn := self._session.end()) is not None:
            yield turn

    def _heard(self, number: int, line: Mapping[str, Any]) -> Found | None:
        payload = line.get("payload")
        is_bare = not isinstance(payload, dict)
        item: Mapping[str, Any] = line if not isinstance(payload, dict) else payload
        place = SourcePlace(str(self._file.path), number)
        where = Message(
            f"{self._session.session}#{number}", place, instant_of(line.get("timestamp"))
        )
        match "response_item" if is_bare else line.get("type"):
            case "session_meta":
                self._begin(item)
            case "turn_context":
                self._note(item, "model", "cwd")
            case "event_msg" if item.get("type") == "user_message":
                return self._asked(where, text_at(item, "message"))
            case "response_item":
                if is_bare and "id" in line and "type" not in line:
                    self._begin(line)
                else:
                    return self._item(where, item)
        return None

    def _begin(self, meta: Mapping[str, Any]) -> None:
        # A session that goes on from another repeats its lines, its own heading first.
        if not self._session.version:
            self._session.session = session_name(text_at(meta, "id")) or self._session.session
            self._session.version = text_at(meta, "cli_version")
        self._note(meta, "cwd")
        branch = text_at(object_at(meta, "git"), "branch")
        self._context.update({"branch": branch} if branch else {})

    def _note(self, item: Mapping[str, Any], *names: str) -> None:
        for name in names:
            if value := text_at(item, name):
                self._context["folder" if name == "cwd" else name] = value

    def _asked(self, where: Message, text: str) -> Found | None:
        if not text.strip() or text == self._session.open_prompt:
            return None
        return self._session.prompt(where, text)

    def _item(self, where: Message, item: Mapping[str, Any]) -> Found | None:
        session = self._session
        kind = item.get("type")
        if kind == "message":
            text = "\n\n".join(_texts(item, "content"))
            if item.get("role") == "assistant":
                session.say(where, text)
            elif item.get("role") == "user" and not text.lstrip().startswith(_INJECTED):
                return self._asked(where, text)
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
        return None


def _texts(item: Mapping[str, Any], name: str) -> list[str]:
    """Return the texts of a list of parts; of an image only that there was one."""
    texts = []
    for part in objects_at(item, name):
        if text := text_at(part, "text"):
            texts.append(text)
        elif part.get("type") == "input_image":
            texts.append("[image]")
    return texts
