"""Find what is not in order; look at what is suggested, apply it, refuse it, undo it."""

from collections.abc import Callable, Mapping, Sequence
from functools import wraps
from typing import TYPE_CHECKING

import click

from minutebook.cli.printing import body, say, style, warn
from minutebook.cli.sentences import sentence
from minutebook.cli.terminal import (
    Commands,
    as_json,
    as_shown,
    bar,
    fields_of,
    identity,
    in_folder,
    interruptible,
    opened,
    short,
)
from minutebook.domain.caller import Caller, in_call
from minutebook.domain.counts import count_of
from minutebook.domain.errors import MinutebookError
from minutebook.domain.origin import by_whom
from minutebook.domain.records import Decision, Entity, Memory, Proposal, Record
from minutebook.domain.tidying import WAITING, Finding, State, Topic
from minutebook.features.tidying.services import TidyingServices

if TYPE_CHECKING:
    from minutebook.services.tidying.inbox import Waiting
    from minutebook.services.tidying.review import Item, Review
    from minutebook.services.tidying.rounds import Round

    Settle = Callable[[Caller, str], Item]
    Act = Callable[[Review], Settle]

TITLES: Mapping[Topic, str] = {
    Topic.RULE: "are rules by agents, or from elsewhere: once verified, agents are told them",
    Topic.DUPLICATE: "say the same as another: the older ends",
    Topic.CONTRADICTION: "say otherwise than a newer one: the older ends",
    Topic.MERGE: "word others together: they take their place",
    Topic.EXPIRED: "are past by their own words: they end",
    Topic.ENDED: "have ended, and are not marked so: they are deprecated",
    Topic.UNUSED_RULE: "are rules that nobody recalled: they are deprecated",
    Topic.SAME_ENTITY: "entities are one with another: they are merged",
    Topic.NO_SUMMARY: "sessions have no summary: it is made",
    Topic.UNVERIFIED: "were written by an agent, and nobody verified them: they are verified",
    Topic.DRAFT: "are drafts that nobody verified: they are verified",
    Topic.PROPOSAL: "are proposed decisions: `minutebook accept ID` accepts one, `tidy refuse ID` declines it",
    Topic.CLASH: "targets have several decisions: `minutebook decide` supersedes all of them with one",
    Topic.ACTIVE: "are active, and nobody verified them: they are verified",
}
"""What is said of so many of a kind, and what applying them does."""


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
    topics = [each for each in Topic if each in kind] or WAITING
    with opened(options) as (app, caller):
        caller = in_folder(options, caller)
        with (
            interruptible(
                "Stopped. What was found is in the list; the next run goes on from here."
            ),
            bar("Looking", hidden=as_json) as progress,
        ):
            done = app.get(TidyingServices).rounds.run(
                in_call(caller, progress=progress), dry_run=dry_run
            )
        listing = app.get(TidyingServices).review.page(caller, limit, offset, topics)
    shape = {
        "looked_at": done.looked_at,
        "new": dict(done.found),
        "applied": dict(done.applied),
        "waiting": {each: listing.counts[each] for each in WAITING if listing.counts[each]},
        "suggestions": [_item_shape(each) for each in listing.items],
    }
    lines = [*_of_round(done, dry_run=dry_run), *_of_counts(listing.counts)]
    for each in listing.items:
        lines += ["", *_item_lines(each)]
    rest = sum(listing.counts[each] for each in topics) - offset - len(listing.items)
    if rest > 0 and listing.items:
        lines += ["", f"… and {rest:,} more; --offset {offset + len(listing.items)} shows them."]
    if listing.items:
        lines += [
            "",
            "`minutebook tidy apply N…` makes the changes, `tidy refuse N…` never asks again.",
        ]
    say(shape, lines, as_json)


