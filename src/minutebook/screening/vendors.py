"""The formats of tokens that their issuers document; `vendors.toml` lists them."""

import tomllib
from collections.abc import Iterator
from pathlib import Path

from minutebook.screening.formats import Check, TokenFormat, has_crc32

_CHECKS: dict[str, Check] = {"crc32": has_crc32}


def _listed() -> Iterator[TokenFormat]:
    listed = Path(__file__).with_name("vendors.toml").read_text(encoding="utf-8")
    for issuer in tomllib.loads(listed)["issuer"]:
        for each in issuer["formats"]:
            yield TokenFormat(
                each["kind"],
                issuer["documentation"],
                tuple(each["starts"].split()),
                each["body"],
                each.get("before", ""),
                _CHECKS[each["check"]] if "check" in each else None,
            )


FORMATS = tuple(_listed())
"""Every format with a beginning of its own."""
