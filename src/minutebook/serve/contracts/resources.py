"""The readable parts of a contract: resources, templates of them, and prompts."""

import re
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from importlib import resources
from typing import Any

from minutebook.app import App
from minutebook.record.caller import Caller
from minutebook.serve.contracts.answers import Content

Reader = Callable[..., Content]
"""Reads one resource: takes the app, the caller and the template's variables by name."""

Listing = Callable[[App, Caller], Iterable[Mapping[str, Any]]]
"""Describes the resources that are there besides the promised ones."""

Completion = Callable[[App, Caller, str], list[str]]
"""Returns the values of a template's variable that begin with what was typed."""


PromptData = Callable[[App, Caller], str]
"""Returns the text that replaces `{data}` in a prompt."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ResourceHandlers:
    """The functions behind resources and prompts, by the names in the promise; `completions` by `name/variable`."""

    readers: Mapping[str, Reader] = field(default_factory=dict)
    listing: Listing | None = None
    completions: Mapping[str, Completion] = field(default_factory=dict)
    prompts: Mapping[str, PromptData] = field(default_factory=dict)


@dataclass(frozen=True)
class Resource:
    """A resource as the contract promises it: at its `uri`, or at each URI that fits its `uriTemplate`."""

    promise: Mapping[str, Any]

    @property
    def name(self) -> str:
        """The name by which its reader is found."""
        return str(self.promise["name"])

    @property
    def mime_type(self) -> str:
        """The media type of the text."""
        return str(self.promise["mimeType"])

    def match(self, uri: str) -> Mapping[str, str] | None:
        """Return the template's variables in a URI of this resource; None for any other URI."""
        found = self._pattern.fullmatch(uri)
        return None if found is None else found.groupdict()

    @cached_property
    def _pattern(self) -> re.Pattern[str]:
        template = self.promise.get("uriTemplate")
        if template is None:
            return re.compile(re.escape(self.promise["uri"]))
        parts = re.split(r"\{(\w+)\}", template)
        named = (
            f"(?P<{part}>[^/]+)" if index % 2 else re.escape(part)
            for index, part in enumerate(parts)
        )
        return re.compile("".join(named))


def text_of(package: str, path: str) -> str:
    """Return the text of a file in a contract's folder."""
    return resources.files(package).joinpath(path).read_text(encoding="utf-8")
