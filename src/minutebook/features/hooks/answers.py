"""The daemon's answers at moments of a session, by the settings of the client that asks."""

from collections.abc import Callable, Mapping
from contextlib import closing
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from minutebook import __version__
from minutebook.config import Settings, load
from minutebook.config.whereabouts import (
    follows_folders,
    known_place,
    repository_known,
    scope_of,
    work_tree_of,
)
from minutebook.features.hooks import log
from minutebook.features.hooks.events import (
    BRIEF_TOKENS,
    HookEvent,
    HookMoment,
    output_of,
    read_event,
)
from minutebook.features.hooks.known import NOTICE, Known, is_ignored, is_new_here
from minutebook.features.hooks.operations import HookQuestion, find
from minutebook.features.hooks.settings import HookSettings
from minutebook.record.caller import ANYBODY, Call, Caller, with_call
from minutebook.record.origin import Origin, tidied
from minutebook.record.plain import plain
from minutebook.serve.daemon.operations import DaemonClient, unknown_request
from minutebook.serve.invocation import Invocation

if TYPE_CHECKING:
    from minutebook.app import App

CONTRACT = "hooks"
"""The contract that the origin of a hook's calls names."""


@dataclass(frozen=True, slots=True)
class HookAnswer:
    """The outcome of an event; the client's output, its tokens, and the ids of the records shown."""

    outcome: str
    output: Mapping[str, object] | None = None
    tokens: int = 0
    ids: tuple[str, ...] = ()
    is_briefing: bool = False
    is_notice: bool = False
    """Whether it tells the person that their session is kept."""


def nothing() -> None:
    """Note nothing."""


def serve(asking: DaemonClient, request: Mapping[str, Any]) -> None:
    """Answer an event for a client of the daemon. Raises InvalidInput if the request has another form."""
    match request:
        case {"hook": str(client), "event": dict(fields)}:
            folder = request.get("client_folder")
            own = Path(folder) if isinstance(folder, str) else None
            said, asking.on_printed = answer(
                asking.host.loader(), asking.settings, client, fields, own
            )
            asking.send({"answer": plain(said)})
        case _:
            raise unknown_request()


def brief_alone(invocation: Invocation, request: Mapping[str, Any]) -> Mapping[str, Any]:
    """Answer the start of a session in this process, by the store alone.

    Raises StoreError if the store cannot be read, InvalidInput if a setting has no sense.
    """
    settings = load({**invocation.given, "embedder": "none"})
    from minutebook.app import open_app

    with closing(open_app(settings, or_reads=True)) as app:
        said, _ = answer(app, settings, request["hook"], request["event"], None)
    fields: Mapping[str, Any] = plain(said)
    return fields


def answer(
    app: "App", settings: Settings, client: str, fields: Mapping[str, Any], folder: Path | None
) -> tuple[HookAnswer, Callable[[], None]]:
    """Answer an event by its fields; return with it the function to note that the client printed it.

    `folder` is the client's configuration folder where a variable names it.
    """
    event = read_event(fields)
    if settings.of(HookSettings).hooks == "off":
        return HookAnswer("off"), nothing
    place = known_place(settings, event.folder)
    if is_ignored(event.folder, settings.of(HookSettings).hook_ignore) or place.hooks_off:
        return HookAnswer("ignored"), nothing
    caller = _caller(settings, client, event.session)
    caller = with_call(caller, work_tree=work_tree_of(place))
    if follows_folders(settings):
        caller = replace(caller, folder_scope=scope_of(place))
    match event.moment:
        case HookMoment.START | HookMoment.PROMPT:
            found = find(app, caller, asked_here(settings, client, event))
            given = found.given
            notice = NOTICE if is_new_here(str(settings.home), client, event.session) else ""
            said = HookAnswer(
                "nothing to say" if given.text is None and not notice else "answered",
                output_of(client, event.name, given.text, notice),
                given.tokens,
                given.ids,
                given.is_briefing,
                is_notice=bool(notice),
            )
            return said, lambda: found.note(app, caller)
        case HookMoment.TURN | HookMoment.END:
            from minutebook.features.hooks.capture import capture

            return HookAnswer(capture(app, settings, caller, client, event, folder)), nothing
        case None:
            return HookAnswer("unknown event"), nothing


def asked_here(settings: Settings, client: str, event: HookEvent) -> HookQuestion:
    """Return the request of a client of this machine, by the settings and the log of hooks."""
    known = Known(log.entries(str(settings.home)), event.session)
    return HookQuestion(
        event.session,
        event.prompt if event.moment is HookMoment.PROMPT else None,
        frozenset(known.ids),
        known.is_briefed,
        known.sessions_in(event.folder, repository_known(settings)),
        BRIEF_TOKENS,
        known.began,
    )


def _caller(settings: Settings, client: str, session: str) -> Caller:
    """Return the caller: the agent of the client, with an agent's rights."""
    agent = client if settings.agent == ANYBODY else settings.agent
    origin = Origin(client=client, version=__version__, contract=CONTRACT, session=tidied(session))
    return replace(settings.caller(), name=agent, call=Call(request="hook", origin=origin))
