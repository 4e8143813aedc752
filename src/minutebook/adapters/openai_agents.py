"""A memory as a session of the OpenAI Agents SDK: the `Session` protocol.

An item of the conversation is a memory of type `episodic`: its text the item as JSON, its session and
place in the metadata. Items are any objects, and may be taken back, which turns of a session may not.
"""

import asyncio
import json
from typing import TYPE_CHECKING, Any

from minutebook.adapters.extras import needing
from minutebook.api import Memory, Minutebook

with needing("openai-agents", "agents openai-agents"):
    from agents.memory import SessionSettings
    from agents.memory.session_settings import resolve_session_limit

if TYPE_CHECKING:
    from agents import TResponseInputItem

_PAGE = 1_000
_KIND = "openai-agents"


class MinutebookSession:
    """Keeps the items of one conversation, in their order, until they are taken back or cleared.

    One writer at a time: two that add to one session at once leave the order of their items open.
    """

    def __init__(
        self,
        session_id: str,
        memory: Minutebook,
        *,
        session_settings: SessionSettings | None = None,
    ) -> None:
        self.session_id = session_id
        self.session_settings: SessionSettings | None = session_settings or SessionSettings()
        self._memory = memory

    async def get_items(self, limit: int | None = None) -> "list[TResponseInputItem]":
        """Return the latest items, at most so many, oldest first; all of them without a limit."""
        most = resolve_session_limit(limit, self.session_settings)
        kept = await asyncio.to_thread(self._kept)
        chosen = kept if most is None else kept[len(kept) - min(most, len(kept)) :]
        return [json.loads(each.text) for each in chosen]

    async def add_items(self, items: "list[TResponseInputItem]") -> None:
        """Keep items after those there are."""
        await asyncio.to_thread(self._add, list(items))

    async def pop_item(self) -> "TResponseInputItem | None":
        """Remove the latest item and return it; None if there is none."""
        return await asyncio.to_thread(self._pop)

    async def clear_session(self) -> None:
        """Remove every item."""
        await asyncio.to_thread(self._clear)

    def _add(self, items: list[Any]) -> None:
        kept = self._kept()
        place = kept[-1].metadata["place"] if kept else 0
        for number, item in enumerate(items, place + 1):
            metadata = {**self._selecting(), "place": number}
            text = json.dumps(item, ensure_ascii=False)
            self._memory.remember(text, type="episodic", metadata=metadata)

    def _pop(self) -> Any:
        kept = self._kept()
        if not kept:
            return None
        self._memory.forget(kept[-1].id)
        return json.loads(kept[-1].text)

    def _clear(self) -> None:
        for each in self._kept():
            self._memory.forget(each.id)

    def _kept(self) -> list[Memory]:
        """Return the memories of the session in the order of its items."""
        found: list[Memory] = []
        while page := self._memory.list_memories(
            limit=_PAGE, offset=len(found), metadata=self._selecting()
        ).memories:
            found += page
        return sorted(found, key=lambda each: (each.metadata["place"], each.id))

    def _selecting(self) -> dict[str, Any]:
        return {"store": _KIND, "session": self.session_id}
