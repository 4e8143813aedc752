"""Provenance: by which program, over which contract and in which session something was written."""

import re
from collections.abc import Mapping
from dataclasses import dataclass, fields
from typing import Self

LONGEST_NAME, LONGEST_CLIENT = 100, 40
"""Characters kept of a name that somebody claims, and of a client's."""

_NO_SIGN_OF_A_CLIENT = re.compile(r"[^\w. -]")
_NO_SIGN_OF_A_NAME = re.compile(r"[^\w.@+ -]|\b(?:through|in the name of)\b")


@dataclass(frozen=True, slots=True, kw_only=True)
class Origin:
    """Where a record or an act came from, as the client told; empty parts are not known.

    `client` and `version` are those of the program (an MCP client's `clientInfo`), `contract` names the
    contract that it spoke, `session` its connection's session; `organization` is the one with which a
    record of system scope was written. `brought` names who brought what a file claims: the author of a Git
    commit, or who imported it. A claim, never an identity: no permission depends on it.
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
        """Make the origin of its known parts. Raises TypeError for a name that is none of a part."""
        return cls(**parts)


def are_one_program(one: str, other: str) -> bool:
    """Tell whether two names of clients may be of one program: "codex" is also "codex-mcp-client"."""
    short, long = sorted((one.casefold(), other.casefold()), key=len)
    return short != "" and (long == short or long.startswith(f"{short}-"))


def answers_for(author: str, origin: Origin | None) -> str:
    """Return the identity that answers for a record: its importer, since its author is then a claim, or its author."""
    return author if origin is None else origin.brought or author


def by_whom(author: str, origin: Origin | None) -> str:
    """Return a record's author, or its importer in the name of the author that a file claims."""
    if origin is None or not origin.brought:
        return as_name(author)
    if origin.brought == author:
        return f"{as_name(author)} (claimed)"
    return f"{as_name(origin.brought)}, in the name of {as_name(author)}"


def as_name(text: str) -> str:
    """Return a name as it stands in a sentence of ours: in quotation marks if its signs could pass for the sentence's own."""
    if not _NO_SIGN_OF_A_NAME.search(text):
        return text
    return '"' + tidied(text).replace('"', "'") + '"'


def as_client(text: str) -> str:
    """Return the name or version that a client gives itself as a token: letters, digits, `-._` and blanks."""
    return _NO_SIGN_OF_A_CLIENT.sub("_", tidied(text))[:LONGEST_CLIENT].strip()


def tidied(text: str) -> str:
    """Return a client's description of itself as one short line: printable characters only."""
    line = "".join(c if c.isprintable() else " " for c in text[: 4 * LONGEST_NAME])
    return " ".join(line.split())[:LONGEST_NAME]
