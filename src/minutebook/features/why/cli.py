"""Say why lines of code are as they are."""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
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
from minutebook.features.why.operations import WrittenCode, instant_of
from minutebook.features.why.telling import LineChange, Rank, looked_at
from minutebook.folders.finding import find_place
from minutebook.whereabouts import scope_of

_PLACE = re.compile(
    r"(?P<path>.+?)(?::(?P<first>\d+)(?:-(?P<last>\d+))?|:(?P<symbol>[^:\d/\\].*))?", re.DOTALL
)
_WORD = re.compile(r"\w[\w-]*")
_TITLE = 200
_NOTHING = (
    "Nothing tells why: no commit has these lines, and nothing that is remembered cites them."
)

Reason = CitingText | LineChange


@dataclass(frozen=True, slots=True)
class AskedLines:
    """Lines of a file that are asked about, the names by which texts cite them, and the words in them.

    A whole file has neither names nor words.
    """

    lines: LineRange
    names: tuple[str, ...]
    words: frozenset[str]

    def rank(self, cited: CitingText) -> Rank | None:
        """Return the place of a record among the reasons: by whether it cites the lines or their file alone; None if neither."""
        found = [each for each in references_in(cited.text) if self._is_cited_by(each)]
        if not found:
            return None
        is_whole = not self.words
        is_exact = is_whole or any(each.symbol or each.lines for each in found)
        if cited.is_binding:
            return Rank.BINDING if is_exact else Rank.RELATED
        return Rank.TELLING if is_exact else Rank.FILE

    def _is_cited_by(self, reference: Reference) -> bool:
        path, lines = reference.path, reference.lines
        is_here = path is not None and f"/{self.lines.path}".endswith(f"/{path}")
        if reference.symbol:
            is_named = self.names[-1:] == reference.symbol[-1:]
            # What no grammar calls a definition, such as a constant, stands in the lines.
            return (is_here and reference.symbol[-1] in self.words) or (
                is_named and (is_here or path is None)
            )
        return is_here and (
            lines is None or (lines[0] <= self.lines.end and lines[1] > self.lines.first)
        )


@click.command(short_help="Say why a line, a definition or a file is as it is.")
@click.argument("place", metavar="FILE[:LINE[-LINE]|:NAME]")
@click.option("--limit", type=click.IntRange(1, 100), default=5, show_default=True, help="Commits.")
@identity
@as_json
def why(options: dict[str, str], place: str, limit: int, as_json: bool) -> None:  # noqa: FBT001
    """Say why a line, a definition or a file is as it is.

    First the decisions and rules that cite it, then commits that changed it and whose message or request says why, with other memories
    that cite it, the newest first; last the commits that only tidied. Each commit is told with the request of the session before it.
    Renamed and moved files are followed; what changed formatting alone is left out.
    """
    folder = Path.cwd()
    with opened(options) as api:
        scope = scope_of(find_place(folder))
        texts = api.run(citing.citing_texts, scope)
        repository = open_repository(folder)
        blobs = Blobs(repository)
        asked = _asked(blobs, folder, place)
        head = repository.head.peel(pygit2.Commit)
        commits = list(looked_at(history_of(blobs, head, asked.lines), limit))
        names = (asked.lines.path.rpartition("/")[2], *asked.names[-1:])
        written = [WrittenCode(instant_of(each), names) for each in commits]
        requests = api.run(operations.requests_before, written, scope) if commits else []
    changes = [LineChange(*each) for each in zip(commits, requests, strict=True)]
    ranked = [(rank, each) for each in texts if (rank := asked.rank(each)) is not None]
    changes = sorted(changes, key=lambda each: each.rank)[:limit]
    reasons = _in_order([*ranked, *((each.rank, each) for each in changes)])
    lines = [line for each in reasons for line in _lines(each)]
    say(list(map(_shape, reasons)), lines or _NOTHING, as_json)


def _in_order(ranked: Sequence[tuple[Rank, Reason]]) -> list[Reason]:
    """Return reasons, the most telling first, of those that tell as much the newest first."""
    newest = sorted(ranked, key=lambda each: each[1].at, reverse=True)
    return [reason for _, reason in sorted(newest, key=lambda each: each[0])]


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
    lines = text.splitlines()
    if match["symbol"]:
        return _named(path, text, match["symbol"])
    if match["first"] is None:
        return AskedLines(LineRange(path, 0, len(lines)), (), frozenset())
    first, last = int(match["first"]), int(match["last"] or match["first"])
    if not 1 <= first <= last <= len(lines):
        raise InvalidInput("LINE", "{path} has lines 1 to {count}", path=path, count=len(lines))
    around = [
        each for each in definitions_of(path, text) if each.first <= first and last <= each.last
    ]
    return _asked_lines(path, lines, (first - 1, last), around[-1].names if around else ())


def _named(path: str, text: str, symbol: str) -> AskedLines:
    """Return the lines of a definition, else the first line with its name: a key, a constant. Raises InvalidInput if there is none."""
    names = tuple(re.split(r"\.|::|#", symbol))
    lines = text.splitlines()
    for each in definitions_of(path, text):
        if each.names[-len(names) :] == names:
            return _asked_lines(path, lines, (each.first - 1, each.last), each.names)
    for at, line in enumerate(lines):
        if names[-1] in _WORD.findall(line):
            return _asked_lines(path, lines, (at, at + 1), names)
    raise InvalidInput("NAME", "is not defined in {path}: {name}", path=path, name=symbol)


def _asked_lines(
    path: str, text: Sequence[str], lines: tuple[int, int], names: tuple[str, ...]
) -> AskedLines:
    words = frozenset(_WORD.findall("\n".join(text[slice(*lines)])))
    return AskedLines(LineRange(path, *lines), names, words)


def _lines(reason: Reason) -> Iterator[str]:
    if isinstance(reason, CitingText):
        yield f"{reason.label} {style(reason.id, dim=True)}  ({reason.at:%Y-%m-%d})"
        yield f"    {body(reason.text.strip(), '    ')}"
        return
    subject, _, rest = reason.commit.message.strip().partition("\n")
    who = f"{reason.at:%Y-%m-%d}, {reason.commit.author.name}"
    yield f"commit {style(reason.commit.short_id, dim=True)}  {subject}  ({who})"
    if rest.strip():
        yield f"    {body(rest.strip(), '    ')}"
    if reason.request is not None:
        asked = short(reason.request.prompt, _TITLE)
        yield f"    asked for in session {style(reason.request.session, dim=True)}: {asked}"


def _shape(reason: Reason) -> dict[str, object]:
    if isinstance(reason, CitingText):
        return {
            "kind": reason.kind,
            "id": reason.id,
            "text": reason.text,
            "at": reason.at,
            "binding": reason.is_binding,
        }
    request = reason.request
    return {
        "kind": "commit",
        "id": str(reason.commit.id),
        "text": reason.commit.message,
        "at": reason.at,
        "author": reason.commit.author.name,
        "session": request and request.session,
        "turn": request and request.turn,
        "prompt": request and request.prompt,
    }


COMMANDS = (why,)
