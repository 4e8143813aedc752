"""Decide, see what was decided and how it came about, accept what was proposed."""

import re

import click

from minutebook.cli.added_options import added_options
from minutebook.cli.ids import decision_id
from minutebook.cli.keyboard import ask_secret, edited
from minutebook.cli.opening import made_here, opened, opened_or_made, scope_here
from minutebook.cli.printing import body, echo, say, style, warn
from minutebook.cli.terminal import Commands, as_json, identity, through
from minutebook.features.ledger import graphs as decision_graphs
from minutebook.features.ledger import operations
from minutebook.record.errors import InvalidInput, MinutebookError
from minutebook.record.origin import byline
from minutebook.record.reason import count_of
from minutebook.record.records import Decision

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
    "old_ids",
    multiple=True,
    metavar="ID",
    help="Replace it; repeatable.",
)
@click.option("--everywhere", is_flag=True, help="Of no project, whatever folder this is.")
@identity
@as_json
@added_options("decide")
def decide(
    options: dict[str, str],
    title: str,
    target: str,
    rationale: str,
    consequences: tuple[str, ...],
    old_ids: tuple[str, ...],
    everywhere: bool,  # noqa: FBT001
    as_json: bool,  # noqa: FBT001
) -> None:
    """Put a decision on the record: a commit in Git, found by every agent.

    What is not given by --title, --target and --rationale is asked for in your editor. The decision belongs to
    the project of those it replaces, else to that of this folder if scope_from_folder is on; see `minutebook where`.
    """
    written = None
    if not (title and target and rationale):
        written = _edited(title, target, rationale, consequences)
    try:
        if written is not None:
            title, target, rationale, consequences = read_template(written)
        with opened_or_made(options) as api:
            decision = api.run(
                operations.decide,
                title,
                target,
                rationale,
                consequences,
                [decision_id(api, each) for each in old_ids],
                None if everywhere or old_ids else scope_here(options),
            )
    except MinutebookError:
        if written is not None:
            warn(body(written))
        raise
    say(decision, decision.id, as_json)


def _edited(title: str, target: str, rationale: str, consequences: tuple[str, ...]) -> str:
    """Return the template as the person filled it in in their editor. Raises InvalidInput if they saved nothing."""
    template = TEMPLATE.format(
        title=title,
        target=target,
        rationale=rationale,
        consequences="\n".join(f"- {each}" for each in consequences) or "-",
    )
    given = {"--title": title, "--target": target, "--rationale": rationale}
    missing = ", ".join(option for option, value in given.items() if not value)
    text = edited(template + HINT, f"give {missing} as well")
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


@click.command(short_help="List what holds now, what is proposed, how it came about, or draw it.")
@click.option("--proposed", is_flag=True, help="What waits, and from when it can be accepted.")
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
    proposed: bool,  # noqa: FBT001
    target: str | None,
    graph: str | None,
    as_json: bool,  # noqa: FBT001
) -> None:
    """List what holds now, one line a target."""
    if proposed and (target, graph) != (None, None):
        raise InvalidInput("--proposed", "goes with neither --history nor --graph")
    if proposed:
        _list_proposed(options, as_json=as_json)
        return
    with opened(options) as api:
        listed = api.run(operations.decisions, target, graph is not None)
    found = listed.decisions
    warn(*(f"The ledger {each}" for each in listed.read_only), fg="yellow")
    if listed.waiting:
        warn(_waiting_notice(listed.waiting), fg="yellow")
    if as_json:
        say(found, "", as_json)
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


def _waiting_notice(count: int) -> str:
    what = f"{count_of(count, 'decision')} from Git {'waits' if count == 1 else 'wait'}"
    return f"{what} until somebody here accepts: `minutebook decisions --proposed`"


def _line(decision: Decision) -> str:
    who = f"{byline(decision.author, decision.origin)} ({decision.authorship}){through(decision.origin)}"
    line = f"{decision.created_at:%Y-%m-%d}  {' '.join(decision.title.split())}  {who}"
    return f"{line}  {style(decision.id, dim=True)}"


def _list_proposed(options: dict[str, str], *, as_json: bool) -> None:
    """Print what was proposed and is not yet settled, and from when it can be accepted."""
    with opened(options) as api:
        pending = api.run(operations.proposals)
    lines = []
    for waiting in pending:
        each = waiting.proposal
        replaces = f"; would replace {', '.join(each.supersedes)}" if each.supersedes else ""
        who = f"{byline(each.author, each.origin)}{through(each.origin)}"
        lines += [
            f"{style(each.id, bold=True)}  {each.target}: {each.title}",
            style(
                f"  by {who}, to accept from {waiting.opens:%Y-%m-%d %H:%M:%S} UTC{replaces}",
                dim=True,
            ),
        ]
    say(pending, lines or "No proposals.", as_json)


@click.command(short_help="Make a proposal the truth.")
@click.argument("id")
@identity
def accept(options: dict[str, str], id: str) -> Decision:
    """Make the proposal ID the truth (needs --role admin, and the secret).

    The secret is asked for, unless AGENT_MEMORY_SECRET holds it.
    """
    with opened(options) as api:
        id = decision_id(api, id)
        secret = None if api.run(operations.has_secret) else ask_secret("Secret")
        decision = api.run(operations.accept, id, secret)
    echo(f"Accepted as {decision.id}.")
    return decision


@click.group(cls=Commands, short_help="Look after the decisions in Git.")
def ledger() -> None:
    """Look after the decisions in Git, and the secret with which proposals are accepted."""


@ledger.command(short_help="Pin the secret for accepting proposals.")
@identity
def secret(options: dict[str, str]) -> dict[str, object]:
    """Pin the secret with which proposals are accepted (needs --role admin); only its hash is kept."""
    from minutebook.features.ledger.keys.approval_secret import ApprovalSecret

    with made_here(options) as (app, caller):
        current = None
        if app.get(ApprovalSecret).is_set:
            current = ask_secret("Present secret")
        text = ask_secret("New secret", twice=True)
        app.get(ApprovalSecret).set(caller, text, current)
    echo("The secret is set.")
    return {"set": True}


@ledger.command(short_help="Bring the tables and Git together again.")
@identity
@as_json
def rebuild(options: dict[str, str], as_json: bool) -> None:  # noqa: FBT001
    """Bring the tables and Git together again; Git is the record of truth."""
    from minutebook.features.ledger.mirror.rebuilding import Rebuilds

    with made_here(options) as (app, caller):
        done = app.get(Rebuilds).rebuild(caller)
    summary = (
        f"{done.path}: {count_of(done.decisions, 'decision')}; {len(done.to_tables)} brought to the tables, "
        f"{len(done.to_git)} brought to Git."
    )
    notes = (
        style(f"  {each.rule}: {', '.join(each.ids)}: {each.reason}", fg="yellow")
        for each in (*done.conflicts, *done.notes)
    )
    notices = [_waiting_notice(len(done.waiting))] if done.waiting else []
    say(done, [summary, *notices, *notes], as_json)


COMMANDS = (decide, decisions, accept, ledger)
