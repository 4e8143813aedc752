"""The step to a store with projects, offered once: by `setup`, which asks, and by `doctor`, which names the command."""

import getpass
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import closing
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from minutebook.cli.commands.setup import Offer, SetupRun, Stage, Steps
from minutebook.cli.printing import echo
from minutebook.config import Settings
from minutebook.domain.counts import count_of
from minutebook.domain.errors import MinutebookError
from minutebook.features.projects.assign_cli import move_all, outcome_lines, proposed

if TYPE_CHECKING:
    from minutebook.app import App
    from minutebook.domain.caller import Caller
    from minutebook.features.projects.assigning import Move

_OFFERED = "projects-offered"
"""The file in the data directory that tells that a person was asked."""


def offers(run: SetupRun) -> Iterator[Offer]:
    """Yield the moves of records of no project to the projects that were noted when they were written."""
    if not run.is_begun() or _is_offered(run.settings.home):
        return
    app, caller = run.store
    moves = _sure(app, replace(run.settings, read_only=run.only_looks), caller)
    if not moves:
        return
    by_project = Counter(str(move.after) for move in moves).most_common()
    yield Offer(
        subject=f"{count_of(len(moves), 'record')} of no project",
        lines=[
            *(f"{count:,} of {name}" for name, count in by_project),
            "as their folder or file tells; until then each project's agents are shown all of them",
        ],
        question="Move them to these projects?",
        work=partial(_move, run, moves),
    )
    if not run.only_looks:
        (run.settings.home / _OFFERED).touch()


def lately_here(settings: Settings) -> list[str]:
    """Return a line on records that could belong to projects, until a person was asked."""
    if _is_offered(settings.home):
        return []
    from minutebook.app import open_app

    try:
        with closing(open_app(settings)) as app:
            person = settings.person({}, getpass.getuser())
            moves = _sure(app, replace(settings, read_only=True), person)
    except MinutebookError:
        # What is wrong with the store is told above.
        return []
    if not moves:
        return []
    count = count_of(len(moves), "record")
    return [f"{count} of no project: `minutebook assign` shows to which they could go, and asks."]


def _is_offered(home: Path) -> bool:
    return (home / _OFFERED).exists() or any(home.glob("assigned-*.json"))


def _sure(app: "App", settings: Settings, caller: "Caller") -> "list[Move]":
    """Return the moves that are sure; settings that only read give no repository a name."""
    return [
        each.move for each in proposed(app, settings, caller) if each.is_sure and each.move.after
    ]


def _move(run: SetupRun, moves: "Sequence[Move]") -> None:
    app, caller = run.store
    done, note = move_all(app, run.settings, caller, moves)
    echo(*(f"  {line}" for line in outcome_lines(done, note)))


STEPS = Steps(Stage.PROJECTS, offers)