@tidy.command()
@click.argument("numbers", metavar="N…", nargs=-1, required=True)
@identity
@as_json
def show(options: dict[str, str], numbers: tuple[str, ...], as_json: bool) -> None:  # noqa: FBT001
    """Show suggestions whole, with the texts and the reason."""
    with opened(options) as (app, caller):
        found = [app.get(TidyingServices).review.named(caller, number) for number in numbers]
    lines = [line for each in found for line in ("", *_item_lines(each, whole=True))][1:]
    say([_item_shape(each) for each in found], lines, as_json)


def _settling(done: str) -> "Callable[[Act], Callable[..., object]]":
    """Return what makes a command of an act: its numbers, reason and options; it settles one after the other."""

    def decorate(which: "Act") -> Callable[..., object]:
        @click.argument("numbers", metavar="N…", nargs=-1, required=True)
        @click.option("--reason", metavar="TEXT", help="Why; for the audit trail.")
        @identity
        @as_json
        @click.pass_context
        @wraps(which)
        def run(
            context: click.Context,
            options: dict[str, str],
            numbers: tuple[str, ...],
            reason: str | None,
            as_json: bool,  # noqa: FBT001
        ) -> None:
            _settle(context, options, numbers, reason, as_json, done, which)

        return run

    return decorate


@tidy.command()
@_settling("applied")
def apply(review: "Review") -> "Settle":
    """Make the suggested changes, verify memories. `tidy undo N…` takes suggestions back."""
    return review.apply


@tidy.command()
@_settling("refused")
def refuse(review: "Review") -> "Settle":
    """Refuse suggestions for good; decline proposals.

    A memory is deprecated, which needs a --reason.
    """
    return review.refuse


@tidy.command()
@_settling("undone")
def undo(review: "Review") -> "Settle":
    """Take back what was applied or refused.

    Records are as they were before, and the suggestion or the declined proposal waits again.
    """
    return review.undo


def _settle(
    context: click.Context,
    options: dict[str, str],
    numbers: Sequence[str],
    reason: str | None,
    as_json: bool,  # noqa: FBT001
    done: str,
    which: "Act",
) -> None:
    """Settle suggestions one by one; one that cannot be settled stops no other."""
    settled, failed = [], {}
    with opened(options) as (app, caller):
        asks = in_call(caller, reason=reason or "")
        settle = which(app.get(TidyingServices).review)
        for number in dict.fromkeys(numbers):
            try:
                settled.append(settle(asks, number))
            except MinutebookError as error:
                failed[number] = sentence(as_shown(error))
    shape = {done: [_item_shape(each) for each in settled], "failed": failed}
    lines = [f"{_item_lines(each)[0]}  {style(done, fg='green')}" for each in settled]
    say(shape, lines, as_json)
    for number, why in failed.items():
        warn(f"{number}: {why}", fg="red")
    if failed:
        context.exit(1)


def _of_round(done: "Round", *, dry_run: bool) -> list[str]:
    if done.is_elsewhere:
        return ["Another process is looking at this moment; this is what waits already."]
    new = sum(done.found.values())
    if dry_run:
        kinds = ", ".join(f"{kind} {count:,}" for kind, count in sorted(done.found.items()))
        return [
            f"{count_of(new, 'suggestion')} would be new{f' ({kinds})' if kinds else ''}. Nothing was written."
        ]
    applied = sum(done.applied.values())
    by_rule = f" {applied:,} applied by `tidy_rules`." if applied else ""
    return [
        f"Looked at {count_of(done.looked_at, 'change')}: {count_of(new, 'new suggestion')}.{by_rule}"
    ]


def _of_counts(counts: Mapping[Topic, int]) -> list[str]:
    if not any(counts[each] for each in WAITING):
        return ["Nothing waits for you."]
    return [
        f"{counts[each]:>6,}  {style(each, bold=True)}: {TITLES[each]}"
        for each in WAITING
        if counts[each]
    ]


