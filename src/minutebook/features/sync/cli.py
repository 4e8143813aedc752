"""Keep machines in step, through a folder, a Git repository or SSH."""

from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import click

from minutebook.cli.opening import made_here, settings_of
from minutebook.cli.printing import say, style
from minutebook.cli.progress import bar, interruptible
from minutebook.cli.terminal import as_json, counted, identity
from minutebook.memory.intake import Outcome
from minutebook.record.caller import with_call
from minutebook.record.errors import InvalidInput
from minutebook.record.reason import count_of

if TYPE_CHECKING:
    from minutebook.features.sync.comparing import MachineComparison
    from minutebook.features.sync.machines import SyncReport

_LISTED = 20

_GONE = "Gone from the remote: {}, as where it was put back to an earlier state."


@click.command(short_help="Keep two machines in step, without a server.")
@click.argument("remote")
@click.option("--check", is_flag=True, help="Change nothing; compare every record with the remote.")
@click.option(
    "--compact",
    is_flag=True,
    help="Put one snapshot in the place of the files that all have taken.",
)
@click.option(
    "--again",
    is_flag=True,
    help="Take in, too, what was removed here before the others heard of it.",
)
@identity
@as_json
@click.pass_context
def sync(
    context: click.Context,
    options: dict[str, str],
    remote: str,
    check: bool,  # noqa: FBT001
    compact: bool,  # noqa: FBT001
    again: bool,  # noqa: FBT001
    as_json: bool,  # noqa: FBT001
) -> None:
    """Take in what other machines changed, and leave what was changed here for them, in REMOTE.

    REMOTE is a folder that all of them reach, a Git repository (its address or folder, best an empty
    one) or ssh://HOST/FOLDER. What two machines edited at once is kept twice and told. All stands there
    in clear. What is gone from REMOTE is left there again. Exits with 1 if a file cannot be read, or if
    --check finds a difference or that files are gone.
    """
    from minutebook.config.places import sync_folder
    from minutebook.features.sync.machines import MachineSync
    from minutebook.features.sync.remotes import remote_of

    if check and (compact or again):
        raise InvalidInput("--check", "changes nothing: leave out --compact and --again")
    place = remote_of(remote, sync_folder(settings_of(options)), Path.cwd())
    with (
        interruptible("Stopped. The next sync goes on from here."),
        made_here(options) as (app, caller),
        bar("Syncing", hidden=as_json) as progress,
    ):
        asks = with_call(caller, progress=progress)
        answer: object
        if check:
            answer = compared = app.get(MachineSync).compare(asks, place)
            lines = _differences(compared)
            failed = bool(compared.differences or compared.refused or compared.lost)
        else:
            answer = done = app.get(MachineSync).run(asks, place, compact=compact, again=again)
            lines = _lines_of(done)
            failed = bool(done.refused)
    say(answer, lines, as_json)
    context.exit(1 if failed else 0)


def _lines_of(done: "SyncReport") -> Iterator[str]:
    machines = ", ".join(
        f"{count_of(count, 'file')} of {name}" for name, count in sorted(done.files.items())
    )
    came = f"{count_of(done.taken, 'record')} ({machines})" if done.files else "nothing"
    yield f"Taken: {came}. Sent: {count_of(done.sent, 'record') if done.sent else 'nothing'}."
    if removed := done.counts[Outcome.REMOVED]:
        yield (
            f"{counted(removed)}: removed here before machines met, so not taken in, and removed there at their next "
            "sync. With --again such records are taken in instead."
        )
    for each in done.conflicts[:_LISTED]:
        what = "removed on one machine and edited on another: the edit stands"
        if not each.was_removed or each.copies:
            what = f"edited on two machines ({', '.join(each.fields)})"
        yield style(
            f"{each.kind} {each.id} “{each.label}”: {what}{each.other_versions}", fg="yellow"
        )
    if len(done.conflicts) > _LISTED:
        yield f"… and {len(done.conflicts) - _LISTED:,} more; `minutebook audit --act conflict` lists them."
    if done.lost:
        gone = count_of(done.lost, "file")
        yield f"{_GONE.format(gone)} A snapshot of all that is here was sent in place of them."
    if done.compacted:
        yield f"One snapshot takes the place of {count_of(done.compacted, 'file')}."
    for name, reason in done.refused:
        yield style(f"{name}: not taken in: {reason}", fg="red")
    if done.refused:
        yield (
            "Nothing of such a file was taken. If it stays so, `minutebook sync REMOTE --compact` on the "
            "machine that wrote it leaves all it has there anew."
        )


def _differences(compared: "MachineComparison") -> Iterator[str]:
    words = {"here": "only here", "there": "only in the remote", "both": "another in the remote"}
    for each in compared.differences[:_LISTED]:
        yield f"{each.kind} {each.id} ({each.organization}): {words[each.held]}"
    if len(compared.differences) > _LISTED:
        yield f"… and {len(compared.differences) - _LISTED:,} more"
    for name, reason in compared.refused:
        yield style(f"{name}: cannot be read: {reason}", fg="red")
    if compared.lost:
        gone = count_of(len(compared.lost), "file")
        yield style(
            f"{_GONE.format(gone)} A sync on a machine that has them sends them again.",
            fg="red",
        )
    if compared.differences:
        yield f"Different: {count_of(len(compared.differences), 'record')}; equal: {compared.equal:,}. A sync brings them together."
    else:
        yield f"Equal: {count_of(compared.equal, 'record')} here and in the remote."
    for name, files in sorted(compared.behind.items()):
        yield f"{name}: " + (
            f"{count_of(files, 'file')} behind" if files else "has taken everything in"
        )


COMMANDS = (sync,)
