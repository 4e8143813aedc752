"""The state of the store and the model, and their repair."""

import sys
from typing import TYPE_CHECKING

import click

from minutebook import __version__
from minutebook.ask import upkeep as operations
from minutebook.ask.upkeep import ModelState
from minutebook.cli.opening import opened, opened_here, settings_of
from minutebook.cli.printing import say, warn
from minutebook.cli.terminal import as_json, identity
from minutebook.feature import entries_of
from minutebook.record.errors import InvalidInput, StoreDamaged
from minutebook.record.reason import count_of
from minutebook.record.records import Kind

if TYPE_CHECKING:
    from minutebook.config import Settings
    from minutebook.memory.maintenance.doctor import Finding

_PLURALS = {
    Kind.MEMORY: "memories",
    Kind.ENTITY: "entities",
    Kind.RELATION: "relations",
    Kind.DECISION: "decisions",
    Kind.TURN: "turns",
    Kind.SUMMARY: "summaries",
    Kind.CHUNK: "chunks",
    Kind.COMMIT: "commits",
}
"""The kinds that are counted, with their plurals."""


@click.command(short_help="Tell where the store is and what it holds.")
@identity
@as_json
def status(options: dict[str, str], as_json: bool) -> None:  # noqa: FBT001
    """Tell where the store is, what it holds and how the model is."""
    with opened(options) as api:
        found = api.run(operations.status, list(_PLURALS))
    shape: dict[str, object] = {
        "version": __version__,
        "home": found.home,
        **({"store": found.place} if found.is_on_server else {}),
        **({} if found.placement is None else {"placement": found.placement}),
        **{_PLURALS[kind]: count for kind, count in found.held.items()},
        "policy": found.policy,
        **_model_status(found.model, options),
        "to_analyse": found.to_analyse,
        "bytes": found.size,
        **found.feature_lines,
        "token_state_bytes": {
            _PLURALS[kind]: size for kind, size in found.token_states.items() if kind in _PLURALS
        },
    }
    lines = [
        f"{name.replace('_', ' '):<17} {_status_text(value)}"
        for name, value in shape.items()
        if value not in ("", None)
    ]
    say(shape, lines, as_json)


def _model_status(model: ModelState, options: dict[str, str]) -> dict[str, object]:
    """Return the lines of the status about the model, by name."""
    state, reason = model.state, model.reason
    if state is None:
        # The process that has the store has not used its model yet: look whether it could be loaded.
        from minutebook.config.models import open_embedding

        state, reason = open_embedding(settings_of(options)).unloaded
    return {
        "model": model.name,
        "dimensions": model.dimensions,
        "model_state": state,
        "model_reason": reason,
        "to_embed": model.to_embed,
        "seconds_to_embed": model.seconds_to_embed,
    }


def _status_text(value: object) -> object:
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
    _remove_unfinished(settings_of(options))
    findings, place = _findings(options, repair=repair)
    if start_anew:
        _start_anew(options, is_damaged=any(each.is_damage for each in findings))
        findings, place = _findings(options, repair=False)
    settings = settings_of(options)
    findings += [each for look in entries_of("checks_here") for each in look(settings)]
    facts = [each.finding for each in findings if not each.is_fault]
    findings = [each for each in findings if each.is_fault] + _daemon_findings(options, settings)
    shapes = [{"finding": each.finding, "remedy": each.remedy} for each in findings]
    paragraphs = [
        (each.finding, *([f"  → {each.remedy}"] if each.remedy else [])) for each in findings
    ]
    lines = [line for each in paragraphs for line in each] or ["Everything is in order."]
    lines += facts
    if settings.store is not None:
        lines.append(f"The store is on a server: {place}")
    say(shapes, lines, as_json)
    sys.exit(1 if findings else 0)


def _findings(options: dict[str, str], *, repair: bool) -> "tuple[list[Finding], str]":
    """Return the findings about the store, and its place, which is "" if it cannot be opened."""
    from minutebook.config.places import damage_of
    from minutebook.memory.maintenance.doctor import Finding

    findings, place = list[Finding](), ""
    try:
        with opened_here(options) as (app, caller):
            place = app.database.place
            if repair:
                try:
                    app.doctor.repair(caller)
                except StoreDamaged as error:
                    finding = f"What is derived could not be rebuilt: {error.what}"
                    findings.append(Finding(finding, "", is_damage=True))
            app.embedding.settle()
            findings += app.doctor.examine()
    except StoreDamaged as error:
        findings.append(Finding(error.what, "", is_damage=True))
    if any(each.is_damage for each in findings):
        known = {each.finding for each in findings}
        found = damage_of(settings_of(options))
        findings += [each for each in found if each.finding not in known]
    return findings, place


def _daemon_findings(options: dict[str, str], settings: "Settings") -> "list[Finding]":
    """Return findings about daemons that serve clients of this store, but not commands with these settings."""
    from minutebook.ask.over_socket import refusal
    from minutebook.cli.commands.daemon import daemons_of
    from minutebook.config import environment
    from minutebook.memory.maintenance.doctor import Finding
    from minutebook.serve.daemon.rendezvous import daemon_address
    from minutebook.serve.invocation import Invocation

    if settings.daemon == "off":
        return []
    invocation = Invocation(options, (), environment())
    try:
        own_lock = daemon_address(invocation.address).lock
        serving = [each for each in daemons_of(settings) if each[1]["clients"]]
    except OSError as error:
        return [Finding(f"No daemon can be reached: {error}", "")]
    another = "it is of another installation or version"
    return [
        Finding(
            f"The daemon in process {status['pid']} serves {count_of(status['clients'], 'client')} of this store, and no "
            f"commands and hooks that start as this one does: {why}.",
            "give both the same in `minutebook install`, then `minutebook daemon stop`; clients that are open start the next",
        )
        for address, status in serving
        if (why := another if address.lock != own_lock else refusal(invocation))
    ]


def _remove_unfinished(settings: "Settings") -> None:
    """Remove the unfinished files that killed backups, restores and exports left, and report it on stderr."""
    from minutebook.config.places import data_directory

    if removed := data_directory(settings).clear():
        warn(
            f"Removed {count_of(removed, 'unfinished file')} that a killed backup, restore or export had left."
        )


def _start_anew(options: dict[str, str], *, is_damaged: bool) -> None:
    """Put the database aside and begin an empty one. Raises InvalidInput if it is not damaged."""
    from minutebook.app import now
    from minutebook.config.places import data_directory
    from minutebook.memory.maintenance.data_directory import start_anew

    if not is_damaged:
        raise InvalidInput(
            "--start-anew", "is for a damaged or lost database; --home names another data directory"
        )
    aside = start_anew(data_directory(settings_of(options)), now())
    warn(f"An empty store was begun. What was left of the old database is in {aside}.")


COMMANDS = (status, doctor)
