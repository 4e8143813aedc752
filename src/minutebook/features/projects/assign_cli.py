"""Move records of no repository, or of another, to the projects that they are about, as a person reviews it."""

import json
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from minutebook.cli.ids import memory_id
from minutebook.cli.keyboard import PATH, confirm
from minutebook.cli.opening import opened_here, settings_of
from minutebook.cli.printing import echo, say, style
from minutebook.cli.progress import bar
from minutebook.cli.terminal import as_json, identity
from minutebook.domain.caller import Caller, in_call
from minutebook.domain.counts import count_of
from minutebook.domain.errors import InvalidInput
from minutebook.domain.records import Kind
from minutebook.feature import loaded
from minutebook.features.projects.services import ProjectServices
from minutebook.whereabouts import repository_at

if TYPE_CHECKING:
    from minutebook.app import App
    from minutebook.config import Settings
    from minutebook.features.projects.assigning import Move, Moved, OwnerEvidence, OwnerProposal

_EXAMPLES = 3
"""Records that are shown of each repository."""

_LISTED = 20

_KEYS = frozenset({"kind", "organization", "id", "before", "after", "user", "why"})
_KINDS = {"memory": Kind.MEMORY, "session": Kind.TURN}
_NAMES = {kind: name for name, kind in _KINDS.items()}


@click.command(short_help="Move memories and sessions to the projects that they are about.")
@click.argument("ids", metavar="[ID]...", nargs=-1)
@click.option(
    "--to", metavar="REPOSITORY", help='Where the IDs, or all of --from, go; "" for no project.'
)
@click.option(
    "--from", "source", metavar="REPOSITORY", help="With --to: move all that belongs to this."
)
@click.option("--unsure", is_flag=True, help="Move what only names a project, too.")
@click.option(
    "--plan",
    metavar="FILE",
    type=PATH,
    help="Write what would move there; move nothing.",
)
@click.option(
    "--apply",
    "chosen",
    metavar="FILE",
    type=PATH,
    help="Move what a plan says.",
)
@click.option(
    "--undo",
    metavar="FILE",
    type=PATH,
    help="Move back what FILE, written by an earlier run, notes.",
)
@click.option("--yes", is_flag=True, help="Do not ask.")
@identity
@as_json
def assign(
    options: dict[str, str],
    ids: tuple[str, ...],
    to: str | None,
    source: str | None,
    unsure: bool,  # noqa: FBT001
    plan: Path | None,
    chosen: Path | None,
    undo: Path | None,
    yes: bool,  # noqa: FBT001
    as_json: bool,  # noqa: FBT001
) -> None:
    """Move memories and sessions that belong to no repository to those that they are about.

    What was noted when a record was written tells: the folder of its session, the file it was imported
    from. What its text names is unsure, and moved with --unsure only. The plan is shown first; --plan
    writes it to a file, to be edited and given to --apply. Each move is an entry on the audit trail, and
    --undo moves all of them back. Decisions stay: what they concern does not change.
    """
    way = _Way(ids, to, source, chosen, undo)
    way.check(plan)
    settings, left = settings_of(options), 0
    with opened_here(options) as (app, caller):
        if way.is_given:
            moves = way.moves(app, caller)
        else:
            is_all = unsure or plan is not None
            moves, left = _proposed(app, settings, caller, is_all=is_all, as_json=as_json)
        if plan is not None:
            _write(_typed(plan), moves)
            found = {"moves": [_shape(each) for each in moves], "left": left, "plan": str(plan)}
            wrote = f"Wrote {count_of(len(moves), 'move')} to {plan}. Take out what is not to move; then"
            say(found, [wrote, f"minutebook assign --apply {plan}"], as_json)
            return
        if as_json and not yes:
            say({"moves": [_shape(each) for each in moves], "left": left}, "", as_json)
            return
        if moves and not yes:
            confirm(f"Move {count_of(len(moves), 'record')}?", abort=True)
        done, note = move_all(app, settings, caller, moves, hidden=as_json)
    shape = {
        "moved": [_shape(each) for each in done.done],
        "left": [{**_shape(each), "reason": reason} for each, reason in done.left],
        "undo": None if note is None else str(note),
    }
    say(shape, outcome_lines(done, note), as_json)


def move_all(
    app: "App",
    settings: "Settings",
    caller: Caller,
    moves: "Sequence[Move]",
    *,
    hidden: bool = False,
) -> "tuple[Moved, Path | None]":
    """Make the moves, and note them for `--undo`; return the moved records, and the file."""
    with bar("Moving", hidden=hidden) as progress:
        done = app.get(ProjectServices).assigning.apply(in_call(caller, progress=progress), moves)
    return done, _note(settings, done.done)


def proposed(app: "App", settings: "Settings", caller: Caller) -> "list[OwnerProposal]":
    """Return a proposal for each record of no repository."""
    evidence = _evidence(app, settings, caller)
    return list(app.get(ProjectServices).assigning.proposals(caller, evidence))


