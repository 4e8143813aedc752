"""The resources of the `catalog` contract: the index, memories, their history, the schema."""

import json
from collections.abc import Iterator, Mapping
from typing import Any

from minutebook.app import App
from minutebook.features.catalog.contract.shapes import (
    METADATA_KEYS,
    METADATA_LENGTH,
    READS_AS_INSTRUCTIONS,
    TITLE_WORDS,
    Shape,
    find_id,
    in_index,
    title,
    whole,
)
from minutebook.memory.access.provenance import mark_of
from minutebook.record.caller import Caller
from minutebook.record.instants import rfc3339
from minutebook.record.listed import LinkedMemory
from minutebook.record.origin import Origin, byline
from minutebook.record.records import Entry, Memory, MemoryType, ScopeLevel, Status, Version
from minutebook.serve.contracts.answers import as_json
from minutebook.serve.contracts.resources import ResourceHandlers, text_of

INDEXED = 50
"""Memories in the index."""

COMPLETED = 101
"""Completions that are searched: one more than the protocol allows, to tell that there are more."""


def index(app: App, caller: Caller) -> Iterator[Shape]:
    """Show the memories that changed last, newest first, without their content.

    Clients load the index unasked: a title, or metadata, that reads as instructions is left out unless a person wrote it.
    """
    for each in app.browsing.latest(caller, INDEXED):
        shown = in_index(each) | {"title": _listed_title(app, each)}
        is_left_out = app.doors.reads_as_instructions(
            each, "\n".join(map(str, shown["metadata"].values()))
        )
        yield shown | ({"metadata": {}} if is_left_out else {})


def memory(app: App, caller: Caller, id: str) -> Shape:
    """Show one memory and its links, with both forms of its id, since the audit trail has the short one."""
    found = app.memories.read(caller, find_id(app, caller, id))
    links = [_link(each) for each in app.browsing.links(caller, found)]
    further = {"short_id": found.id, "version": found.version, "links": links}
    return whole(found) | further | mark_of(found)


def history(app: App, caller: Caller, id: str) -> Shape:
    """Show the earlier versions of a memory, and the acts on it, oldest first."""
    found = app.memories.read(caller, find_id(app, caller, id))
    past = app.memories.history(caller, found)
    return {
        "id": found.uuid,
        "short_id": found.id,
        "versions": [_version(each) for each in past.versions],
        "audit": [_entry(each) for each in past.entries],
    }


def schema(app: App, caller: Caller) -> str:
    """Show the enums, the fields and the limits, as this server applies them."""
    promise = json.loads(text_of(__package__, "contract.json"))
    tools = {tool["name"]: tool for tool in promise["tools"]}
    fields = tools["memory-write"]["inputSchema"]
    enums = {
        "scope_type": (fields["properties"]["scope_type"]["enum"], ScopeLevel),
        "status": (fields["properties"]["status"]["enum"], Status),
        "memory_type": (fields["properties"]["memory_type"]["enum"], MemoryType),
    }
    document = {
        "enums": {name: offered for name, (offered, _) in enums.items()},
        "also_shown": {
            name: others
            for name, (offered, all_of) in enums.items()
            if (others := [str(member) for member in all_of if member not in offered])
        },
        "memory": fields,
        "limits": {
            "index": INDEXED,
            "title_words": TITLE_WORDS,
            "metadata_keys": METADATA_KEYS,
            "index_metadata_characters": METADATA_LENGTH,
            "batch": tools["memory-batch-write"]["enforce"]["items"]["maxItems"],
            "bytes": {
                name: rules["maxBytes"]
                for name, rules in tools["memory-write"]["enforce"].items()
                if "maxBytes" in rules
            },
        },
        "errors": {name: error["code"] for name, error in promise["errors"].items()},
    }
    return as_json(document)


def listing(app: App, caller: Caller) -> Iterator[Mapping[str, Any]]:
    """Describe the memories of the index as resources."""
    for each in app.browsing.latest(caller, INDEXED):
        yield {
            "uri": f"memory://{each.uuid}",
            "name": _listed_title(app, each),
            "description": f"{each.type}, {each.scope}, {each.status}",
            "mimeType": "application/json",
        }


def complete_id(app: App, caller: Caller, typed: str) -> list[str]:
    """Return the ids of the memories with a title that begins with `typed`."""
    return [memory.uuid for memory in app.browsing.titled(caller, typed, COMPLETED)]


HANDLERS = ResourceHandlers(
    readers={"memory-index": index, "memory": memory, "memory-history": history, "schema": schema},
    listing=listing,
    completions={"memory/id": complete_id, "memory-history/id": complete_id},
)


def _listed_title(app: App, memory: Memory) -> str:
    shown = title(memory)
    return READS_AS_INSTRUCTIONS if app.doors.reads_as_instructions(memory, shown) else shown


def _link(linked: LinkedMemory) -> Shape:
    is_source = linked.edge.source != linked.memory.id
    return {
        "id": linked.memory.uuid,
        "short_id": linked.memory.id,
        "title": title(linked.memory),
        "relation_type": linked.edge.type,
        "direction": "to" if is_source else "from",
    }


def _version(version: Version) -> Shape:
    return {
        "version": version.number,
        "title": version.title,
        "current_content": version.content,
        "changed_by": byline(version.changed_by, version.origin),
        **_client(version.origin),
        "changed_at": rfc3339(version.changed_at),
        "request_id": version.request,
    }


def _client(origin: Origin | None) -> Shape:
    return {"client": origin.program} if origin is not None and origin.program else {}


def _entry(entry: Entry) -> Shape:
    return {
        "number": entry.number,
        "action": entry.act,
        "outcome": entry.outcome,
        "actor": entry.actor,
        "role": entry.role,
        **_client(entry.origin),
        "at": rfc3339(entry.at),
        "request_id": entry.request,
        "before": entry.before,
        "after": entry.after,
    }
