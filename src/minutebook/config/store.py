"""Where records are kept, and how surely."""

from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

import platformdirs

from minutebook.config.kinds import (
    COUNT,
    FOLDER,
    PLACE_OF_KEYS,
    SECONDS,
    Kind,
    one_of,
    setting,
)
from minutebook.domain.reason import Reason
from minutebook.feature import engines

Durability = Literal["full", "normal"]


def _server(value: Any, folder: str) -> str:
    """Read the URL of a database on a server; only its scheme is looked at."""
    text = str(value)
    scheme_of(text)
    return text


def scheme_of(address: str) -> str:
    """Return the scheme of a store's address. Raises ValueError if no feature has an engine for it."""
    scheme, separator, _ = address.partition("://")
    if not separator or scheme not in engines():
        raise ValueError(scheme)
    return scheme


@dataclass(frozen=True, kw_only=True)
class StoreSettings:
    """Where records are kept, and how surely."""

    home: Path = setting(
        lambda: Path(platformdirs.user_data_dir("minutebook", appauthor=False)),
        FOLDER,
        "Data directory: the store, its derived indices, config.toml.",
    )
    store: str | None = setting(
        None,
        Kind(_server, Reason("a URL such as postgresql://minutebook@db.example.org/minutebook")),
        "URL of a PostgreSQL database (16 or later) that holds the records, for many processes and "
        "machines: postgresql://USER@HOST/DATABASE, its password by PGPASSFILE or PGPASSWORD; needs "
        "`minutebook[server]`. Not set: a file in the data directory.",
        is_secret=True,
    )
    store_pool: int = setting(
        8,
        COUNT,
        "Connections to that database with which a process reads at once, as many to write, and as many "
        "for what reads long; who finds none free waits for up to writer_wait.",
    )
    key: str = setting(
        "keyring",
        PLACE_OF_KEYS,
        "Where the key of an encrypted store is: `keyring` (the system's; needs `minutebook[keyring]`), or "
        "`file:PATH` outside the data directory. `minutebook encrypt` makes it.",
    )
    durability: Durability = setting(
        "full",
        one_of(Durability),
        "`full`: an acknowledged write survives a power cut; `normal`: a killed process, but the "
        "last writes before a power cut may be lost.",
    )
    writer_wait: float = setting(
        30.0, SECONDS, "Seconds to wait for another process that is writing."
    )
