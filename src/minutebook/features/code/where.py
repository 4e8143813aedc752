"""The command `where`: shows to which project a folder belongs, and trusts the folder's own file."""

from collections.abc import Mapping
from dataclasses import asdict
from pathlib import Path

import click

from minutebook.ask.upkeep import kept_for
from minutebook.cli.keyboard import PATH
from minutebook.cli.opening import opened, settings_of
from minutebook.cli.printing import say, style, warn
from minutebook.cli.terminal import as_json, identity
from minutebook.config import Settings, explicit, option_of
from minutebook.config.folders.finding import FolderPlace
from minutebook.config.folders.trust import TrustedFolders
from minutebook.config.whereabouts import follows_folders, known_place, scope_of
from minutebook.feature import Event, listeners
from minutebook.record.errors import InvalidInput
from minutebook.record.filters import default_organization
from minutebook.record.reason import Reason
from minutebook.record.records import Kind

_KINDS = (Kind.MEMORY, Kind.DECISION, Kind.TURN)

_BINDING = ("organization", "repository", "user")
"""The settings that bind all that is read and written to a scope."""


@click.command(short_help="Say to which project a folder belongs.")
@click.argument("folder", required=False, type=PATH)
@click.option("--trust", is_flag=True, help="Believe what the folder says of itself.")
@click.option("--distrust", is_flag=True, help="Believe it no longer.")
@identity
@as_json
def where(
    options: dict[str, str],
    folder: Path | None,
    trust: bool,  # noqa: FBT001
    distrust: bool,  # noqa: FBT001
    as_json: bool,  # noqa: FBT001
) -> None:
    """Say to which project FOLDER (this one if none is named) belongs, and where that is from.

    What an agent stores there without naming a repository belongs to that project, and what it searches
    shows that and what belongs to none, if the setting scope_from_folder is on. --trust believes a
    `.minutebook.toml` that names another repository than Git does: what is kept of that is shown there.
    """
    if trust and distrust:
        raise InvalidInput("--trust", "cannot be used with --distrust")
    settings = settings_of(options)
    path = Path.cwd() / (folder or "")
    place = known_place(settings, path)
    if trust or distrust:
        _set_trust(settings, place, trust=trust)
        place = known_place(settings, path)
    counts = _counts(options, settings, place)
    origins = {name: each.origin for name, each in explicit(options).items()}
    facts = [tell(settings, place) for tell in listeners(Event.WHERE)]
    answer = {
        "place": place,
        "held_to": {name: getattr(settings, name) for name in _BINDING},
        "origins": {name: origins[name] for name in _BINDING if name in origins},
        "writes_go_to": _written_to(settings, place),
        "facts": facts,
        "kept": counts,
    }
    lines = _lines(settings, place, origins, counts)
    say(answer, [*lines, *(each.sentence for each in facts if each.sentence)], as_json)
    if place.problem is not None:
        warn(place.problem, fg="yellow")


def _set_trust(settings: Settings, place: FolderPlace, *, trust: bool) -> None:
    """Note that a folder's own file is trusted, or forget it. Raises InvalidInput if there is nothing to trust or forget."""
    from minutebook.memory.maintenance.data_directory import make_home

    claim = place.claim if trust else place.confirmed
    if claim is None:
        what = (
            Reason("to believe: the folder says nothing of itself that Git does not")
            if trust
            else Reason("noted")
        )
        raise InvalidInput("--trust" if trust else "--distrust", "finds nothing {what}", what=what)
    make_home(settings.home)
    trusted = TrustedFolders(settings.home)
    if trust:
        trusted.add(claim.place, claim.repository)
    else:
        trusted.remove(claim.place)


def _counts(
    options: dict[str, str], settings: Settings, place: FolderPlace
) -> dict[str, dict[str, int]] | None:
    """Count the records of the place and of no repository; None if there is no store yet."""
    if settings.store is None and not settings.database.exists():
        return None
    with opened(options) as api:
        found = api.run(kept_for, _KINDS, scope_of(place))
    return {
        name: {str(kind): counts[kind] for kind in _KINDS} for name, counts in asdict(found).items()
    }


def _written_to(settings: Settings, place: FolderPlace) -> str | None:
    """Return the repository of records that name none themselves."""
    return place.repository if follows_folders(settings) else settings.repository


def _lines(
    settings: Settings,
    place: FolderPlace,
    origins: Mapping[str, str],
    counts: Mapping[str, Mapping[str, int]] | None,
) -> list[str]:
    """Return the answer for a person."""
    rows = [
        ("Folder", str(place.folder), ""),
        ("Project", str(place.root or "none"), ""),
        ("Repository", _repository(place), place.source),
        ("", f"also {', '.join(place.also)}" if place.also else "", ""),
        (
            "Organization",
            default_organization(settings.caller()),
            origins.get("organization", "by default"),
        ),
        ("User", settings.user or "any", origins.get("user", "")),
    ]
    lines = [
        f"{name:<13} {value}" + (style(f"  ({source})", dim=True) if source else "")
        for name, value, source in rows
        if value
    ]
    lines += ["", *_consequences(settings, place, origins)]
    if counts is not None:
        own, shared, all_ = (counts[key] for key in ("shown_here", "of_no_repository", "in_all"))
        lines += [
            f"{kind:<9} {own[kind] - shared[kind]:>7,} of this project, {shared[kind]:,} of none, "
            f"{all_[kind]:,} in all"
            for kind in all_
        ]
    return lines


def _repository(place: FolderPlace) -> str:
    if place.repository is None and place.unnamed is not None:
        return "to be named when something is first written here: it has no remote"
    return place.repository or "none"


def _consequences(settings: Settings, place: FolderPlace, origins: Mapping[str, str]) -> list[str]:
    """Return sentences about the consequences for writing and searching."""
    if settings.repository is not None:
        origin = origins.get("repository", option_of("repository"))
        return [f"Held to the repository {settings.repository} by {origin}: the folder has no say."]
    if place.repository is None and place.unnamed is None:
        here = "no project; they are shown that alone"
    else:
        here = f"{place.repository or 'this project'}; they are shown that and what is of none"
    agents = (
        f"What agents of clients that `setup` or `install` entered keep here belongs to {here}."
    )
    if settings.scope_from_folder == "off":
        return [
            agents,
            "At the terminal folders have no say: what you write belongs to no project, searches show all.",
            "`minutebook settings set scope_from_folder on` has them say the same here, and for every client.",
        ]
    return [agents, "What you write at the terminal belongs there, too."]


COMMANDS = (where,)
