"""Find disorder; look at suggestions, apply, refuse and undo them."""

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from functools import wraps

import click

from minutebook.cli.opening import opened, scope_here
from minutebook.cli.printing import body, say, sentence, short, style, warn
from minutebook.cli.progress import bar, interruptible
from minutebook.cli.terminal import Commands, as_json, as_shown, identity
from minutebook.features.tidying import operations
from minutebook.features.tidying.findings import OPEN_TOPICS, State, Topic
from minutebook.features.tidying.operations import Listed, Settle, Suggested, Tidied
from minutebook.record.origin import byline
from minutebook.record.reason import count_of
from minutebook.record.records import Decision, Memory, Proposal, Record, Summary

TITLES: Mapping[Topic, str] = {
    Topic.RULE: "are rules by agents, or from elsewhere: once verified, agents are told them",
    Topic.DUPLICATE: "say the same as another: the older ends",
    Topic.CONTRADICTION: "say otherwise than a newer one: the older ends",
    Topic.MERGE: "word others together: they take their place",
    Topic.EXPIRED: "are past by their own words: they end",
    Topic.CITED: "cite code that has changed or is gone: they are confirmed as it is now, `tidy refuse N` ends a memory",
    Topic.UNVERIFIED: "were written by an agent, and nobody verified them: they are verified",
    Topic.DRAFT: "are drafts that nobody verified: they are verified",
    Topic.PROPOSAL: "are proposed decisions: `minutebook accept ID` accepts one, `tidy refuse ID` declines it",
    Topic.CLASH: "targets have several decisions: `minutebook decide` supersedes all of them with one",
    Topic.ACTIVE: "are active, and nobody verified them: they are verified",
}
"""The text after the count of a topic: its items, and how applying changes them."""


@click.group(
    cls=Commands,
    invoke_without_command=True,
    short_help="Find what is not in order; suggest changes.",
)
@click.option(
    "--kind",
    type=click.Choice([str(each) for each in Topic]),
    multiple=True,
    help="List this kind only.",
)
@click.option("--limit", type=click.IntRange(1, 1000), default=20, show_default=True)
@click.option("--offset", type=click.IntRange(0), default=0, help="How many to leave out first.")
@click.option("--dry-run", is_flag=True, help="Only count what would be new; write nothing.")
@identity
@as_json
@click.pass_context
def tidy(
    context: click.Context,
    options: dict[str, str],
    kind: tuple[str, ...],
    limit: int,
    offset: int,
    dry_run: bool,  # noqa: FBT001
    as_json: bool,  # noqa: FBT001
) -> None:
    """Look at what changed since the last time, and list all that waits for you, with reasons.

    That is what may be put in order, what agents wrote and nobody verified, and proposed decisions. Nothing is changed until you apply it, or a rule of yours does (the setting `tidy_rules`). What you
    refused is never suggested again. Ctrl-C ends it; the next run goes on from there.
    """
    if context.invoked_subcommand is not None:
        return
    topics = [each for each in Topic if each in kind] or OPEN_TOPICS
    with (
        opened(options) as api,
        interruptible("Stopped. What was found is in the list; the next run goes on from here."),
        bar("Looking", hidden=as_json) as progress,
        api.reporting(progress),
    ):
        done = api.run(operations.tidy, topics, limit, offset, dry_run, scope_here(options))
    counts = Counter(done.counts)
    lines = [*_round_lines(done, dry_run=dry_run), *_count_lines(counts)]
    for each in done.items:
        lines += ["", *_item_lines(each)]
    rest = sum(counts[each] for each in topics) - offset - len(done.items)
    if rest > 0 and done.items:
        lines += ["", f"… and {rest:,} more; --offset {offset + len(done.items)} shows them."]
    if done.items:
        lines += [
            "",
            "`minutebook tidy apply N…` makes the changes, `tidy refuse N…` never asks again.",
        ]
    say(done, lines, as_json)


@tidy.command()
@click.argument("numbers", metavar="N…", nargs=-1, required=True)
@identity
@as_json
def show(options: dict[str, str], numbers: tuple[str, ...], as_json: bool) -> None:  # noqa: FBT001
    """Show suggestions whole, with the texts and the reason."""
    with opened(options) as api:
        found = api.run(operations.suggestions, numbers)
    lines = [line for each in found for line in ("", *_item_lines(each, whole=True))][1:]
    say(found, lines, as_json)


