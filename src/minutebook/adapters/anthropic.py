"""A memory behind the memory tool of Anthropic's API: files below a virtual `/memories`.

A file is a memory: its content the text, its path the key, so that each edit is a version, on the trail. A
folder is there as long as a file lies in it. Nothing of a disk can be reached.
"""

import asyncio
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any
from urllib.parse import unquote

from minutebook.adapters.extras import needing
from minutebook.ask import Memory, Minutebook, MinutebookError, NotFound

with needing("anthropic", "anthropic"):
    from anthropic.lib.tools import BetaAbstractMemoryTool, BetaAsyncAbstractMemoryTool, ToolError
    from anthropic.types.beta import (
        BetaMemoryTool20250818Command,
        BetaMemoryTool20250818CreateCommand,
        BetaMemoryTool20250818DeleteCommand,
        BetaMemoryTool20250818InsertCommand,
        BetaMemoryTool20250818RenameCommand,
        BetaMemoryTool20250818StrReplaceCommand,
        BetaMemoryTool20250818ViewCommand,
    )

ROOT = "/memories"
_PAGE = 1_000
_LEVELS = 2
_MOST_LINES = 999_999
_NUMBER_WIDTH = len(str(_MOST_LINES))
_UNITS = "BKMG"


@dataclass(frozen=True, slots=True)
class _File:
    """A file: its normalized path, its content, and the id of the memory that has both."""

    path: str
    content: str
    id: str

    @property
    def size(self) -> int:
        """Bytes of the content."""
        return len(self.content.encode("utf-8", "surrogatepass"))


