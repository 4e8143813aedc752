"""Provenance: by which program, over which contract and in which session something was written."""

import re
from collections.abc import Mapping
from dataclasses import dataclass, fields
from typing import Self

LONGEST_NAME, LONGEST_CLIENT = 100, 40
"""Characters kept of a name that somebody claims, and of a client's."""

_NOT_OF_A_CLIENT = re.compile(r"[^\w. -]")
_UNLIKE_A_NAME = re.compile(r"[^\w.@+ -]|\b(?:through|in the name of)\b")


@dataclass(frozen=True, slots=True, kw_only=True)
class Origin:
    """Where a record or an act came from, as the client told; empty parts are not known.

    `client` and `version` are those of the program (an MCP client's `clientInfo`), `contract` names the
    contract that it spoke, `session` its connection's session; `organization` is that of the caller who wrote a
    record of system scope. `brought` names the importer of a record that a file claims, or the author of the Git
    commit with it. The rest is a claim, never an identity: no permission depends on it.
    """

    client: str = ""
    version: str = ""
    contract: str = ""
    session: str = ""
    organization: str = ""
    brought: str = ""

    @property
    def program(self) -> str:
        """The client's name and version in one text; empty if unknown."""
        return f"{self.client} {self.version}".strip()

    @property
    def parts(self) -> dict[str, str]:
        """The parts that are known, by name."""
        named = ((each.name, getattr(self, each.name)) for each in fields(self))
        return {name: text for name, text in named if text}

    @classmethod
    def from_parts(cls, parts: Mapping[str, str]) -> Self:
        """Return the origin with these parts. Raises TypeError if a name is not that of a part."""
        return cls(**parts)


def are_one_program(one: str, other: str) -> bool:
    """Tell whether two clients' names may name one program: "codex" is also "codex-mcp-client"."""
    short, long = sorted((one.casefold(), other.casefold()), key=len)
    return short != "" and (long == short or long.startswith(f"{short}-"))


def responsible_author(author: str, origin: Origin | None) -> str:
    """Return the name responsible for a record: its importer if it has one, for its author is then a claim; else its author."""
    return author if origin is None else origin.brought or author


def byline(author: str, origin: Origin | None) -> str:
    """Return the words for a record's author: of an imported one, its importer in the name of the author claimed."""
    if origin is None or not origin.brought:
        return quoted_name(author)
    if origin.brought == author:
        return f"{quoted_name(author)} (claimed)"
    return f"{quoted_name(origin.brought)}, in the name of {quoted_name(author)}"


def quoted_name(text: str) -> str:
    """Return a name for use in a sentence of ours: in quotation marks if it could be mistaken for a part of the sentence."""
    if not _UNLIKE_A_NAME.search(text):
        return text
    return '"' + tidied(text).replace('"', "'") + '"'


def as_client(text: str) -> str:
    """Return the name or version that a client claims, with letters, digits, `-._` and blanks only; others become `_`."""
    return _NOT_OF_A_CLIENT.sub("_", tidied(text))[:LONGEST_CLIENT].strip()


def tidied(text: str) -> str:
    """Return a client's description of itself as one short line: printable characters only."""
    line = "".join(c if c.isprintable() else " " for c in text[: 4 * LONGEST_NAME])
    return " ".join(line.split())[:LONGEST_NAME]
