"""Say why lines of code are as they are."""

from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path

import click
import pygit2

from minutebook.cli.opening import opened_if_begun
from minutebook.cli.printing import body, say, short, style, warn
from minutebook.cli.terminal import as_json, identity
from minutebook.config.folders.finding import find_place
from minutebook.config.whereabouts import scope_of
from minutebook.features.citations import operations as citing
from minutebook.features.citations.texts import CitingText
from minutebook.features.citations.trees import Blobs, git_reason, open_repository, reading_git
from minutebook.features.why.asked_lines import AskedLines, asked_lines
from minutebook.features.why.commits import written_code
from minutebook.features.why.line_history import history_of
from minutebook.features.why.operations import commits_about, requests_before
from minutebook.features.why.session_requests import Request, WrittenCode
from minutebook.features.why.telling import LineChange, Rank, Reason, in_order, read_history
from minutebook.record.errors import InvalidInput
from minutebook.record.origin import quoted_name

_TITLE = 200

_NOTHING = (
    "Nothing tells why: no commit has these lines, and nothing that is remembered cites them."
)


@click.command(short_help="Say why a line, a definition or a file is as it is.")
@click.argument("place", type=click.UNPROCESSED, metavar="FILE[:LINE[-LINE]|:NAME]")
@click.argument("question", default="")
@click.option("--limit", type=click.IntRange(1, 100), default=5, show_default=True, help="Commits.")
@identity
@as_json
def why(
    options: dict[str, str],
    place: str,
    question: str,
    limit: int,
    as_json: bool,  # noqa: FBT001
) -> None:
    """Say why a line, a definition or a file is as it is.

    First the decisions and rules that cite it, then commits that changed it and whose message or request says why, with other memories
    that cite it, the newest first; last the commits that only tidied. Each commit is told with the request of the session that wrote it, or perhaps did.
    Renamed and moved files are followed; what changed formatting alone is left out.

    With a QUESTION, such as a report of a bug, the commits that are most about it come first, if the project is indexed.
    """
    with reading_git("FILE"):
        folder = Path.cwd()
    with opened_if_begun(options) as api:
        scope = scope_of(find_place(folder))
        texts = [] if api is None else api.run(citing.citing_texts, scope)
        blobs = Blobs(open_repository(folder, "FILE"))
        with reading_git("FILE"):
            asked = asked_lines(blobs, folder, place)
            about = list[str]()
            if question and api is not None:
                root = str(Path(blobs.repository.workdir).resolve())
                about = api.run(commits_about, question, root, asked.lines.path)
            commits, written, cut = _commits(blobs, asked, about, limit)
        requests: list[Request | None] = [None] * len(commits)
        if commits and api is not None:
            requests = api.run(requests_before, written, scope)
    changes = [LineChange.from_commit(*each) for each in zip(commits, requests, strict=True)]
    reasons = _ordered([(asked.rank(each), each) for each in texts], changes, about, limit)
    if cut is not None:
        if not reasons:
            remedy = "has a history that Git cannot read: {reason}"
            raise InvalidInput("FILE", remedy, reason=git_reason(cut))
        warn(f"Older commits cannot be read: {git_reason(cut)}")
    lines = [line for each in reasons for line in _lines(each)]
    say(reasons, lines or _NOTHING, as_json)


def _ordered(
    texts: Sequence[tuple[Rank | None, CitingText]],
    changes: Iterable[LineChange],
    about: Sequence[str],
    limit: int,
) -> list[Reason]:
    """Return the texts with a rank and the `limit` best commits, by rank; first those with the ids `about`, in that order."""
    best = sorted(changes, key=lambda each: each.rank)[:limit]
    ranked: list[tuple[Rank, Reason]] = [(rank, each) for rank, each in texts if rank is not None]
    reasons = in_order([*ranked, *((each.rank, each) for each in best)])
    places = {sha: place for place, sha in enumerate(about)}
    return sorted(reasons, key=lambda each: places.get(each.id, len(places)))


def _commits(
    blobs: Blobs, asked: AskedLines, about: Sequence[str], limit: int
) -> tuple[list[pygit2.Commit], list[WrittenCode], Exception | None]:
    """Return the commits with the ids `about`, else those that changed the lines; the code that each wrote; and an error.

    The error, if any, kept older commits from being read.
    """
    repository, cut = blobs.repository, None
    commits = [repository[sha].peel(pygit2.Commit) for sha in about[:limit]]
    if not about:
        history = history_of(blobs, repository.head.peel(pygit2.Commit), asked.lines)
        commits, cut = read_history(history, limit)
    names = (asked.lines.path.rpartition("/")[2], *asked.names[-1:])
    return commits, [written_code(repository, each, names) for each in commits], cut


def _lines(reason: Reason) -> Iterator[str]:
    if isinstance(reason, CitingText):
        yield f"{reason.label} {style(reason.id, dim=True)}  ({reason.at:%Y-%m-%d})"
        yield f"    {body(reason.text.strip(), '    ')}"
        return
    subject, _, rest = reason.text.strip().partition("\n")
    who = f"{reason.at:%Y-%m-%d}, {quoted_name(reason.author)}"
    yield f"commit {style(reason.short_id, dim=True)}  {subject}  ({who})"
    if rest.strip():
        yield f"    {body(rest.strip(), '    ')}"
    if reason.request is not None:
        asked = short(reason.request.prompt, _TITLE)
        perhaps = "" if reason.request.is_certain else "perhaps "
        session = style(reason.request.session, dim=True)
        yield f"    {perhaps}asked for in session {session}: {asked}"


COMMANDS = (why,)