class MinutebookMemoryTool(BetaAbstractMemoryTool):
    """The memory tool, for `client.beta.messages.tool_runner(tools=[…])`; answers as the SDK's own do.

    `name` keeps the files of several tools in one memory apart. Raises ToolError, which the model reads.
    """

    def __init__(self, memory: Minutebook, *, name: str = "anthropic", **more: Any) -> None:
        """Take over `cache_control` for the SDK."""
        super().__init__(**more)
        self._memory = memory
        self._name = name

    def execute(self, command: BetaMemoryTool20250818Command) -> Any:
        """Do a command. Raises ToolError if it cannot be done, also if the memory refuses it."""
        try:
            return super().execute(command)
        except MinutebookError as error:
            raise ToolError(str(error)) from error

    def view(self, command: BetaMemoryTool20250818ViewCommand) -> str:
        """Show a file with line numbers, or a folder two levels deep. Raises ToolError if there is none."""
        path = _normalized(command.path)
        file = self._find(path)
        if file is not None:
            return _numbered(command.path, file.content, command.view_range)
        below = list(self._below(path))
        if not below and path != ROOT:
            raise ToolError(f"The path {command.path} does not exist. Please provide a valid path.")
        return _listed(command.path, path, below)

    def create(self, command: BetaMemoryTool20250818CreateCommand) -> str:
        """Make a file. Raises ToolError if there is one, or a folder."""
        path = _normalized(command.path)
        self._check_free(path, f"File {command.path} already exists")
        self._write(path, command.file_text)
        return f"File created successfully at: {command.path}"

    def str_replace(self, command: BetaMemoryTool20250818StrReplaceCommand) -> str:
        """Replace a text that occurs once. Raises ToolError if it does not."""
        file = self._read(command.path)
        count = file.content.count(command.old_str)
        if count == 0:
            raise ToolError(
                f"No replacement was performed, old_str `{command.old_str}` did not appear verbatim in "
                f"{command.path}."
            )
        if count > 1:
            lines = ", ".join(map(str, _lines_with(file.content, command.old_str)))
            raise ToolError(
                f"No replacement was performed. Multiple occurrences of old_str `{command.old_str}` in "
                f"lines: {lines}. Please ensure it is unique"
            )
        changed = file.content[: file.content.find(command.old_str)].count("\n")
        content = file.content.replace(command.old_str, command.new_str)
        self._write(file.path, content)
        lines_now = content.split("\n")
        first, last = max(0, changed - 2), min(len(lines_now), changed + 3)
        return (
            "The memory file has been edited. Here is the snippet showing the change (with line "
            "numbers):\n" + _with_numbers(lines_now[first:last], first + 1)
        )

    def insert(self, command: BetaMemoryTool20250818InsertCommand) -> str:
        """Insert a text after a line; 0 is before the first. Raises ToolError if there is no such line."""
        file = self._read(command.path)
        lines = file.content.split("\n")
        if lines[-1] == "":
            lines.pop()
        if not 0 <= command.insert_line <= len(lines):
            raise ToolError(
                f"Invalid `insert_line` parameter: {command.insert_line}. "
                f"It should be within the range [0, {len(lines)}]."
            )
        lines.insert(command.insert_line, command.insert_text.rstrip("\n"))
        content = "\n".join(lines)
        self._write(file.path, content if content.endswith("\n") else f"{content}\n")
        return f"The file {command.path} has been edited."

    def delete(self, command: BetaMemoryTool20250818DeleteCommand) -> str:
        """Remove a file, or a folder with all that is in it. Raises ToolError if there is none."""
        path = _normalized(command.path)
        if path == ROOT:
            raise ToolError("Cannot delete the /memories directory itself")
        for file in self._all_of(path, command.path):
            self._memory.forget(file.id)
        return f"Successfully deleted {command.path}"

    def rename(self, command: BetaMemoryTool20250818RenameCommand) -> str:
        """Move a file, or a folder with all that is in it. Raises ToolError if the new path is taken."""
        old, new = _normalized(command.old_path), _normalized(command.new_path)
        if old == ROOT:
            raise ToolError("Cannot rename the /memories directory itself")
        moved = self._all_of(old, command.old_path)
        if f"{new}/".startswith(f"{old}/"):
            raise ToolError(f"Cannot move {command.old_path} into itself")
        self._check_free(new, f"The destination {command.new_path} already exists")
        # All are written before any is removed, so that an interruption loses none.
        for file in moved:
            self._write(f"{new}{file.path.removeprefix(old)}", file.content)
        for file in moved:
            self._memory.forget(file.id)
        return f"Successfully renamed {command.old_path} to {command.new_path}"

    def clear_all_memory(self) -> str:
        """Remove every file."""
        for file in list(self._below(ROOT)):
            self._memory.forget(file.id)
        return "All memory cleared"

    def _read(self, shown: str) -> _File:
        path = _normalized(shown)
        file = self._find(path)
        if file is not None:
            return file
        if path == ROOT or any(self._below(path)):
            raise ToolError(f"The path {shown} is not a file.")
        raise ToolError(f"The path {shown} does not exist. Please provide a valid path.")

    def _all_of(self, path: str, shown: str) -> list[_File]:
        file = self._find(path)
        found = list(self._below(path)) if file is None else [file]
        if not found:
            raise ToolError(f"The path {shown} does not exist")
        return found

    def _check_free(self, path: str, taken: str) -> None:
        """Raise ToolError if a file or folder has the path, or if it leads through a file."""
        if path == ROOT or self._find(path) is not None or any(self._below(path)):
            raise ToolError(taken)
        parent = path.rpartition("/")[0]
        while parent != ROOT:
            if self._find(parent) is not None:
                raise ToolError(f"The path {parent} is not a directory.")
            parent = parent.rpartition("/")[0]

    def _find(self, path: str) -> _File | None:
        if path == ROOT:
            return None
        try:
            return _file_of(self._memory.get(key=self._key(path)))
        except NotFound:
            return None

    def _below(self, folder: str) -> Iterator[_File]:
        offset = 0
        while page := self._memory.list_memories(
            limit=_PAGE, offset=offset, metadata={"store": self._name}
        ).memories:
            for each in page:
                if str(each.metadata.get("path", "")).startswith(f"{folder}/"):
                    yield _file_of(each)
            offset += len(page)

    def _write(self, path: str, content: str) -> None:
        # A memory must have a text: that of an empty file is its path.
        metadata = {"store": self._name, "path": path, "is_empty": not content}
        self._memory.remember(content or path, key=self._key(path), metadata=metadata)

    def _key(self, path: str) -> str:
        return f"{self._name}:{path}"


