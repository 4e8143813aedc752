"""Index folders of code, find in them, list them."""

import re
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import click

from minutebook.cli.ids import complete_name
from minutebook.cli.keyboard import PATH
from minutebook.cli.opening import made_here, opened
from minutebook.cli.printing import echo, fields_of, say, short, style, warn
from minutebook.cli.progress import bar, interruptible
from minutebook.cli.terminal import as_json, identity
from minutebook.features.code import operations
from minutebook.features.code.operations import FoundChunk, IndexedProject
from minutebook.record.caller import with_call
from minutebook.record.errors import InvalidInput
from minutebook.record.reason import count_of
from minutebook.record.records import Project

if TYPE_CHECKING:
    from minutebook.app import App
    from minutebook.ask.connection import StoreConnection

_LINES = 8


@click.command(short_help="Index the code in a folder; --watch keeps it in step.")
@click.argument("path", default=".", type=PATH)
@click.option("--watch", is_flag=True, help="Stay, and read again what changes.")
@identity
@as_json
def index(options: dict[str, str], path: Path, watch: bool, as_json: bool) -> None:  # noqa: FBT001
    """Index the code in the folder PATH (default: this one), or what changed in it.

    Honours .gitignore and .memoryignore. Ctrl-C ends it at any time: what was done stays, and the
    next run goes on from there.
    """
    from minutebook.features.code.projects import Projects

    with made_here(options) as (app, caller):
        app.start()
        with (
            interruptible(
                "Stopped. What was read of the folder is kept and can be found already;",
                f"`minutebook index {path}` goes on from there.",
            ),
            bar("Indexing", hidden=as_json) as progress,
        ):
            reporting = with_call(caller, progress=progress)
            indexed = app.get(Projects).index(reporting, str(path.expanduser().absolute()), None)
        state = indexed.progress
        project = state.project
        skipped = sum(project.skipped.values())
        shape = fields_of(project) | {"chunks": state.chunks, "chunks_created": indexed.created}
        lines = [
            f"{project.id}: {count_of(project.indexed_files, 'file')}, {count_of(state.chunks, 'chunk')}, "
            f"{indexed.created or 0} of them new."
        ]
        if indexed.created is None:
            lines = [f"{project.id} is being indexed by another process: {state.part:.0%} done."]
        if skipped:
            reasons = ", ".join(
                f"{n} {why.replace('_', ' ')}" for why, n in project.skipped.items()
            )
            lines.append(f"Left out: {reasons}.")
        if app.embedding.state == "error":
            lines.append(f"By words only: {app.embedding.reason}")
        say(shape, lines, as_json)
        if watch:
            _watch(app, project)


def _watch(app: "App", project: Project) -> None:
    """Watch a project until Ctrl-C."""
    from minutebook.features.code.watching import Watching

    warn(f"Watching {project.path}. Ctrl-C ends it.")

    def changed(each: Project) -> None:
        warn(f"{app.clock():%H:%M:%S}  read what changed in {each.id}")

    app.get(Watching).watch(project, changed)
    try:
        app.get(Watching).join(project)
    except KeyboardInterrupt:
        warn("")


@click.command(short_help="Find code by what it does or is called; list what is indexed.")
@click.argument("query", required=False)
@click.option("--project", help="Only in this project.")
@click.option("--language", help="Only in this language.")
@click.option("--limit", type=click.IntRange(1, 50), default=5, show_default=True)
@click.option(
    "--delete",
    metavar="ID",
    help="Forget this project and its chunks.",
)
@identity
@as_json
def code(
    options: dict[str, str],
    query: str | None,
    project: str | None,
    language: str | None,
    limit: int,
    delete: str | None,
    as_json: bool,  # noqa: FBT001
) -> None:
    """Find code by what it does or what it is called.

    Without QUERY, list the projects that are indexed, and how far each is.
    """
    if delete is not None and query is not None:
        raise InvalidInput("--delete", "goes with no QUERY")
    if query is None and (project, language) != (None, None):
        raise InvalidInput("QUERY", "is needed with --project and --language")
    if query is None:
        _list_projects(options, delete, as_json=as_json)
        return
    if not query.strip():
        raise InvalidInput("QUERY", "must not be empty")
    with opened(options) as api:
        roots = _roots(api)
        project = None if project is None else complete_name("project's name", roots, project)
        found = api.run(operations.search_code, query, limit, project, language)
    if as_json:
        say(found, "", as_json)
        return
    from minutebook.text.words import words

    if not found:
        echo("Nothing found." if roots else "No project is indexed; run `minutebook index`.")
    terms = {word.casefold() for word in words(query)}
    for each in found:
        echo(*_hit_lines(each, roots[each.chunk.project], terms))


def _hit_lines(hit: FoundChunk, root: Path, terms: set[str]) -> Iterator[str]:
    """Yield the lines that show a chunk, with the words of the question marked."""
    chunk = hit.chunk
    location = style(f"{_shown(root, chunk.path)}:{chunk.start_line}", fg="cyan")
    name = f"  {style(chunk.name, bold=True)}" if chunk.name else ""
    yield f"{location}{name}  {style(f'{hit.relevance:.2f}', dim=True)}"
    lines = chunk.content.rstrip().splitlines()
    for number, line in enumerate(lines[:_LINES], chunk.start_line):
        yield f"{style(f'{number:>6}', dim=True)}  {_marked(line, terms)}"
    if len(lines) > _LINES:
        yield style(f"        … {len(lines) - _LINES} more lines", dim=True)
    yield ""


def _list_projects(options: dict[str, str], delete: str | None, *, as_json: bool) -> None:
    """Print the projects that are indexed, or forget one."""
    with opened(options) as api:
        if delete is not None:
            delete = complete_name("project's name", _roots(api), delete)
            removed = api.run(operations.delete_project, delete)
            say(
                {"chunks_deleted": removed},
                f"Forgot {delete} and its {count_of(removed, 'chunk')}.",
                as_json,
            )
            return
        found = api.run(operations.projects)
    lines = [line for each in found for line in _project_lines(each)]
    say(found, lines or "No project is indexed; run `minutebook index`.", as_json)


def _project_lines(indexed: IndexedProject) -> Iterator[str]:
    project = indexed.project
    yield (
        f"{style(project.id, bold=True)}  {project.state} {indexed.part:.0%}  "
        f"{count_of(project.indexed_files, 'file')}, {count_of(indexed.chunks, 'chunk')}  {style(project.path, dim=True)}"
    )
    if project.reason:
        yield f"  {project.reason}"


def _roots(api: "StoreConnection") -> dict[str, Path]:
    """Return each project's folder by its id; its id in place of the folder if a server has it, which does not tell."""
    found = (each.project for each in api.run(operations.projects))
    return {project.id: Path(project.path or project.id) for project in found}


def _shown(root: Path, path: str) -> str:
    """Return the path of a project's file, relative to the current folder if it is below that."""
    whole = root / path
    here = Path.cwd()
    return str(whole.relative_to(here) if whole.is_relative_to(here) else whole)


def _marked(line: str, terms: set[str]) -> str:
    """Return a line with its words among `terms` in yellow, cut to 160 characters."""
    return re.sub(
        r"\w+",
        lambda found: style(found[0], fg="yellow") if found[0].casefold() in terms else found[0],
        short(line.expandtabs(4), 160),
    )


COMMANDS = (index, code)
