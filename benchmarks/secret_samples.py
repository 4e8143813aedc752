"""Made-up secrets of every kind, put together when they are needed, so that no file holds one."""

import re
from random import Random

from minutebook.memory.screening.formats import (
    ALPHABETS,
    FORMATS,
    CharacterRun,
    TokenFormat,
    crc32_of,
    parts_of,
)

_MORE = 30
"""Characters beyond the least that a run of varying length gets, at most."""

_SLOT = re.compile(r"\{\{([^{}]+)\}\}")


def drawn(body: str, random: Random) -> str:
    """Return a text of the form of a body (`<A:20>-<H:8>`)."""
    return "".join(
        "".join(random.choices(ALPHABETS[part.letter], k=_length(part, random)))
        if isinstance(part, CharacterRun)
        else part
        for part in parts_of(body)
    )


def token(format: TokenFormat, start: str, random: Random) -> str:
    """Return a token of a format, with right check digits where it has any."""
    if format.check is not None:
        body = drawn("<A:30>", random)
        return f"{start}{body}{crc32_of(body)}"
    return f"{drawn(format.before, random)}{start}{drawn(format.body, random)}"


def filled(template: str, random: Random) -> tuple[str, list[str]]:
    """Return a template's text with its slots filled, and the secrets in it.

    A slot is `{{GitHub token}}`, a kind with a format, or `{{<A:20>}}`, a body. One that begins with
    `not ` is filled as well, and is no secret.
    """
    secrets = []

    def fill(slot: re.Match[str]) -> str:
        name = slot[1].removeprefix("not ")
        named = [each for each in FORMATS if each.kind == name]
        if named:
            made = token(named[0], random.choice(named[0].starts), random)
        elif name == "private key":
            made = private_key(random)
        else:
            made = drawn(name, random)
        if not slot[1].startswith("not "):
            secrets.append(made)
        return made

    return _SLOT.sub(fill, template), secrets


def private_key(random: Random) -> str:
    """Return what looks like a private key in PEM."""
    kind = random.choice(("RSA ", "EC ", "OPENSSH ", ""))
    lines = "\n".join(drawn("<B:64>", random) for _ in range(6))
    rule = "-" * 5
    return f"{rule}BEGIN {kind}PRIVATE KEY{rule}\n{lines}\n{rule}END {kind}PRIVATE KEY{rule}"


def _length(run: CharacterRun, random: Random) -> int:
    return random.randint(run.least, min(run.most, run.least + _MORE))
