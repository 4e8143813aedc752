"""Decide, see what was decided and how it came about, accept what was proposed."""

import re

import click

from minutebook.cli import decision_graphs
from minutebook.cli.ids import completing, decision_id
from minutebook.cli.keyboard import ask_secret, edited, need_keyboard, remote_caller
from minutebook.cli.printing import body, echo, say, style, warn
from minutebook.cli.terminal import (
    Commands,
    as_json,
    fields_of,
    identity,
    in_folder,
    opened,
    opened_or_made,
    through,
)
from minutebook.domain.counts import count_of
from minutebook.domain.errors import InvalidInput, MinutebookError
from minutebook.domain.origin import by_whom
from minutebook.domain.records import Decision, Proposal
from minutebook.domain.redaction import REASON
from minutebook.domain.waiting import is_in_git
from minutebook.features.ledger.services import LedgerServices

TEMPLATE = """\
# {title}

Target: {target}

## Rationale

{rationale}

## Consequences

{consequences}

"""
NOTE = "<!-- The title is the decision"
HINT = f"""\
{NOTE} in one sentence. The target is what it is about: at most one decision
is active on a target. The rationale says why, in 10 characters or more, 15 to replace a decision.
Consequences are a list, one a line, and may be left out. Save and close to decide; leave the title
empty to think again. -->
"""

_PARTS = re.compile(
    r"(?P<head>.*?)^## +Rationale[ \t]*$(?P<rationale>.*?)"
    r"(?:^## +Consequences[ \t]*$(?P<consequences>.*))?\Z",
    re.DOTALL | re.IGNORECASE | re.MULTILINE,
)


@click.command(short_help="Put a decision on the record, a commit in Git.")
@click.option("--title", default="", help="The decision in one short sentence.")
@click.option("--target", default="", help="What it is about; one decision is active on a target.")
@click.option("--rationale", default="", help="Why it was decided so, and against what.")
@click.option("--consequence", "consequences", multiple=True, help="What follows; repeatable.")
@click.option(
    "--supersedes",
    "old",
    multiple=True,
    metavar="ID",
    help="Replace it; repeatable.",
    shell_complete=completing(Decision),
)
@click.option("--everywhere", is_flag=True, help="Of no project, whatever folder this is.")
@identity
@as_json
def decide(
    options: dict[str, str],
    title: str,
    target: str,
    rationale: str,
    consequences: tuple[str, ...],
    old: tuple[str, ...],
    everywhere: bool,  # noqa: FBT001
    as_json: bool,  # noqa: FBT001
) -> None:
    """Put a decision on the record: a commit in Git, found by every agent.

    What is not given by --title, --target and --rationale is asked for in your editor. It is of the project
    of this folder if scope_from_folder is on, one that replaces others of theirs; see `minutebook where`.
    """
    from minutebook.domain.decision_drafts import DecisionDraft

    written = None
    if not (title and target and rationale):
        need_keyboard()
        written = _edited(title, target, rationale, consequences)
    try:
        if written is not None:
            title, target, rationale, consequences = read_template(written)
        draft = DecisionDraft(title, target, rationale, consequences)
        with opened_or_made(options) as (app, caller):
            if old:
                decision = app.get(LedgerServices).decisions.supersede(
                    caller, tuple(decision_id(app, caller, each) for each in old), draft
                )
            else:
                here = caller if everywhere else in_folder(options, caller)
                decision = app.get(LedgerServices).decisions.record(here, draft)
    except MinutebookError:
        if written is not None:
            warn(body(written))
        raise
    say(fields_of(decision), decision.id, as_json)


def _edited(title: str, target: str, rationale: str, consequences: tuple[str, ...]) -> str:
    """Let the person write the decision in their editor."""
    template = TEMPLATE.format(
        title=title,
        target=target,
        rationale=rationale,
        consequences="\n".join(f"- {each}" for each in consequences) or "-",
    )
    text = edited(template + HINT)
    if text is None:
        raise InvalidInput("--title", "is needed, and nothing was saved in the editor")
    return text


def read_template(text: str) -> tuple[str, str, str, tuple[str, ...]]:
    """Return title, target, rationale and consequences from the filled template.

    Raises InvalidInput if the heading `## Rationale` is missing.
    """
    parts = _PARTS.match(text.partition(NOTE)[0])
    if parts is None:
        raise InvalidInput("the text", "must have the heading `## Rationale`")
    title = re.search(r"^#(?: +(.*))?$", parts["head"], re.MULTILINE)
    target = re.search(r"^Target:(.*)$", parts["head"], re.MULTILINE)
    listed = re.split(r"^[-*](?: |$)", parts["consequences"] or "", flags=re.MULTILINE)
    return (
        "" if title is None else (title[1] or "").strip(),
        "" if target is None else target[1].strip(),
        parts["rationale"].strip(),
        tuple(line for each in listed if (line := " ".join(each.split()))),
    )


