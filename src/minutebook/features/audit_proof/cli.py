"""The commands that list the audit trail, prove it, sign its end and note the end elsewhere."""

import re
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING

import click

from minutebook.cli.filters import parsed_time
from minutebook.cli.ids import any_id
from minutebook.cli.keyboard import PATH
from minutebook.cli.opening import check_begun, opened, opened_here, settings_of
from minutebook.cli.printing import echo, say, style, warn
from minutebook.cli.terminal import Commands, as_json, entry_line, identity
from minutebook.features.audit_proof import operations
from minutebook.features.audit_proof.head_signatures import Signed
from minutebook.features.audit_proof.settings import ProofSettings
from minutebook.features.audit_proof.trail_proof import NOT_PROVED, Proof
from minutebook.record.caller import Caller
from minutebook.record.errors import InvalidInput
from minutebook.record.instants import rfc3339
from minutebook.record.reason import count_of
from minutebook.record.records import Head

if TYPE_CHECKING:
    from minutebook.app import App

MOST_NAMED = 20
"""The most records of one trail that are named at a terminal; `--json` names all."""


@click.group(
    cls=Commands,
    invoke_without_command=True,
    short_help="List who did what to which record; prove the trail.",
)
@click.option("--actor", help="Only what this agent or person did.")
@click.option("--client", help="Only what came through this program: claude-code, cursor…")
@click.option("--act", help="Only these acts: created, update, lock, read…")
@click.option("--subject", help="Only what concerns the record with this id.")
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
    with opened(options) as api:
        named = {
            "actor": actor,
            "client": client,
            "act": act,
            "subject": None if subject is None else any_id(api, subject),
            "outcome": outcome,
        }
        found = api.run(operations.entries, limit, named, parsed_time("--since", since))
    lines = []
    for each in found:
        entry = each.entry
        where = style(f"{entry.organization} {entry.number:>6}", dim=True)
        other = "" if each.uuid is None else f" ({each.uuid})"
        lines.append(f"{where}  {entry_line(entry)}  {entry.subject_kind} {entry.subject}{other}")
    say(found, lines or "No entries.", as_json)


@audit.command("verify", short_help="Prove that no entry was changed or removed.")
@click.option("--noted", metavar="NUMBER:DIGEST", help="An end that was noted earlier.")
@click.option(
    "--heads", type=PATH, help="The file or folder in which `audit head --to` noted ends."
)
@click.option(
    "--key",
    metavar="KEY|FILE",
    help="The public key by which the trail must be signed; else that of `audit_key`.",
)
@identity
@as_json
@click.pass_context
def audit_verify(
    context: click.Context,
    options: dict[str, str],
    noted: str | None,
    heads: Path | None,
    key: str | None,
    as_json: bool,  # noqa: FBT001
) -> None:
    """Prove that no entry was changed, removed, reordered or put in; exit with 1 if one was.

    Memories with all their versions, decisions, proposals, sessions, entities, links, relations and tokens are
    compared with the trail's digests, too; what is not is listed. Each trail's end is printed. Noted elsewhere and given again as --noted (with --organization) or
    --heads, it proves that the trail has only grown since.
    """
    ends = [] if heads is None else _read_heads(heads)
    public = None if key is None else _public_key(key)
    if noted is not None:
        number, digest = _parse_noted_end(noted)
        # Of the caller's organization, which only the store's process knows.
        ends.append(Head(organization="", id="", number=number, digest=digest))
    with opened(options) as api:
        proofs = api.run(operations.prove, ends, public)
    not_proved = ["Not compared with the trail:", *(f"  {each}" for each in NOT_PROVED)]
    lines = [line for each in proofs for line in _proof_lines(each)]
    lines += [style(line, dim=True) for line in not_proved]
    say({"proofs": proofs, "not_proved": NOT_PROVED}, lines, as_json)
    unsigned = key is not None and any(each.head and not each.signed.number for each in proofs)
    if unsigned or not all(each.is_sound for each in proofs):
        context.exit(1)


def _proof_lines(proof: Proof) -> Iterator[str]:
    if proof.broken is not None:
        reason = f"broken at entry {proof.broken.number}: {proof.broken.reason}"
        yield style(f"{proof.organization}: {reason}", fg="red")
        return
    if proof.head is None:
        yield f"{proof.organization}: no entries"
        return
    yield f"{proof.organization}: {count_of(proof.head.number, 'entry', 'entries')}, sound"
    yield style(f"  its end is {proof.head.number}:{proof.head.digest}", dim=True)
    yield from _signed_lines(proof.signed, proof.head)
    for erased in proof.erased[:MOST_NAMED]:
        yield f"  {erased.kind} {erased.id} was erased at {rfc3339(erased.at)}"
    yield from _more(len(proof.erased), "were erased")
    for each in proof.differences[:MOST_NAMED]:
        yield style(f"  {each.kind} {each.id}: {each.reason}", fg="red")
    yield from _more(len(proof.differences), "are not as the trail says")


def _signed_lines(signed: Signed, head: Head) -> Iterator[str]:
    if signed.broken is not None:
        yield style(f"  entry {signed.broken.number}: {signed.broken.reason}", fg="red")
    elif signed.key is not None and signed.at is None:
        yield style(f"  no entry is signed by {signed.key}", fg="red")
    elif signed.key is not None and signed.at is not None:
        # The signature is the entry after the one that it signs.
        since = head.number - signed.number - 1
        later = f"; not yet signed are the {since:,} last" if since else ""
        yield f"  signed up to entry {signed.number} at {rfc3339(signed.at)} by {signed.key}{later}"
    for other in signed.others:
        yield style(f"  also signed by {other}, which was not checked", dim=True)


