"""Encrypts a store in a process of its own: `python -m tests.features.encryption.encrypted HOME KEYS [new-key|off]`."""

import sys
from pathlib import Path

from minutebook.config import Settings, settings_with
from minutebook.features.encryption.encryption import encryption_of


def settings(home: Path, keys: Path, **changes: object) -> Settings:
    """The settings of a store whose key is in a file."""
    options: dict[str, object] = {"durability": "normal", "embedder": "none"} | changes
    return settings_with(home=home, key=f"file:{keys}", **options)


def main(home: str, keys: str, act: str = "") -> None:
    """Encrypt it."""
    work = encryption_of(settings(Path(home), Path(keys)))
    if act == "off":
        work.decrypt()
    else:
        work.encrypt(with_new_key=act == "new-key")


if __name__ == "__main__":
    main(*sys.argv[1:])
