"""Where the store of a test's data directory is, for processes that are told the directory alone."""

from pathlib import Path
from typing import Any

from minutebook.config import Settings, settings_with


def note_store(home: Path, url: str) -> None:
    """Note that the records of a data directory stand in a database."""
    _note(home).parent.mkdir(parents=True, exist_ok=True)
    _note(home).write_text(url, encoding="utf-8")


def settings_at(home: str | Path, **options: Any) -> Settings:
    """Return settings for a data directory, with its database if one was noted."""
    note = _note(Path(home))
    url = note.read_text(encoding="utf-8") if note.exists() else None
    return settings_with(home=Path(home), store=url, **options)


def _note(home: Path) -> Path:
    return home.with_name(f"{home.name}.store")
