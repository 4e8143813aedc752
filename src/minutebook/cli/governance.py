"""Lock, verify, deprecate, restore and link memories; write for everyone; read the audit trail."""

import re
from collections.abc import Callable, Iterator, Mapping
from typing import TYPE_CHECKING

import click

from minutebook.cli.ids import any_id, completing, memory_id
from minutebook.cli.printing import echo, say, style
from minutebook.cli.terminal import (
    as_json,
    both_ids,
    entry_line,
    fields_of,
    identity,
    one_of,
    opened,
    opened_or_made,
    text_given,
)
from minutebook.cli.times import time_given
from minutebook.domain.caller import Caller
from minutebook.domain.errors import InvalidInput
from minutebook.domain.records import Decision, Entry, Head, Kind, Memory, Proposal

if TYPE_CHECKING:
    from minutebook.app import App
    from minutebook.services.access.audit import Proof


def _stand(
    options: dict[str, str], id: str, done: str, act: Callable[["App", Caller, str], Memory]
) -> None:
    with opened(options) as (app, caller):
        memory = act(app, caller, memory_id(app, caller, id))
    echo(f"{done} {both_ids(memory)}; its status is {memory.status}.")


@click.command(short_help="Let nobody change or remove a memory.")
@click.argument("id", shell_complete=completing(Memory))
@identity
def lock(options: dict[str, str], id: str) -> None:
    """Lock the memory ID: nobody changes or removes it until it is unlocked (needs --role manager)."""
    _stand(options, id, "Locked", lambda app, caller, memory: app.status.lock(caller, memory))


@click.command(short_help="Let a locked memory be changed again.")
@click.argument("id", shell_complete=completing(Memory))
@identity
def unlock(options: dict[str, str], id: str) -> None:
    """Unlock the memory ID; it has the status again that it had before (needs --role manager)."""
    _stand(options, id, "Unlocked", lambda app, caller, memory: app.status.unlock(caller, memory))


@click.command(short_help="Mark a memory as checked by a person.")
@click.argument("id", shell_complete=completing(Memory))
@identity
def verify(options: dict[str, str], id: str) -> None:
    """Mark the memory ID as checked by a person; a deprecated one holds again."""
    _stand(options, id, "Verified", lambda app, caller, memory: app.status.verify(caller, memory))


@click.command(short_help="Mark a memory as out of date.")
@click.argument("id", shell_complete=completing(Memory))
@click.option("--reason", required=True, help="Why it is out of date.")
@identity
def deprecate(options: dict[str, str], id: str, reason: str) -> None:
    """Mark the memory ID as out of date: agents no longer find it, its history stays."""
    if not reason.strip():
        raise InvalidInput("--reason", "must not be empty")
    _stand(
        options,
        id,
        "Deprecated",
        lambda app, caller, memory: app.status.deprecate(caller, memory, reason),
    )


def restore_memory(options: dict[str, str], id: str, number: int | None) -> None:
    """Bring back a soft-deleted memory or, as a new version, the text of an earlier one."""
    with opened(options) as (app, caller):
        memory = app.memories.restore(caller, memory_id(app, caller, id), number)
    echo(f"Restored {both_ids(memory)}; it is at version {memory.version}.")


@click.command(short_help="Link one memory to another.")
@click.argument("source", shell_complete=completing(Memory))
@click.argument("target", shell_complete=completing(Memory))
@click.option(
    "--type", "link_type", default="related", show_default=True, help="`related` leads both ways."
)
@identity
def link(options: dict[str, str], source: str, target: str, link_type: str) -> None:
    """Lead from the memory SOURCE to the memory TARGET."""
    if not link_type.strip():
        raise InvalidInput("--type", "must not be empty")
    with opened(options) as (app, caller):
        source, target = memory_id(app, caller, source), memory_id(app, caller, target)
        edge = app.links.link(caller, source, target, link_type)
    echo(f"Linked {edge.source} to {edge.target} as {edge.type}.")


@click.group()
def system() -> None:
    """Keep what everyone in every organization is to know."""


@system.command(short_help="Keep a text in system scope.")
@click.argument("text")
@click.option("--type", "memory_type", default="fact", show_default=True)
@click.option("--title", help="One short sentence.")
@identity
@as_json
def write(
    options: dict[str, str],
    text: str,
    memory_type: str,
    title: str | None,
    as_json: bool,  # noqa: FBT001
) -> None:
    """Keep TEXT in system scope ("-" reads it from stdin); every organization may read it."""
    from minutebook.domain.drafts import Draft
    from minutebook.domain.records import MemoryType, ScopeLevel

    type = one_of(MemoryType, "--type", memory_type)
    draft = Draft(content=text_given(text), type=type, title=title, scope=ScopeLevel.SYSTEM)
    with opened_or_made(options) as (app, caller):
        memory = app.memories.store(caller, draft)
    say({"id": memory.id}, memory.id, as_json)


