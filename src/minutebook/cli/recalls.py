"""See which records each question got."""

import click

from minutebook.cli.ids import completing, completing_sessions, memory_id
from minutebook.cli.printing import body, say, style
from minutebook.cli.terminal import as_json, headline, identity, opened
from minutebook.domain.records import Memory, TextRecord
from minutebook.features.recall_log.services import RecallLogServices
from minutebook.services.access.recall_log import ShownRecall


@click.command(short_help="See which records each question got.")
@click.option("--session", shell_complete=completing_sessions, help="Of this session only.")
@click.option(
    "--memory", metavar="ID", shell_complete=completing(Memory), help="What got this memory only."
)
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

    The settings `recall_log`, `recall_log_days` and `recall_log_most` say what is kept. SESSION is a
    session of `minutebook sessions`, or that of a connection, as the log names it.
    """
    with opened(options) as (app, caller):
        record = (
            None if memory is None else app.memories.read(caller, memory_id(app, caller, memory))
        )
        names = None if session is None else app.sessions.connections(caller, session)
        found = app.get(RecallLogServices).recalls.entries(
            caller, sessions=names, client=client, record=record, limit=limit, offset=offset
        )
        is_off = app.get(RecallLogServices).recalls.mode == "off"
    none = "No question is in the log."
    if is_off:
        none += " It is off: `minutebook settings set recall_log records` turns it on."
    lines = [line for each in found for line in _lines(each)]
    say([_shape(each) for each in found], lines or none, as_json)


def _shape(shown: ShownRecall) -> dict[str, object]:
    entry = shown.entry
    return {
        "at": entry.at,
        "question": entry.question,
        "actor": entry.actor,
        "client": entry.client,
        "contract": entry.contract,
        "act": entry.act,
        "session": entry.session,
        "organization": entry.organization,
        "got": [
            {"kind": record.kind, "id": record.id, "score": score} for record, score in shown.got
        ],
    }


def _lines(shown: ShownRecall) -> list[str]:
    entry = shown.entry
    through = " ".join(part for part in (entry.client, entry.contract, entry.act) if part)
    session = f"  {style(entry.session, dim=True)}" if entry.session else ""
    head = f"{entry.at:%Y-%m-%d %H:%M:%S}  {entry.actor}, {through}{session}"
    question = [f"    {body(entry.question, '    ')}"] if entry.question else []
    got = [
        headline(f"    {score:.3f}", record)
        for record, score in shown.got
        if isinstance(record, TextRecord)
    ]
    return [head, *question, *(got or ["    (nothing that is still here)"])]


COMMANDS = (recalls,)
