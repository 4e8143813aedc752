"""Small repositories, with commits at given times."""

from collections.abc import Mapping
from pathlib import Path

import pygit2


def committed(
    root: Path, files: Mapping[str, str | None], at: int = 1_700_000_000, message: str = "a commit"
) -> str:
    """Write or remove files, and commit all; return the commit's short id."""
    repository = (
        pygit2.Repository(str(root)) if (root / ".git").exists() else pygit2.init_repository(root)
    )
    for path, text in files.items():
        place = root / path
        if text is None:
            place.unlink()
        else:
            place.parent.mkdir(parents=True, exist_ok=True)
            place.write_text(text)
    index = repository.index
    index.read()
    index.add_all()
    index.write()
    who = pygit2.Signature("Ana", "ana@example.org", at, 0)
    parents = [] if repository.head_is_unborn else [repository.head.target]
    made = repository.create_commit("HEAD", who, who, message, index.write_tree(), parents)
    return repository[made].short_id
