"""The skill that teaches an agent to use the memory, as the skills extension of MCP serves skills.

`skills/list` and `skills/get` describe it with the digest of its file, which is a resource as well.
Clients that speak 2026-07-28 or later see the extension declared and ask for it; for all others the
file is one of the resources.
https://github.com/modelcontextprotocol/ext-skills/blob/main/specification/stable/skills.mdx
"""

import hashlib
from functools import cached_property
from pathlib import Path
from typing import Any

import mcp_types as types
from mcp.server.context import ServerRequestContext
from mcp.server.lowlevel import Server
from mcp.shared.exceptions import MCPError

from minutebook.serve.contracts.announced import SKILL_FILE, SKILLS_EXTENSION
from minutebook.serve.protocol.resources import not_found

MARKDOWN = "text/markdown"
URI = "skill://minutebook/SKILL.md"
FRESH = 3_600_000
"""Milliseconds for which a client may keep an answer: the skill changes with the version alone."""

_Context = ServerRequestContext[Any, Any]
_Page = types.PaginatedRequestParams | None


class SkillParams(types.RequestParams):
    """The parameters of `skills/get`."""

    uri: str


class SkillShelf:
    """Serves the one skill, beside the other resources of a server."""

    def add_to(self, server: Server[Any]) -> None:
        """Declare the extension, and add its methods and its resource to a server."""
        server.extensions[SKILLS_EXTENSION] = {}
        page, add = types.PaginatedRequestParams, server.add_request_handler
        add("skills/list", page, self.list_all)
        add("skills/get", SkillParams, self.get)
        self._listing = server.get_request_handler("resources/list")
        self._reading = server.get_request_handler("resources/read")
        add("resources/list", page, self.list_resources)
        add("resources/read", types.ReadResourceRequestParams, self.read)
        if self._listing is None:
            add("resources/templates/list", page, self.list_no_templates)

    async def list_all(self, context: _Context, params: _Page) -> dict[str, Any]:
        """Return the entry of the skill."""
        return _cacheable({"skills": [self._entry]})

    async def get(self, context: _Context, params: SkillParams) -> dict[str, Any]:
        """Return the entry of the skill at a URI. Raises MCPError if there is none."""
        if params.uri != URI:
            raise MCPError(types.INVALID_PARAMS, f"Unknown skill: {params.uri}; there is {URI}")
        return _cacheable({"skill": self._entry})

    async def list_resources(self, context: _Context, params: _Page) -> types.ListResourcesResult:
        """Return the server's other resources, then the skill's file."""
        resource = types.Resource(uri=URI, mime_type=MARKDOWN, **self._entry["frontmatter"])
        if self._listing is None:
            return types.ListResourcesResult(resources=[resource])
        result = await self._listing.handler(context, params)
        assert isinstance(result, types.ListResourcesResult)
        result.resources.append(resource)
        return result

    async def list_no_templates(
        self, context: _Context, params: _Page
    ) -> types.ListResourceTemplatesResult:
        """Return an empty list: clients ask for templates wherever there are resources."""
        return types.ListResourceTemplatesResult(resource_templates=[])

    async def read(
        self, context: _Context, params: types.ReadResourceRequestParams
    ) -> types.ReadResourceResult:
        """Read the skill's file, or one of the server's other resources."""
        uri = str(params.uri)
        if uri == URI:
            content = self._content.decode()
            text = types.TextResourceContents(uri=uri, mime_type=MARKDOWN, text=content)
            return types.ReadResourceResult(contents=[text])
        if self._reading is None:
            raise MCPError(not_found(context), f"Unknown resource: {uri}", {"uri": uri})
        result = await self._reading.handler(context, params)
        assert isinstance(result, types.ReadResourceResult)
        return result

    @cached_property
    def _content(self) -> bytes:
        return Path(SKILL_FILE).read_bytes()

    @cached_property
    def _entry(self) -> dict[str, Any]:
        import yaml

        _, head, _ = self._content.split(b"---\n", 2)
        digest = f"sha256:{hashlib.sha256(self._content).hexdigest()}"
        file = {"uri": URI, "digest": digest, "size": len(self._content)}
        return {"uri": URI, "frontmatter": yaml.safe_load(head), "resources": [file]}


def _cacheable(result: dict[str, Any]) -> dict[str, Any]:
    return {"resultType": "complete", **result, "ttlMs": FRESH, "cacheScope": "public"}