@click.group(
    invoke_without_command=True, short_help="List who did what to which record; prove the trail."
)
@click.option("--actor", help="Only what this agent or person did.")
@click.option("--client", help="Only what came through this program: claude-code, cursor…")
@click.option("--act", help="Only these acts: created, update, lock, read…")
@click.option(
    "--subject",
    help="Only what concerns the record with this id.",
    shell_complete=completing(Memory, Decision, Proposal),
)
@click.option("--outcome", help="Only this outcome: done, Locked, Forbidden, ScopeViolation…")
@click.option(
    "--since", help="Only from this time on: 2026-01-31, 2026-01-31T12:00, or 30m, 12h, 7d."
)
@click.option("--limit", type=click.IntRange(1), default=50, show_default=True)
@identity
@as_json
@click.pass_context
def audit(
    context: click.Context,
    options: dict[str, str],
    actor: str | None,
    client: str | None,
    act: str | None,
    subject: str | None,
    outcome: str | None,
    since: str | None,
    limit: int,
    as_json: bool,  # noqa: FBT001
) -> None:
    """List who did what to which record, newest first; refusals too."""
    if context.invoked_subcommand is not None:
        return
    with opened(options) as (app, caller):
        entries = app.trail.entries(
            caller,
            actor=actor,
            client=client,
            act=act,
            subject=None if subject is None else any_id(app, caller, subject),
            outcome=outcome,
            since=time_given("--since", since),
            limit=limit,
        )
        uuids = app.browsing.subject_uuids(caller, entries)
    lines = []
    for entry in entries:
        where = style(f"{entry.organization} {entry.number:>6}", dim=True)
        other = "".join(f" ({uuid})" for uuid in _uuid_of(entry, uuids).values())
        lines.append(f"{where}  {entry_line(entry)}  {entry.subject_kind} {entry.subject}{other}")
    shapes = [fields_of(each) | _uuid_of(each, uuids) for each in entries]
    say(shapes, lines or "No entries.", as_json)


def _uuid_of(entry: Entry, uuids: Mapping[tuple[str, str], str]) -> dict[str, str]:
    """Return the UUID of the memory that an entry concerns as a field, if it concerns one."""
    uuid = uuids.get((entry.organization, entry.subject))
    return {} if uuid is None or entry.subject_kind is not Kind.MEMORY else {"subject_uuid": uuid}


@audit.command("verify", short_help="Prove that no entry was changed or removed.")
@click.option("--noted", metavar="NUMBER:DIGEST", help="An end that was noted earlier.")
@identity
@as_json
@click.pass_context
def audit_verify(
    context: click.Context,
    options: dict[str, str],
    noted: str | None,
    as_json: bool,  # noqa: FBT001
) -> None:
    """Prove that no entry was changed, removed, reordered or put in; exit with 1 if one was.

    Each trail's end is printed. Noted elsewhere and given again as --noted (with --organization),
    it proves that the trail has only grown since.
    """
    with opened(options) as (app, caller):
        head = None
        if noted is not None:
            number, digest = _noted(noted)
            if caller.organization is None:
                raise InvalidInput("--noted", "needs --organization: whose trail it is the end of")
            head = Head(organization=caller.organization, id="", number=number, digest=digest)
        proofs = app.trail.prove(caller, head)
    shapes = [
        {
            "organization": each.organization,
            "entries": 0 if each.head is None else each.head.number,
            "digest": None if each.head is None else each.head.digest,
            "broken": None if each.broken is None else fields_of(each.broken),
        }
        for each in proofs
    ]
    say(shapes, [line for each in proofs for line in _proof_lines(each)], as_json)
    if any(each.broken is not None for each in proofs):
        context.exit(1)


def _proof_lines(proof: "Proof") -> Iterator[str]:
    if proof.broken is not None:
        reason = f"broken at entry {proof.broken.number}: {proof.broken.reason}"
        yield style(f"{proof.organization}: {reason}", fg="red")
    elif proof.head is None:
        yield f"{proof.organization}: no entries"
    else:
        yield f"{proof.organization}: {proof.head.number} entries, sound"
        yield style(f"  its end is {proof.head.number}:{proof.head.digest}", dim=True)


def _noted(text: str) -> tuple[int, str]:
    match = re.fullmatch(r"([1-9]\d*):([0-9a-f]{64})", text.strip())
    if match is None:
        raise InvalidInput("--noted", "must be an end as `minutebook audit verify` prints it")
    return int(match[1]), match[2]


COMMANDS = (lock, unlock, verify, deprecate, link, system, audit)
