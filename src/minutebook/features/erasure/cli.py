"""The command that erases records so that no byte of them is left, and searches for remains."""

from collections.abc import Iterator, Sequence
from typing import IO, TYPE_CHECKING

import click

from minutebook.cli.ids import any_id
from minutebook.cli.keyboard import TEXT_FILE, confirm, text_in
from minutebook.cli.opening import opened_here
from minutebook.cli.printing import echo, say, short, style
from minutebook.cli.terminal import as_json, counted, identity
from minutebook.record.caller import with_call
from minutebook.record.errors import InvalidInput
from minutebook.record.reason import count_of
from minutebook.record.records import Kind, Record

if TYPE_CHECKING:
    from minutebook.features.erasure.erasing import Erased, ErasureSearch
    from minutebook.store.sql.side_words import SideRow

_MOST_LISTED = 20


@click.command(short_help="Remove records so that no byte of them is left.")
@click.argument("ids", metavar="[ID]...", nargs=-1)
@click.option("--query", metavar="WORDS", help="All that says these words in a row, now or before.")
@click.option("--of-user", metavar="NAME", help="All that is this user's.")
@click.option("--session", metavar="NAME", help="All turns and summaries of this session.")
@click.option("--backups", is_flag=True, help="Write the known backups anew without it, too.")
@click.option("--from-ledger", is_flag=True, help="Rewrite the ledger's history, for decisions.")
@click.option(
    "--rewrite-tables",
    is_flag=True,
    help="Have a PostgreSQL server write its tables anew (VACUUM FULL), each locked meanwhile.",
)
@click.option("--deleted", is_flag=True, help="Erase what was deleted before, and nothing else.")
@click.option("--resume", is_flag=True, help="End an erasure that was cut short.")
@click.option(
    "--check",
    "texts",
    metavar="FILE",
    type=TEXT_FILE,
    help="Only search for the lines of FILE; - is stdin.",
)
@click.option("--dry-run", is_flag=True, help="Only count what would be erased.")
@click.option("--reason", metavar="TEXT", help="Why; the audit trail keeps it for good.")
@click.option("--yes", is_flag=True, help="Do not ask.")
@identity
@as_json
@click.pass_context
def erase(
    context: click.Context,
    options: dict[str, str],
    ids: tuple[str, ...],
    query: str | None,
    of_user: str | None,
    session: str | None,
    backups: bool,  # noqa: FBT001
    from_ledger: bool,  # noqa: FBT001
    rewrite_tables: bool,  # noqa: FBT001
    deleted: bool,  # noqa: FBT001
    resume: bool,  # noqa: FBT001
    texts: IO[bytes] | None,
    dry_run: bool,  # noqa: FBT001
    reason: str | None,
    yes: bool,  # noqa: FBT001
    as_json: bool,  # noqa: FBT001
) -> None:
    """Remove memories, entities, relations, decisions, proposals, turns and summaries for good.

    With a record go its versions, vectors, links, index entries and the log of the questions that got it.
    Then the files of the store are written anew, and all files are searched for what it said. The audit
    trail keeps who erased what, when and why, without a word of it. Exits with 1 if something is left.
    """
    from minutebook.ask.opening import OnApp
    from minutebook.features.erasure.erasing import Erasing
    from minutebook.features.erasure.selection import Choice

    chosen = [bool(ids or query or of_user or session), deleted, resume, texts is not None]
    with opened_here(options) as (app, caller):
        _check_one_choice(chosen, dry_run)
        caller, erasing = with_call(caller, reason=reason or ""), app.get(Erasing)
        if texts is not None:
            checked = erasing.check(caller, text_in(texts.read(), "--check").splitlines())
            say(checked, _search_lines(checked), as_json)
            is_clean = _is_clean(checked)
        elif deleted:
            is_clean = _print_left(erasing.scrub(caller, rewrites_tables=rewrite_tables), as_json)
        elif resume:
            is_clean = _print_erased(erasing.resume(caller), as_json)
        else:
            whole = tuple(any_id(OnApp(app, caller), each) for each in ids)
            choice = Choice(whole, query, of_user, session)
            records, copies = erasing.find(caller, choice), erasing.copies(caller, choice)
            if not (records or copies) or dry_run:
                _print_counts(records, copies, as_json)
                return
            if not yes:
                _confirm(records, copies)
            places = {"backups": backups, "from_ledger": from_ledger}
            done = erasing.erase(caller, records, copies, **places, rewrites_tables=rewrite_tables)
            is_clean = _print_erased(done, as_json)
    context.exit(0 if is_clean else 1)