@click.command(short_help="List what holds now, how it came about, or draw it.")
@click.option("--history", "target", metavar="TARGET", help="How it came about, as a tree.")
@click.option(
    "--graph",
    type=click.Choice(["mermaid", "dot"]),
    help="Every decision and what replaced it, as a drawing; with --history, one target's.",
)
@identity
@as_json
def decisions(
    options: dict[str, str],
    target: str | None,
    graph: str | None,
    as_json: bool,  # noqa: FBT001
) -> None:
    """List what holds now, one line a target."""
    with opened(options) as (app, caller):
        if target is not None:
            found = app.get(LedgerServices).decisions.history(caller, target)
        elif graph is not None:
            found = app.get(LedgerServices).decisions.everything(caller)
        else:
            found = app.get(LedgerServices).decisions.truths(caller)
        states = [
            each
            for each in app.get(LedgerServices).ledgers.states(caller)
            if each.reason is not None
        ]
        waiting = sum(map(is_in_git, app.get(LedgerServices).proposals.pending(caller)))
    for state in states:
        if remote_caller() is not None:
            warn(f"The ledger is read-only: {REASON}", fg="yellow")
            continue
        reason = f"{state.reason}; {state.remedy}"
        where = f"in {state.path} is read-only: {reason}"
        warn(f"The ledger {where}", fg="yellow")
    if waiting:
        warn(_wait(waiting), fg="yellow")
    if as_json:
        say([fields_of(each) for each in found], "", as_json)
    elif graph is not None:
        echo(*{"mermaid": decision_graphs.mermaid, "dot": decision_graphs.dot}[graph](found))
    elif not found:
        echo("Nothing was decided." if target is None else f"Nothing was decided on {target}.")
    elif target is not None:
        echo(*decision_graphs.tree(found, _line))
    else:
        width = max(len(each.target) for each in found)
        for each in found:
            echo(f"{style(f'{each.target:<{width}}', bold=True)}  {_line(each)}")


def _wait(count: int) -> str:
    verb = "waits" if count == 1 else "wait"
    what = count_of(count, "decision")
    return f"{what} from Git {verb} until somebody here accepts: `minutebook proposals`"


def _line(decision: Decision) -> str:
    by = by_whom(decision.author, decision.origin)
    who = f"{by} ({decision.authorship}){through(decision.origin)}"
    line = f"{decision.created_at:%Y-%m-%d}  {' '.join(decision.title.split())}  {who}"
    return f"{line}  {style(decision.id, dim=True)}"


@click.command(short_help="List what was proposed and is not yet settled.")
@identity
@as_json
def proposals(options: dict[str, str], as_json: bool) -> None:  # noqa: FBT001
    """List what was proposed and is not yet settled, and from when it can be accepted."""
    with opened(options) as (app, caller):
        pending = app.get(LedgerServices).proposals.pending(caller)
        opens = {each.id: app.get(LedgerServices).proposals.opens(each) for each in pending}
    lines = []
    for each in pending:
        replaces = f"; would replace {', '.join(each.supersedes)}" if each.supersedes else ""
        when = f"{opens[each.id]:%Y-%m-%d %H:%M:%S}"
        who = f"{by_whom(each.author, each.origin)}{through(each.origin)}"
        lines += [
            f"{style(each.id, bold=True)}  {each.target}: {each.title}",
            style(f"  by {who}, to accept from {when} UTC{replaces}", dim=True),
        ]
    shapes = [fields_of(each) | {"opens": opens[each.id]} for each in pending]
    say(shapes, lines or "No proposals.", as_json)


@click.command(short_help="Make a proposal the truth.")
@click.argument("id", shell_complete=completing(Proposal))
@identity
def accept(options: dict[str, str], id: str) -> Decision:
    """Make the proposal ID the truth (needs --role admin, and the secret).

    The secret is asked for, unless AGENT_MEMORY_SECRET holds it.
    """
    with opened(options) as (app, caller):
        id = decision_id(app, caller, id)
        secret = app.get(LedgerServices).secret.given
        if secret is None:
            secret = ask_secret("Secret")
        decision = app.get(LedgerServices).proposals.accept(caller, id, secret)
    echo(f"Accepted as {decision.id}.")
    return decision


@click.group(cls=Commands)
def secret() -> None:
    """Keep the secret with which proposals are accepted."""


@secret.command("set", short_help="Pin the secret for this store.")
@identity
def secret_set(options: dict[str, str]) -> dict[str, object]:
    """Pin the secret for this store (needs --role admin); only its hash is kept."""
    with opened_or_made(options) as (app, caller):
        current = None
        if app.get(LedgerServices).secret.is_set:
            current = ask_secret("Present secret")
        text = ask_secret("New secret", twice=True)
        app.get(LedgerServices).secret.set(caller, text, current)
    echo("The secret is set.")
    return {"set": True}


@click.group(cls=Commands)
def ledger() -> None:
    """Look after the decisions in Git."""


@ledger.command(short_help="Bring the tables and Git together again.")
@identity
@as_json
def rebuild(options: dict[str, str], as_json: bool) -> None:  # noqa: FBT001
    """Bring the tables and Git together again; Git is the record of truth."""
    with opened_or_made(options) as (app, caller):
        done = app.get(LedgerServices).rebuilds.rebuild(caller)
    summary = (
        f"{done.path}: {count_of(done.decisions, 'decision')}; {len(done.to_tables)} brought to the tables, "
        f"{len(done.to_git)} brought to Git."
    )
    notes = (
        style(f"  {each.rule}: {', '.join(each.ids)}: {each.reason}", fg="yellow")
        for each in (*done.conflicts, *done.notes)
    )
    waits = [_wait(len(done.waiting))] if done.waiting else []
    say(fields_of(done), [summary, *waits, *notes], as_json)


COMMANDS = (decide, decisions, proposals, accept, secret, ledger)