def _more(count: int, what: str) -> Iterator[str]:
    if count > MOST_NAMED:
        yield f"  {count - MOST_NAMED:,} more {what}; --json names them"


@audit.command(short_help="Print where each trail ends, or note it elsewhere.")
@click.option(
    "--to",
    type=PATH,
    help="A file that lines are added to, or a folder that each run adds a file to.",
)
@identity
@as_json
def head(options: dict[str, str], to: Path | None, as_json: bool) -> None:  # noqa: FBT001
    """Print the number and digest of each trail's last entry.

    With --to they are noted there, those alone that are new: on another disk or machine, by a
    scheduler. `minutebook audit verify --heads` later proves that the trail still holds each.
    """
    with opened(options) as api:
        heads = api.run(operations.heads)
    lines = [f"{each.organization} {each.number}:{each.digest}" for each in heads]
    if to is not None:
        from minutebook.features.audit_proof.noted_heads import note_heads

        path, count = note_heads(to, heads, datetime.now(UTC))
        lines = [f"Noted {count} in {path}." if count else f"Nothing new to note in {to}."]
    say(heads, lines, as_json)


@audit.command(short_help="Make the key that signs the trail.")
@click.option("--to", type=PATH, help="The file of the key, outside the data directory.")
@click.option(
    "--replace", is_flag=True, help="Make another key in the place of the one that is there."
)
@identity
def key(options: dict[str, str], to: Path | None, replace: bool) -> dict[str, object]:  # noqa: FBT001
    """Make the private key that signs where trails end, set it as `audit_key`, and sign.

    Its public half is printed, and written beside it: keep it elsewhere, for `audit verify --key`.
    """
    from minutebook.cli.commands.settings import write_setting
    from minutebook.features.audit_proof.trail_key import make_key

    settings = settings_of(options)
    check_begun(settings)
    path = to or settings.of(ProofSettings).audit_key or default_key(settings.home)
    path = path.expanduser().absolute()
    if path.resolve().is_relative_to(settings.home.resolve()):
        raise InvalidInput("--to", "must lie outside the data directory {home}", home=settings.home)
    if to is None:
        path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
    public = make_key(path, replace=replace)
    write_setting(options, "audit_key", str(path))
    echo(f"The private key is {path}. Its public half, to be kept elsewhere:", public)
    with opened_here(options) as (app, caller):
        _sign(app, caller, accept=False)
    return {"path": path, "public": public}


@audit.command(short_help="Sign where each trail ends.")
@click.option(
    "--accept",
    is_flag=True,
    help="Also a trail that does not continue the end that was signed last, as after a restore.",
)
@identity
def sign(options: dict[str, str], accept: bool) -> dict[str, object]:  # noqa: FBT001
    """Sign where each trail ends with the key of `audit_key`; a daemon or server does it each minute.

    A trail that does not continue the end that was signed last is not signed, and named; exit with 1.
    """
    with opened_here(options) as (app, caller):
        _sign(app, caller, accept=accept)
    return {"signed": True}


def default_key(home: Path) -> Path:
    """Return the file in which the key of a data directory is made if no other is named."""
    import zlib

    import platformdirs

    folder = Path(platformdirs.user_config_dir("minutebook", appauthor=False))
    return folder / f"trail-{zlib.crc32(str(home.resolve()).encode()):08x}.key"


def _sign(app: "App", caller: Caller, *, accept: bool) -> None:
    """Sign each trail, and warn of those that were not signed; exit with 1 if there are any."""
    from minutebook.features.audit_proof.signing import head_signing

    refused = app.get(head_signing).sign(caller, accept=accept)
    for each in refused:
        warn(
            f"The trail of {each.organization} was not signed: it does not continue the end that was "
            f"signed last (entry {each.broken.number}: {each.broken.reason}). If a backup was restored, "
            "`minutebook audit sign --accept` signs it as it is; else compare it with a backup."
        )
    if refused:
        raise SystemExit(1)
    echo("Every trail is signed.")


def _read_heads(path: Path) -> list[Head]:
    from minutebook.features.audit_proof.noted_heads import read_heads

    found, torn = read_heads(path)
    if torn:
        warn(f"{torn} lines in {path} are not whole, and were left out.")
    return found


def _public_key(key: str) -> str:
    """Return a public key, given itself or as a file with it. Raises InvalidInput if it is none."""
    from minutebook.features.audit_proof.head_signatures import PREFIX, public_key_bytes

    if not key.startswith(PREFIX):
        try:
            key = Path(key).read_text(encoding="ascii")
        except (OSError, ValueError) as error:
            remedy = "must be a public key ({prefix}…) or a file with one ({error})"
            raise InvalidInput("--key", remedy, prefix=PREFIX, error=error) from error
    public_key_bytes(key)
    return key.strip()


def _parse_noted_end(text: str) -> tuple[int, str]:
    """Return number and digest of an end as `audit verify` prints it. Raises InvalidInput if it is none."""
    match = re.fullmatch(r"([1-9]\d*):([0-9a-f]{64})", text.strip())
    if match is None:
        raise InvalidInput("--noted", "must be an end as `minutebook audit verify` prints it")
    return int(match[1]), match[2]


COMMANDS = (audit,)
