"""Check the citations of memories, decisions and summaries against the code."""

import sys
from collections.abc import Iterator
from pathlib import Path

import click

from minutebook.cli.keyboard import PATH
from minutebook.cli.opening import opened_if_begun
from minutebook.cli.printing import say, short, style
from minutebook.cli.terminal import as_json, identity
from minutebook.config.folders.finding import find_place
from minutebook.config.whereabouts import scope_of
from minutebook.features.citations import operations
from minutebook.features.citations.checking import CheckReport, CodeCheck
from minutebook.features.citations.cited import CitationVerdict, Judged
from minutebook.features.citations.trees import reading_git
from minutebook.record.reason import count_of

_TITLE = 100


@click.command(short_help="Say which memories and decisions a change makes doubtful.")
@click.option("--diff", "base", metavar="BASE", help="What changed since this branch left BASE.")
@click.option("--project", default=".", type=PATH, help="The project's folder (default: this one).")
@click.option(
    "--strict",
    is_flag=True,
    help="Exit with 1 for anything doubtful, not for decisions and rules alone.",
)
@identity
@as_json
def check(
    options: dict[str, str],
    base: str | None,
    project: Path,
    strict: bool,  # noqa: FBT001
    as_json: bool,  # noqa: FBT001
) -> None:
    """Say which memories, rules, decisions and summaries cite code that has changed, moved or gone.

    A text cites a file (src/pay.py, src/pay.py:12-20), a definition (src/pay.py:Order.total, `Order.total`), a constant,
    a setting or a key (hook_wait, `server.port`), or a command (`make demo`) that was there, once, when it was written.
    Without --diff each is compared with the commit before it was last changed or verified: once a change is committed,
    `minutebook mark ID verify` says that it still holds. Exits with 1 if a decision or a rule is doubtful.
    """
    with reading_git():
        project = project.absolute()
    with opened_if_begun(options) as api:
        scope = scope_of(find_place(project))
        texts = [] if api is None else api.run(operations.citing_texts, scope)
    checked = CodeCheck(project, base).check(texts)
    say(checked.doubtful, list(_lines(checked)), as_json)
    if any(strict or each.text.is_binding for each in checked.doubtful):
        sys.exit(1)


def _lines(checked: CheckReport) -> Iterator[str]:
    for each in checked.doubtful:
        text = each.text
        yield f"{text.label} {style(text.id, dim=True)}  {short(text.title, _TITLE)}  ({text.at:%Y-%m-%d})"
        yield from (f"    {_sentence(doubt)}" for doubt in each.doubts)
    if not checked.citing:
        yield "Nothing that is remembered cites what changed."
    else:
        cites = "cites" if checked.citing == 1 else "cite"
        yield (
            f"{count_of(checked.citing, 'record')} {cites} what changed; "
            f"{len(checked.doubtful) or 'none'} of them "
            f"{'is' if len(checked.doubtful) == 1 else 'are'} doubtful."
        )


def _sentence(judged: Judged) -> str:
    where = {
        CitationVerdict.CHANGED: "has changed",
        CitationVerdict.RENAMED: f"is now called {judged.where}",
        CitationVerdict.MOVED: f"is now in {judged.where}",
    }.get(judged.verdict, "is gone")
    since = f"since {judged.since}" if judged.since else "in no commit yet"
    return f"{judged.cited.written} {where} ({since})"


COMMANDS = (check,)
