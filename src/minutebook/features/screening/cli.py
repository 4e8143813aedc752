"""Find the secrets that are in the store, and replace them."""

from collections.abc import Iterator

import click

from minutebook.cli.opening import opened
from minutebook.cli.printing import say, style
from minutebook.cli.terminal import as_json, identity
from minutebook.features.screening.operations import mask_secrets, scan_secrets
from minutebook.features.screening.secret_scan import Occurrence
from minutebook.record.errors import InvalidInput


@click.command(short_help="Find secrets in what is kept, and replace them.")
@click.option("--mask", is_flag=True, help="Put `[secret: KIND]` in their place, for good.")
@click.option("--reason", metavar="TEXT", help="Why; with --mask, for the audit trail.")
@identity
@as_json
@click.pass_context
def scan(
    context: click.Context,
    options: dict[str, str],
    mask: bool,  # noqa: FBT001
    reason: str | None,
    as_json: bool,  # noqa: FBT001
) -> None:
    """Find keys, tokens and passwords in memories, entities, decisions, sessions, code and the trail.

    Of a secret no more than its first four characters is shown. Exits with 1 if secrets are left.
    """
    if mask and not (reason or "").strip():
        raise InvalidInput("--reason", "must say why, with --mask: nothing brings the text back")
    if reason is not None and not mask:
        raise InvalidInput("--reason", "goes with --mask")
    with opened(options) as api:
        found = api.run(mask_secrets, reason or "") if mask else api.run(scan_secrets)
    masked, left = found.masked, found.left
    lines = [*_occurrence_lines(masked, "masked"), *_occurrence_lines(left, "")]
    say(found, [*lines, *_advice(masked, left)], as_json)
    context.exit(1 if left else 0)


def _occurrence_lines(occurrences: list[Occurrence], state: str) -> Iterator[str]:
    for each in occurrences:
        proof = ", check digits right" if each.is_proven else ""
        secret = f"{each.secret} {each.shown}{proof}"
        yield f"{each.kind} {each.id}  {each.field}: {secret}{state and style(f'  {state}', fg='green')}"
        if each.remedy and not state:
            yield style(f"  → {each.remedy}", dim=True)


def _advice(masked: list[Occurrence], left: list[Occurrence]) -> Iterator[str]:
    if masked:
        yield (
            "Revoke what was masked if others may have seen it. Earlier backups still hold the texts: "
            "docs/guides/secrets-and-trust.md says what helps."
        )
    elif not left:
        yield "No secrets were found."
    elif any(not each.remedy for each in left):
        yield "`minutebook scan --mask --reason TEXT` replaces those that can be replaced."


COMMANDS = (scan,)
