"""Say why lines of code are as they are."""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from itertools import islice
from pathlib import Path

import click
import pygit2

from minutebook.cli.opening import opened
from minutebook.cli.printing import body, say, short, style
from minutebook.cli.terminal import as_json, identity
from minutebook.domain.errors import InvalidInput
from minutebook.features.citations import operations as citing
from minutebook.features.citations.definitions import definitions_of
from minutebook.features.citations.operations import CitingText
from minutebook.features.citations.references import Reference, references_in
from minutebook.features.citations.trees import Blobs, open_repository
from minutebook.features.why import operations
from minutebook.features.why.line_history import LineRange, history_of
from minutebook.features.why.operations import Request
from minutebook.folders.finding import find_place
from minutebook.whereabouts import scope_of

_PLACE = re.compile(
    r"(?P<path>.+?)(?::(?P<first>\d+)(?:-(?P<last>\d+))?|:(?P<symbol>[^:\d/\\].*))?", re.DOTALL
)
_TITLE = 100


@dataclass(frozen=True, slots=True)
class AskedLines:
    """LineRange of a file that are asked about, and the names by which texts cite them."""

    lines: LineRange
    names: tuple[str, ...]

    def is_cited_in(self, text: str) -> bool:
        """Tell whether a text cites the lines: their file alone, lines of it that they touch, or their definition."""
        return any(map(self._is_cited_by, references_in(text)))

    def _is_cited_by(self, reference: Reference) -> bool:
        path, lines = reference.path, reference.lines
        is_here = path is not None and f"/{self.lines.path}".endswith(f"/{path}")
        if reference.symbol:
            is_named = self.names[-1:] == reference.symbol[-1:]
            return is_named and (is_here or path is None)
        return is_here and (
            lines is None or (lines[0] <= self.lines.end and lines[1] > self.lines.first)
        )


@dataclass(frozen=True, slots=True)
class LineChange:
    """A commit that changed the lines, and the request before it, None where no session of then is kept."""

    commit: pygit2.Commit
    request: Request | None

    @property
    def at(self) -> datetime:
        """The instant of the commit."""
        return datetime.fromtimestamp(self.commit.commit_time, UTC)


@click.command(short_help="Say why a line, a definition or a file is as it is.")
@click.argument("place", metavar="FILE[:LINE[-LINE]|:NAME]")
@click.option("--limit", type=click.IntRange(1, 100), default=5, show_default=True, help="Commits.")
@identity
@as_json
def why(options: dict[str, str], place: str, limit: int, as_json: bool) -> None:  # noqa: FBT001
    """Say why a line, a definition or a file is as it is.

    First the decisions, rules and memories that cite it, then the commits that changed it, the newest first, each with its message and
    the request of the session before it. Renamed and moved files are followed; what changed blanks alone is left out.
    """
    folder = Path.cwd()
    with opened(options) as api:
        scope = scope_of(find_place(folder))
        texts = api.run(citing.citing_texts, scope)
        repository = open_repository(folder)
        blobs = Blobs(repository)
        asked = _asked(blobs, folder, place)
        head = repository.head.peel(pygit2.Commit)
        commits = list(islice(history_of(blobs, head, asked.lines), limit))
        moments = [datetime.fromtimestamp(each.commit_time, UTC) for each in commits]
        names = [asked.lines.path.rpartition("/")[2], *asked.names[-1:]]
        requests = api.run(operations.requests_before, moments, names, scope) if commits else []
    changes = [LineChange(*each) for each in zip(commits, requests, strict=True)]
    said = [each for each in texts if asked.is_cited_in(each.text)]
    said.sort(key=lambda each: not each.is_binding)
    say(_shape(said, changes), list(_lines(said, changes)), as_json)


def _asked(blobs: Blobs, folder: Path, place: str) -> AskedLines:
    """Return the lines of the last commit that an argument names. Raises InvalidInput if it has none of that."""
    match = _PLACE.fullmatch(place)
    assert match is not None
    repository = blobs.repository
    root = Path(repository.workdir).resolve()
    real = (folder / match["path"]).resolve()
    if not real.is_relative_to(root):
        raise InvalidInput("FILE", "is outside of this repository: {path}", path=match["path"])
    path = real.relative_to(root).as_posix()
    tree = repository.head.peel(pygit2.Tree)
    file = tree[path] if path in tree else None  # noqa: SIM401 (a Tree has no `get`)
    if not isinstance(file, pygit2.Blob):
        raise InvalidInput("FILE", "is not in the last commit: {path}", path=match["path"])
    text = blobs.text(file.id)
    count = len(text.splitlines())
    if match["symbol"]:
        names = tuple(re.split(r"\.|::|#", match["symbol"]))
        found = [each for each in definitions_of(path, text) if each.names[-len(names) :] == names]
        if not found:
            raise InvalidInput(
                "NAME", "is not defined in {path}: {name}", path=path, name=match["symbol"]
            )
        return AskedLines(LineRange(path, found[0].first - 1, found[0].last), found[0].names)
    if match["first"] is None:
        return AskedLines(LineRange(path, 0, count), ())
    first, last = int(match["first"]), int(match["last"] or match["first"])
    if not 1 <= first <= last <= count:
        raise InvalidInput("LINE", "{path} has lines 1 to {count}", path=path, count=count)
    around = [
        each for each in definitions_of(path, text) if each.first <= first and last <= each.last
    ]
    return AskedLines(LineRange(path, first - 1, last), around[-1].names if around else ())


def _lines(said: Sequence[CitingText], changes: Sequence[LineChange]) -> Iterator[str]:
    for text in said:
        about = "rule" if text.is_binding and text.kind == "memory" else str(text.kind)
        yield f"{about} {style(text.id, dim=True)}  ({text.at:%Y-%m-%d})"
        yield f"    {body(text.text.strip(), '    ')}"
    for each in changes:
        subject, _, rest = each.commit.message.strip().partition("\n")
        who = f"{each.at:%Y-%m-%d}, {each.commit.author.name}"
        yield f"commit {style(each.commit.short_id, dim=True)}  {subject}  ({who})"
        if rest.strip():
            yield f"    {body(rest.strip(), '    ')}"
        if each.request is not None:
            asked = short(each.request.prompt, _TITLE)
            yield f"    asked for in session {style(each.request.session, dim=True)}: {asked}"
    if not said and not changes:
        yield "Nothing tells why: no commit has these lines, and nothing that is remembered cites them."


def _shape(said: Sequence[CitingText], changes: Sequence[LineChange]) -> dict[str, object]:
    return {
        "cited_by": [
            {
                "kind": each.kind,
                "id": each.id,
                "text": each.text,
                "at": each.at,
                "binding": each.is_binding,
            }
            for each in said
        ],
        "commits": [
            {
                "id": str(each.commit.id),
                "message": each.commit.message,
                "author": each.commit.author.name,
                "at": each.at,
                "session": each.request and each.request.session,
                "turn": each.request and each.request.turn,
                "prompt": each.request and each.request.prompt,
            }
            for each in changes
        ],
    }


COMMANDS = (why,)