@dataclass(frozen=True, slots=True)
class _Way:
    """A person's choice of moves: by ids and a repository, by a plan, or by an earlier run's moves."""

    ids: Sequence[str]
    to: str | None
    source: str | None
    chosen: Path | None
    undo: Path | None

    @property
    def is_given(self) -> bool:
        """Whether they say it; else it is proposed."""
        return not (self.to is None and self.chosen is None and self.undo is None)

    def check(self, plan: Path | None) -> None:
        """Raise InvalidInput if two things are asked for at once; `plan` is the file for a proposal."""
        if (self.to is None) != (not self.ids and self.source is None):
            raise InvalidInput("--to", "goes with the IDs to move, or with --from")
        ways = {"--to": self.to, "--apply": self.chosen, "--undo": self.undo}
        named = [name for name, value in ways.items() if value is not None]
        if len(named) > 1 or (named and plan is not None):
            raise InvalidInput(
                named[0], "stands alone: {names}", names=", ".join([*ways, "--plan"])
            )

    def moves(self, app: "App", caller: Caller) -> "list[Move]":
        """Return the moves: those of a file, or of the memories that are named and of all of a repository."""
        if self.undo is not None:
            return [_reversed(each) for each in _read(_typed(self.undo))]
        if self.chosen is not None:
            return _read(_typed(self.chosen))
        from minutebook.api.here import Here

        here, target = Here(app, caller), self.to or None
        assigning = app.get(ProjectServices).assigning
        moves = [assigning.move_of(caller, memory_id(here, id), target) for id in self.ids]
        if self.source is not None:
            moves += assigning.moves(caller, self.source, target)
        return moves


def _proposed(
    app: "App",
    settings: "Settings",
    caller: Caller,
    *,
    is_all: bool,
    as_json: bool,
) -> "tuple[list[Move], int]":
    """Return the moves that are proposed, of them the unsure if `is_all`, and how many records stay."""
    proposals = proposed(app, settings, caller)
    placed = [each for each in proposals if each.move.after is not None]
    count = len(proposals) - len(placed)
    if not as_json:
        echo(*_plan_lines(placed, count, is_all=is_all))
    return [each.move for each in placed if each.is_sure or is_all], count


def _typed(path: Path) -> Path:
    return Path.cwd() / path.expanduser()


def _evidence(app: "App", settings: "Settings", caller: Caller) -> "OwnerEvidence":
    """Return the evidence of the repositories to which records belong."""
    from minutebook.features.projects.assigning import OwnerEvidence

    folders = {
        key: folder for of in loaded("session_folders") for key, folder in of(settings).items()
    }
    projects = app.get(ProjectServices).assigning.indexed_folders(caller)
    return OwnerEvidence(repository_at(settings), folders, projects)


def _plan_lines(placed: "Sequence[OwnerProposal]", count: int, *, is_all: bool) -> Iterable[str]:
    """Yield the plan for a person: repository by repository, with a few records of each."""
    counts = Counter((each.move.after, each.is_sure) for each in placed)
    for repository in sorted({str(each.move.after) for each in placed}):
        sure, unsure = counts[repository, True], counts[repository, False]
        further = f", {unsure:,} unsure" if unsure else ""
        yield f"{style(repository, bold=True)}: {sure:,} sure{further}"
        own = [each for each in placed if each.move.after == repository]
        for each in sorted(own, key=lambda each: not each.is_sure)[:_EXAMPLES]:
            yield f"  {each.text}"
            yield style(f"    {'' if each.is_sure else 'unsure: '}{each.move.why}", dim=True)
    if count:
        yield f"Nothing tells of {count:,} more; they stay, and show everywhere."
    if not is_all and any(not each.is_sure for each in placed):
        yield "What is unsure stays, too; --unsure moves it, --plan FILE lets you choose."


def outcome_lines(done: "Moved", note: Path | None) -> list[str]:
    """Count the moved records; name those that were left, with the reason, and the way back."""
    lines = [f"Moved {len(done.done):,}."]
    lines += [f"Left {move.id}: {reason}" for move, reason in done.left[:_LISTED]]
    if len(done.left) > _LISTED:
        lines.append(f"… and {len(done.left) - _LISTED:,} more.")
    if note is not None:
        lines.append(f"Back again: minutebook assign --undo {note}")
    return lines


def _shape(move: "Move") -> dict[str, Any]:
    return {**asdict(move), "kind": _NAMES[move.kind]}


def _reversed(move: "Move") -> "Move":
    why = f"undone: {move.why}" if move.why else "undone"
    return replace(move, before=move.after, after=move.before, why=why)


def _note(settings: "Settings", moves: "Sequence[Move]") -> Path | None:
    """Write the moves into the data directory, for `--undo`; return the file."""
    if not moves:
        return None
    path = settings.home / f"assigned-{datetime.now(UTC):%Y%m%dT%H%M%S%f}.json"
    _write(path, moves)
    return path


def _write(path: Path, moves: "Sequence[Move]") -> None:
    from minutebook.disk.atomic_file import new_file

    lines = ",\n".join(json.dumps(_shape(each), ensure_ascii=True) for each in moves)
    with new_file(path, str(path)) as file:
        file.write(f'{{"moves": [\n{lines}\n]}}\n'.encode())


def _read(path: Path) -> "list[Move]":
    """Return the moves of a file. Raises InvalidInput if it is none, or a line of it is none."""
    from minutebook.features.projects.assigning import Move

    try:
        document = json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError, RecursionError) as error:
        raise InvalidInput(
            str(path), "must be a plan that --plan wrote: {error}", error=error
        ) from error
    listed = document.get("moves") if isinstance(document, Mapping) else None
    if not isinstance(listed, list):
        raise InvalidInput(str(path), "must be a plan that --plan wrote, with a list of moves")
    moves = []
    for number, each in enumerate(listed, 1):
        if not isinstance(each, dict) or not _is_move(each):
            raise InvalidInput(
                str(path), "is no plan: its move {number} is not as --plan writes it", number=number
            )
        moves.append(Move(**{**each, "kind": _KINDS[each["kind"]]}))
    return moves


def _is_move(each: Mapping[str, Any]) -> bool:
    optional = (each.get("before"), each.get("after"), each.get("user"))
    return (
        set(each) == _KEYS
        and each["kind"] in _KINDS
        and all(isinstance(each[name], str) for name in ("organization", "id", "why"))
        and all(value is None or (isinstance(value, str) and value) for value in optional)
    )


COMMANDS = (assign,)
