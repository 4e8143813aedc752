"""The options of `sessions` about commits of the folder's repository."""

from collections.abc import Iterator, Mapping
from datetime import datetime
from itertools import islice, takewhile
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from minutebook.ask import journal
from minutebook.cli.added_options import AddedOptions
from minutebook.cli.ids import complete_name
from minutebook.cli.opening import opened
from minutebook.cli.printing import say, short, style
from minutebook.config.folders.finding import find_place
from minutebook.config.whereabouts import scope_of
from minutebook.features.why.operations import requests_before
from minutebook.features.why.session_requests import NAMING, Request, WrittenCode, instant_of
from minutebook.record.errors import InvalidInput

if TYPE_CHECKING:
    import pygit2

    from minutebook.features.why.telling import LineChange

_TITLE = 100


def _run(options: dict[str, str], typed: Mapping[str, Any]) -> bool:
    """Print the session of a commit, or the commits of a session; return whether an option asks for either."""
    if typed["commit"] is not None:
        _print_session(options, typed)
    elif typed["commits"]:
        _list_commits(options, typed)
    else:
        return False
    return True


def _print_session(options: dict[str, str], typed: Mapping[str, Any]) -> None:
    """Print the session in which a commit was written."""
    from minutebook.features.citations.trees import commit_named, open_repository, reading_git

    repository = open_repository(Path(), "--commit")
    commit = commit_named(repository, "--commit", typed["commit"])
    with reading_git("--commit"):
        written = _written(repository, commit)
    with opened(options) as api:
        (found,) = api.run(requests_before, [written], scope_of(find_place(Path.cwd())))
    if found is None:
        say([], "No session is known in which this commit was written.", typed["as_json"])
        return
    line = f"{_perhaps(found)}{found.at:%Y-%m-%d %H:%M}  {style(found.session, dim=True)}  {short(found.prompt, _TITLE)}"
    say([found], line, typed["as_json"])


def _list_commits(options: dict[str, str], typed: Mapping[str, Any]) -> None:
    """List the commits that were made in a session."""
    if typed["name"] is None:
        raise InvalidInput("SESSION", "must be named with --commits")
    from minutebook.features.citations.trees import open_repository, reading_git
    from minutebook.features.why.telling import LineChange

    repository = open_repository(Path(), "--commits")
    with opened(options) as api:
        scope = scope_of(find_place(Path.cwd()))
        name = complete_name(
            "session's name", api.run(journal.session_names, typed["name"]), typed["name"]
        )
        turns = api.run(journal.session, name).turns
        first, last = turns[0].at, turns[-1].at + NAMING
        with reading_git("--commits"):
            commits = list(_between(repository, first, last))
            written = [_written(repository, each) for each in commits]
        requests = api.run(requests_before, written, scope) if written else []
    made = [
        LineChange.from_commit(commit, request)
        for commit, request in zip(commits, requests, strict=True)
        if request is not None and request.session == name
    ]
    nothing = "No commit of this folder's repository is known to be made in this session."
    say(made, [_line(each) for each in made] or nothing, typed["as_json"])


def _perhaps(request: Request | None) -> str:
    return "" if request is None or request.is_certain else "perhaps  "


def _line(made: "LineChange") -> str:
    subject = made.text.strip().partition("\n")[0]
    at, id = f"{made.at:%Y-%m-%d %H:%M}", style(made.short_id, dim=True)
    return f"{_perhaps(made.request)}{at}  {id}  {subject}"


def _between(
    repository: "pygit2.Repository", first: datetime, last: datetime
) -> Iterator["pygit2.Commit"]:
    """Yield the commits of all branches between two instants, newest first, without merges."""
    from minutebook.features.why.commits import reachable, tips_of

    commits = reachable(repository, tips_of(repository), None)
    since = takewhile(lambda each: instant_of(each) >= first, commits)
    return (each for each in since if instant_of(each) <= last)


def _written(repository: "pygit2.Repository", commit: "pygit2.Commit") -> WrittenCode:
    """Return the code that a commit wrote, with the names of the files that it changed."""
    from minutebook.features.citations.trees import MOST_SEARCHED
    from minutebook.features.why.commits import diff_of, written_code

    deltas = islice(diff_of(commit).deltas, MOST_SEARCHED)
    names = {each.new_file.path.rpartition("/")[2] for each in deltas}
    return written_code(repository, commit, sorted(names))


OPTIONS = AddedOptions(
    {
        "commit": click.option(
            "--commit",
            metavar="SHA",
            help="The session in which a commit of this folder's repository was written.",
        ),
        "commits": click.option(
            "--commits",
            is_flag=True,
            help="The commits of this folder's repository that were made in SESSION.",
        ),
    },
    _run,
)