def reason_of(each: "Waiting") -> str:
    """Return why something is suggested, in a sentence."""
    examined, facts = each.examined, {} if each.examined is None else each.examined.facts
    if examined is None:
        return ""
    match examined.finding:
        case Finding.DUPLICATE:
            return "both say the same"
        case Finding.CONTRADICTION:
            return f"“{facts['old']}” there, “{facts['new']}” here"
        case Finding.MERGE:
            return _of_wording(facts)
        case Finding.EXPIRED:
            return f"“{facts['words']}”, from when it was written: past since {facts['past']}"
        case Finding.ENDED:
            return f"its validity ended on {examined.due:%Y-%m-%d}"
        case Finding.UNUSED_RULE:
            return f"no question got it in the {facts['days']} days of the recall log (since {facts['since']})"
        case Finding.SAME_ENTITY:
            return facts["reason"]
        case Finding.NO_SUMMARY:
            return f"the session {facts['session']} has {facts['turns']} turns and no summary"
        case _:
            return "an agent wrote it, and nobody verified it"


def _of_wording(facts: Mapping[str, str]) -> str:
    parts = [
        f"{what}: {facts[name]}"
        for name, what in (("left_out", "leaves out"), ("added", "adds"))
        if facts[name]
    ]
    return "; ".join(parts) or "it leaves no word of theirs out, and adds none"


def _item_lines(item: "Item", *, whole: bool = False) -> list[str]:
    if item.waiting is not None:
        return _lines(item.waiting, whole=whole)
    opens = "" if item.opens is None else f"  can be accepted from {item.opens:%Y-%m-%d %H:%M} UTC"
    head = f"{style(item.name or '–', bold=True)}  {item.topic}{opens}"
    return [head, *(f"    {_shown(each, whole=whole)}" for each in item.records)]


def _shown(record: Record, *, whole: bool) -> str:
    by = by_whom(getattr(record, "author", ""), getattr(record, "origin", None))
    text = _text(record)
    said = body(text, "    ") if whole else short(" ".join(text.split()), 100)
    return f"{style(f'{record.id} by {by}', dim=True)}  {said}"


def _item_shape(item: "Item") -> dict[str, object]:
    if item.waiting is not None:
        return _shape(item.waiting)
    return {
        "name": item.name,
        "organization": item.records[0].organization,
        "finding": item.topic,
        "opens": item.opens,
        "records": [fields_of(record) | {"kind": record.kind} for record in item.records],
    }


def _head(each: "Waiting") -> str:
    suggestion = each.suggestion
    certainty = f"{suggestion.certainty:.2f}"
    return f"{style(each.name, bold=True)}  {suggestion.finding}  {style(certainty, dim=True)}"


def _lines(each: "Waiting", *, whole: bool = False) -> list[str]:
    state = each.suggestion.state
    settled = "" if state is State.OPEN else f"  {state} by {each.suggestion.settled_by}"
    why = reason_of(each)
    lines = [f"{_head(each)}{f'  {why}' if why else ''}{settled}"]
    if each.examined is None and state is State.OPEN:
        lines.append("    Its records changed since: the next `minutebook tidy` looks again.")
    roles = ("stays", *["goes"] * (len(each.records) - 1)) if len(each.records) > 1 else ("",)
    for role, record in zip(roles, each.records, strict=False):
        text = _text(record)
        shown = body(text, "           ") if whole else short(" ".join(text.split()), 100)
        lines.append(f"    {role:<5}  {style(record.id, dim=True)}  {shown}")
    return lines


def _text(record: Record) -> str:
    match record:
        case Memory():
            return record.text
        case Entity():
            return f"{record.name} ({record.type})"
        case Decision() | Proposal():
            return f"{record.target}: {record.title}\n{record.rationale}"
        case _:
            return str(getattr(record, "prompt", ""))


def _shape(each: "Waiting") -> dict[str, object]:
    suggestion = each.suggestion
    return {
        "name": each.name,
        "organization": suggestion.organization,
        "finding": suggestion.finding,
        "state": suggestion.state,
        "certainty": suggestion.certainty,
        "reason": reason_of(each),
        "found_at": suggestion.found_at,
        "settled_at": suggestion.settled_at,
        "settled_by": suggestion.settled_by,
        "records": [fields_of(record) | {"kind": record.kind} for record in each.records],
    }


COMMANDS = (tidy,)
