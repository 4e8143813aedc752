"""The same memory for programs that run an event loop: each call waits in a thread."""

from collections.abc import AsyncIterator, Callable, Coroutine
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from functools import partial, wraps
from typing import Any, Concatenate, Generic, ParamSpec, TypeVar

from anyio import CancelScope, to_thread

from minutebook.ask.client import Decisions, Entities, Minutebook, Sessions
from minutebook.ask.opening import open_memory

P = ParamSpec("P")
S = TypeVar("S")
T = TypeVar("T")


class _Threaded(Generic[S]):
    """Calls the methods of an object in threads."""

    def __init__(self, sync: S) -> None:
        self._sync = sync


def _in_thread(
    method: Callable[Concatenate[S, P], T],
) -> Callable[Concatenate[_Threaded[S], P], Coroutine[Any, Any, T]]:
    """Return a method that runs another one in a thread and awaits it; if it is cancelled, the thread ends first."""

    async def awaited(self: _Threaded[S], /, *arguments: P.args, **named: P.kwargs) -> T:
        return await to_thread.run_sync(partial(method, self._sync, *arguments, **named))

    awaited.__doc__ = method.__doc__
    return awaited


class AsyncEntities(_Threaded[Entities]):
    """Entities and the relations between them."""

    create = _in_thread(Entities.create)
    find = _in_thread(Entities.find)
    relate = _in_thread(Entities.relate)
    related = _in_thread(Entities.related)
    about = _in_thread(Entities.about)


class AsyncDecisions(_Threaded[Decisions]):
    """Decisions on the record, in Git."""

    record = _in_thread(Decisions.record)
    supersede = _in_thread(Decisions.supersede)
    propose = _in_thread(Decisions.propose)
    search = _in_thread(Decisions.search)
    holding = _in_thread(Decisions.holding)
    read = _in_thread(Decisions.read)
    history = _in_thread(Decisions.history)


class AsyncSessions(_Threaded[Sessions]):
    """The turns of sessions, in order, and their summaries."""

    append = _in_thread(Sessions.append)
    turns = _in_thread(Sessions.turns)
    search = _in_thread(Sessions.search)
    summarize = _in_thread(Sessions.summarize)
    summaries = _in_thread(Sessions.summaries)
    search_summaries = _in_thread(Sessions.search_summaries)


class AsyncMinutebook(_Threaded[Minutebook]):
    """A `Minutebook` with methods to be awaited."""

    def __init__(self, sync: Minutebook) -> None:
        super().__init__(sync)
        self.entities = AsyncEntities(sync.entities)
        self.decisions = AsyncDecisions(sync.decisions)
        self.sessions = AsyncSessions(sync.sessions)

    @property
    def sync(self) -> Minutebook:
        """The memory that this one calls in threads."""
        return self._sync

    close = _in_thread(Minutebook.close)
    remember = _in_thread(Minutebook.remember)
    supersede = _in_thread(Minutebook.supersede)
    recall = _in_thread(Minutebook.recall)
    list_memories = _in_thread(Minutebook.list_memories)
    get = _in_thread(Minutebook.get)
    history = _in_thread(Minutebook.history)
    update = _in_thread(Minutebook.update)
    invalidate = _in_thread(Minutebook.invalidate)
    forget = _in_thread(Minutebook.forget)


def _in_background(
    open_sync: Callable[P, Minutebook],
) -> Callable[P, AbstractAsyncContextManager[AsyncMinutebook]]:
    """Return the context manager that opens a memory in a thread, and closes it at the end of the block."""

    @asynccontextmanager
    @wraps(open_sync)
    async def opened(*arguments: P.args, **named: P.kwargs) -> AsyncIterator[AsyncMinutebook]:
        memory = AsyncMinutebook(await to_thread.run_sync(partial(open_sync, *arguments, **named)))
        try:
            yield memory
        finally:
            # The store is closed also if the block was cancelled.
            with CancelScope(shield=True):
                await memory.close()

    return opened


open_memory_async = _in_background(open_memory)
"""`open_memory` for an event loop: `async with open_memory_async(…) as memory`."""