def _check_one_choice(chosen: Sequence[bool], dry_run: bool) -> None:  # noqa: FBT001
    """Raise InvalidInput unless one of the options is given that say what to do, and for a dry run the first."""
    if sum(chosen) != 1:
        remedy = "or --query, --of-user or --session must say what to erase; --deleted, --resume and --check stand alone"
        raise InvalidInput("ID", remedy)
    if dry_run and not chosen[0]:
        remedy = "counts what ID, --query, --of-user or --session say; leave it out here"
        raise InvalidInput("--dry-run", remedy)


def _confirm(records: Sequence[Record], copies: "Sequence[SideRow]") -> None:
    echo(*_count_lines(records, copies))
    confirm("Erase this for good? Nothing brings it back.", abort=True)


def _count_lines(records: Sequence[Record], copies: "Sequence[SideRow]") -> Iterator[str]:
    for each in records[:_MOST_LISTED]:
        yield f"{each.kind} {each.id}  {style(_label(each), dim=True)}"
    if len(records) > _MOST_LISTED:
        yield f"… and {len(records) - _MOST_LISTED:,} more"
    kinds = [each.kind for each in records]
    yield f"To be erased: {counted({kind: kinds.count(kind) for kind in Kind})}"
    if copies:
        tables = ", ".join(sorted({each.table.name for each in copies}))
        yield f"and {count_of(len(copies), 'copy', 'copies')} of such words in {tables}"


def _label(record: Record) -> str:
    from minutebook.features.erasure.selection import texts_of

    return short(" ".join(" ".join(texts_of(record)).split()), 60)


def _print_counts(
    records: Sequence[Record],
    copies: "Sequence[SideRow]",
    as_json: bool,  # noqa: FBT001
) -> None:
    shape = {
        "records": [{"kind": each.kind, "id": each.id} for each in records],
        "copies": [{"table": each.table.name, **each.names} for each in copies],
    }
    say(shape, list(_count_lines(records, copies)), as_json)


def _print_left(left: Sequence[str], as_json: bool) -> bool:  # noqa: FBT001
    """Print the steps left to a person; return whether there are none."""
    nothing = "Nothing of what was deleted is left in the store's files."
    say({"left": left}, list(_remark_lines(left)) or nothing, as_json)
    return not left


def _print_erased(done: "Erased | None", as_json: bool) -> bool:  # noqa: FBT001
    """Print the results of an erasure; return whether nothing is left."""
    if done is None:
        say({"records": []}, "No erasure was cut short.", as_json)
        return True
    lines = [f"Erased {count_of(len(done.records), 'record')}."]
    lines += [f"{path} was written anew." for path in done.rewritten]
    if done.checked is None:
        lines.append(
            "What they said is not known any more: `minutebook erase --check FILE` searches for what you name."
        )
    else:
        lines += _search_lines(done.checked)
    say(done, [*lines, *_remark_lines(done.left)], as_json)
    return not done.left and (done.checked is None or _is_clean(done.checked))


def _is_clean(checked: "ErasureSearch") -> bool:
    return not (checked.traces or checked.tables or checked.unread)


def _remark_lines(left: Sequence[str]) -> Iterator[str]:
    yield from (style(f"→ {each}", fg="yellow") for each in left)


def _search_lines(checked: "ErasureSearch") -> Iterator[str]:
    for _, kind, id in checked.alike[:_MOST_LISTED]:
        yield f"{kind} {id} holds some of the same words: erase it too, unless they are its own."
    if len(checked.alike) > _MOST_LISTED:
        yield f"… and {len(checked.alike) - _MOST_LISTED:,} more records do"
    for each in checked.traces:
        member = f", in {each.member}," if each.member else ""
        yield style(f"Still in {each.path}{member} {each.pieces:,} pieces of it", fg="red")
    for table, pieces in checked.tables.items():
        yield style(f"Still in the server's table {table} {pieces:,} pieces of it", fg="red")
    for unread in checked.unread:
        yield style(f"{unread.path} could not be searched: {unread.reason}", fg="red")
    if not checked.pieces:
        yield "No words of its own were left to search for."
    elif _is_clean(checked):
        yield f"No file holds any of the {checked.pieces:,} pieces of it that were searched for."


COMMANDS = (erase,)