def _settling(act: Settle, done: str) -> Callable[[Callable[[], None]], Callable[..., object]]:
    """Return the decorator of the command of an act: it adds arguments, options and body, and keeps the docstring as help."""

    def decorate(described: Callable[[], None]) -> Callable[..., object]:
        @click.argument("numbers", metavar="N…", nargs=-1, required=True)
        @click.option("--reason", metavar="TEXT", help="Why; for the audit trail.")
        @identity
        @as_json
        @click.pass_context
        @wraps(described)
        def run(
            context: click.Context,
            options: dict[str, str],
            numbers: tuple[str, ...],
            reason: str | None,
            as_json: bool,  # noqa: FBT001
        ) -> None:
            with opened(options) as api:
                settled = api.run(operations.settle, act, numbers, reason or "")
            failed = {name: sentence(as_shown(error)) for name, error in settled.failed.items()}
            lines = [f"{_item_lines(each)[0]}  {style(done, fg='green')}" for each in settled.done]
            say({done: settled.done, "failed": failed}, lines, as_json)
            for number, why in failed.items():
                warn(f"{number}: {why}", fg="red")
            context.exit(1 if failed else 0)

        return run

    return decorate


@tidy.command()
@_settling(Settle.APPLY, "applied")
def apply() -> None:
    """Make the suggested changes, verify memories. `tidy undo N…` takes suggestions back."""


@tidy.command()
@_settling(Settle.REFUSE, "refused")
def refuse() -> None:
    """Refuse suggestions for good; decline proposals.

    A memory is deprecated, which needs a --reason.
    """


@tidy.command()
@_settling(Settle.UNDO, "undone")
def undo() -> None:
    """Take back suggestions that were applied or refused.

    Records are as they were before, and the suggestion or the declined proposal waits again.
    """


def _round_lines(done: Tidied, *, dry_run: bool) -> list[str]:
    if done.is_elsewhere:
        return ["Another process is looking at this moment; this is what waits already."]
    new = sum(done.found.values())
    more = (
        " There is more to look at: ask again, or leave it to the server."
        if done.is_unfinished
        else ""
    )
    if dry_run:
        kinds = ", ".join(f"{kind} {count:,}" for kind, count in sorted(done.found.items()))
        return [
            f"{count_of(new, 'suggestion')} would be new{f' ({kinds})' if kinds else ''}. Nothing was written.{more}"
        ]
    applied = sum(done.applied.values())
    by_rule = f" {applied:,} applied by `tidy_rules`." if applied else ""
    return [
        f"Looked at {count_of(done.looked_at, 'change')}: {count_of(new, 'new suggestion')}.{by_rule}{more}"
    ]


def _count_lines(counts: Mapping[Topic, int]) -> list[str]:
    if not any(counts[each] for each in OPEN_TOPICS):
        return ["Nothing waits for you."]
    return [
        f"{counts[each]:>6,}  {style(each, bold=True)}: {TITLES[each]}"
        for each in OPEN_TOPICS
        if counts[each]
    ]


def _item_lines(item: Listed, *, whole: bool = False) -> list[str]:
    if item.suggestion is not None:
        return _suggestion_lines(item.suggestion, item.records, whole=whole)
    opens = "" if item.opens is None else f"  can be accepted from {item.opens:%Y-%m-%d %H:%M} UTC"
    head = f"{style(item.name or '–', bold=True)}  {item.topic}{opens}"
    return [head, *(f"    {_record_line(each, whole=whole)}" for each in item.records)]


def _record_line(record: Record, *, whole: bool) -> str:
    by = byline(getattr(record, "author", ""), getattr(record, "origin", None))
    shown = _shown_text(record, "    ", whole=whole)
    return f"{style(f'{record.id} by {by}', dim=True)}  {shown}"


def _suggestion_lines(
    each: Suggested, records: Sequence[Record], *, whole: bool = False
) -> list[str]:
    settled = "" if each.state is State.OPEN else f"  {each.state} by {each.settled_by}"
    certainty = style(f"{each.certainty:.2f}", dim=True)
    head = f"{style(each.name, bold=True)}  {each.finding}  {certainty}"
    lines = [f"{head}{f'  {each.reason}' if each.reason else ''}{settled}"]
    if each.is_outdated:
        lines.append("    Its records changed since: the next `minutebook tidy` looks again.")
    for number, record in enumerate(records):
        role = "" if len(records) == 1 else "goes" if number else "stays"
        shown = _shown_text(record, "           ", whole=whole)
        lines.append(f"    {role:<5}  {style(record.id, dim=True)}  {shown}")
    return lines


def _shown_text(record: Record, indent: str, *, whole: bool) -> str:
    text = _text(record)
    return body(text, indent) if whole else short(" ".join(text.split()), 100)


def _text(record: Record) -> str:
    match record:
        case Memory():
            return record.text
        case Decision() | Proposal():
            return f"{record.target}: {record.title}\n{record.rationale}"
        case Summary():
            return f"{record.title}\n{record.summary}"
        case _:
            return record.id


COMMANDS = (tidy,)
