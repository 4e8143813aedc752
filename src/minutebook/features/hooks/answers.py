"""The daemon's answers to events of a client's session, by that client's settings."""

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
from minutebook.features.hooks.known import NOTICE, Known, is_ignored, needs_notice
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
    """The outcome of an event, the output for the client, its tokens, and the ids of its records.

    `is_notice` if it tells the person that their session is kept.
    """

    outcome: str
    output: Mapping[str, object] | None = None
    tokens: int = 0
    ids: tuple[str, ...] = ()
    is_briefing: bool = False
    is_notice: bool = False


def nothing() -> None:
    """Do nothing: the function to call after an answer if there is nothing to note."""


def serve(daemon_client: DaemonClient, request: Mapping[str, Any]) -> None:
    """Answer an event to a client of the daemon. Raises InvalidInput if the request is malformed."""
    match request:
        case {"hook": str(client), "event": dict(fields)}:
            folder = request.get("client_folder")
            own = Path(folder) if isinstance(folder, str) else None
            app, settings = daemon_client.host.loader(), daemon_client.settings
            result, daemon_client.on_printed = answer(app, settings, client, fields, own)
            daemon_client.send({"answer": plain(result)})
        case _:
            raise unknown_request()


def brief_without_daemon(invocation: Invocation, request: Mapping[str, Any]) -> Mapping[str, Any]:
    """Answer the start of a session in this process, without the model; return the fields of the HookAnswer.

    Raises StoreError if the store cannot be read, InvalidInput if a setting is invalid.
    """
    settings = load({**invocation.given, "embedder": "none"})
    from minutebook.app import open_app

    with closing(open_app(settings, or_reads=True)) as app:
        result, _ = answer(app, settings, request["hook"], request["event"], None)
    fields: Mapping[str, Any] = plain(result)
    return fields


def answer(
    app: "App", settings: Settings, client: str, fields: Mapping[str, Any], folder: Path | None
) -> tuple[HookAnswer, Callable[[], None]]:
    """Return the answer to an event, and the function that notes what was told, to call once the client printed it.

    `fields` are the event's, `folder` is the client's configuration folder if a variable names it.
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
            found = find(app, caller, local_question(settings, client, event))
            brief = found.brief
            notice = NOTICE if needs_notice(str(settings.home), client, event.session) else ""
            result = HookAnswer(
                "nothing to say" if brief.text is None and not notice else "answered",
                output_of(client, event.name, brief.text, notice),
                brief.tokens,
                brief.ids,
                brief.is_briefing,
                is_notice=bool(notice),
            )
            return result, lambda: found.note(app, caller)
        case HookMoment.TURN | HookMoment.END:
            from minutebook.features.hooks.capture import capture

            return HookAnswer(capture(app, settings, caller, client, event, folder)), nothing
        case None:
            return HookAnswer("unknown event"), nothing


def local_question(settings: Settings, client: str, event: HookEvent) -> HookQuestion:
    """Return the question of a client on this machine, with facts from the settings and the log of hooks."""
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
    """Return the caller of a session: the client's agent."""
    agent = client if settings.agent == ANYBODY else settings.agent
    origin = Origin(client=client, version=__version__, contract=CONTRACT, session=tidied(session))
    return replace(settings.caller(), name=agent, call=Call(request="hook", origin=origin))