class MinutebookAsyncMemoryTool(BetaAsyncAbstractMemoryTool):
    """The memory tool for the SDK's async client; commands run in threads."""

    def __init__(self, memory: Minutebook, *, name: str = "anthropic", **more: Any) -> None:
        """Take over `cache_control` for the SDK."""
        super().__init__(**more)
        self._tool = MinutebookMemoryTool(memory, name=name)

    async def _execute(self, command: Any) -> Any:
        return await asyncio.to_thread(self._tool.execute, command)

    view = create = str_replace = insert = delete = rename = _execute

    async def clear_all_memory(self) -> Any:
        """Remove every file."""
        return await asyncio.to_thread(self._tool.clear_all_memory)


def _file_of(memory: Memory) -> _File:
    content = "" if memory.metadata.get("is_empty") else memory.content
    return _File(str(memory.metadata["path"]), content, memory.id)


def _normalized(path: str) -> str:
    """Return a path without empty and `.` parts.

    Raises ToolError if it does not lie in `/memories`, however it is encoded.
    """
    if path != ROOT and not path.startswith(f"{ROOT}/"):
        raise ToolError(f"Path must start with {ROOT}, got: {path}")
    decoded, once_more = path, unquote(path)
    while once_more != decoded:
        decoded, once_more = once_more, unquote(once_more)
    for form in (path, decoded):
        if ".." in form.replace("\\", "/").split("/"):
            raise ToolError(f"Path {path} would escape {ROOT} directory")
    if any(ord(each) < 32 for each in decoded):
        raise ToolError(f"Path {path!r} must have no control characters")
    parts = [part for part in path.split("/") if part not in ("", ".")]
    return f"/{'/'.join(parts)}"


def _numbered(shown: str, content: str, view_range: Sequence[int] | None) -> str:
    lines = content.split("\n")
    if len(lines) > _MOST_LINES:
        raise ToolError(f"File {shown} exceeds maximum line limit of 999,999 lines.")
    first = 0
    if view_range and len(view_range) == 2:
        first = max(1, view_range[0]) - 1
        lines = lines[first : len(lines) if view_range[1] == -1 else view_range[1]]
    return f"Here's the content of {shown} with line numbers:\n{_with_numbers(lines, first + 1)}"


def _with_numbers(lines: Sequence[str], first: int) -> str:
    return "\n".join(
        f"{number:>{_NUMBER_WIDTH}}\t{line}" for number, line in enumerate(lines, first)
    )


def _listed(shown: str, folder: str, files: Sequence[_File]) -> str:
    """Show a folder two levels deep; a folder is as large as all that is in it."""
    sizes: dict[tuple[str, ...], int] = {}
    folders: set[tuple[str, ...]] = set()
    total = 0
    for file in files:
        parts = tuple(file.path.removeprefix(f"{folder}/").split("/"))
        if any(part.startswith(".") for part in parts):
            continue
        total += file.size
        for level in range(1, min(_LEVELS, len(parts)) + 1):
            sizes[parts[:level]] = sizes.get(parts[:level], 0) + file.size
            if level < len(parts):
                folders.add(parts[:level])
    shown = shown.rstrip("/") or shown
    lines = [f"{_size(total)}\t{shown}"]
    for parts in sorted(sizes):
        slash = "/" if parts in folders else ""
        lines.append(f"{_size(sizes[parts])}\t{shown}/{'/'.join(parts)}{slash}")
    header = (
        f"Here're the files and directories up to 2 levels deep in {shown}, excluding hidden items:"
    )
    return "\n".join([header, *lines])


def _size(count: int) -> str:
    """Write a number of bytes as the SDK does: 0B, 512B, 1.5K."""
    power = min(max(count.bit_length() - 1, 0) // 10, len(_UNITS) - 1)
    number = count / 1024**power
    return (
        f"{int(number)}{_UNITS[power]}" if number == int(number) else f"{number:.1f}{_UNITS[power]}"
    )


def _lines_with(content: str, text: str) -> Iterator[int]:
    at = content.find(text)
    while at != -1:
        yield content[:at].count("\n") + 1
        at = content.find(text, at + 1)
