"""See which records each question got."""

import click

from minutebook.cli.ids import memory_id
from minutebook.cli.opening import opened
from minutebook.cli.printing import body, say, style
from minutebook.cli.terminal import as_json, headline, identity
from minutebook.features.recall_log import operations
from minutebook.features.recall_log.rows import ShownRecall
from minutebook.record.origin import quoted_name
from minutebook.record.records import TextRecord


@click.command(short_help="See which records each question got.")
@click.option("--session", help="Of this session only.")
@click.option("--memory", metavar="ID", help="Questions that got this memory only.")
@click.option("--client", help="Through this program only, such as claude-code.")
@click.option("--limit", type=click.IntRange(1, 1000), default=20, show_default=True)
@click.option("--offset", type=click.IntRange(0), default=0, help="How many to leave out first.")
@identity
@as_json
def recalls(
    options: dict[str, str],
    session: str | None,
    memory: str | None,
    client: str | None,
    limit: int,
    offset: int,
    as_json: bool,  # noqa: FBT001
) -> None:
    """See which records each question got, the latest first: who asked, when and through what.

    The setting `recall_log` says what is kept, for 30 days. SESSION is a session of `minutebook sessions`, or that of a connection, as the log names it.
    """
    with opened(options) as api:
        record = None if memory is None else memory_id(api, memory)
        page = api.run(operations.recalls, session, client, record, limit, offset)
    none = "No question is in the log."
    if page.is_off:
        none += " It is off: `minutebook settings set recall_log records` turns it on."
    lines = [line for each in page.recalls for line in _lines(each)]
    if not page.is_whole:
        none = (
            "What was asked lately is not known: it cannot be noted; `minutebook doctor` says why."
        )
        lines.append(none)
    say(page.recalls, lines or none, as_json)


def _lines(recalled: ShownRecall) -> list[str]:
    entry = recalled.entry
    through = " ".join(part for part in (entry.client, entry.contract, entry.act) if part)
    session = f"  {style(entry.session, dim=True)}" if entry.session else ""
    head = f"{entry.at:%Y-%m-%d %H:%M:%S}  {quoted_name(entry.actor)}, {through}{session}"
    question = [f"    {body(entry.question, '    ')}"] if entry.question else []
    got = [
        headline(f"    {score:.3f}", record)
        for record, score in recalled.got
        if isinstance(record, TextRecord)
    ]
    return [head, *question, *(got or ["    (nothing that is still here)"])]


COMMANDS = (recalls,)
