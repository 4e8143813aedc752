"""The notes of Claude Code become memories of the project whose path their folder's name tells."""

from pathlib import Path

import pytest

from minutebook.features.importers.sources.claude_code_memory import folder_of
from minutebook.features.importers.sources.registry import SOURCES, found_in
from minutebook.record.records import MemoryType
from minutebook.record.writing.source_drafts import MemoryDraft
from tests.config.folders.test_finding import NAME, repository
from tests.features.importers.sources.transcripts import lines, message
from tests.features.importers.test_cli import done
from tests.terminal import Run

INDEX = """# Memory Index

- [Payments](payments.md) — Stripe in the EU

## Deploys
- They go out on Monday.
"""
TOPIC = """---
name: payments
description: Payments go to Stripe in the EU
metadata:
  node_type: memory
  type: feedback
  modified: 2026-11-08T19:29:56.864Z
---

Stripe in the EU, Adyen elsewhere. See [[keys]].
"""


def home_of(projects: Path, folder: Path | str) -> Path:
    """The folder that Claude Code keeps for a project, with an empty one for its notes."""
    home = projects / "".join(c if c.isascii() and c.isalnum() else "-" for c in str(folder))
    (home / "memory").mkdir(parents=True)
    return home


def memories(projects: Path) -> list[MemoryDraft]:
    kind = SOURCES["claude-code-memory"]
    told = list(found_in(kind.files(projects), kind))
    drafts = [each for each in told if isinstance(each, MemoryDraft)]
    assert drafts == told
    return drafts


def test_a_topic_is_a_memory_and_an_index_what_it_says_itself(tmp_path: Path) -> None:
    (tmp_path / "my-shop").mkdir()
    notes = home_of(tmp_path / "projects", tmp_path / "my-shop") / "memory"
    (notes / "MEMORY.md").write_text(INDEX, encoding="utf-8")
    (notes / "payments.md").write_text(TOPIC, encoding="utf-8")
    index, topic = memories(tmp_path / "projects")
    assert (index.title, index.content) == (
        "MEMORY.md › Memory Index › Deploys",
        "- They go out on Monday.",
    )
    assert topic.title == "Payments go to Stripe in the EU"
    assert topic.content == "Stripe in the EU, Adyen elsewhere. See [[keys]]."
    assert topic.type is MemoryType.PREFERENCE
    assert topic.at is not None
    assert topic.at.day == 8
    assert {index.folder, topic.folder} == {str(tmp_path / "my-shop")}
    assert [each.content for each in memories(notes)] == [index.content, topic.content]


def test_transcripts_tell_the_folder_first(tmp_path: Path) -> None:
    home = home_of(tmp_path, "/home/ana/my.shop")
    lines(home / "s.jsonl", {"type": "mode"}, {**message("user", "u", 1, "?"), "cwd": "/home/ana/my.shop/src"})  # fmt: skip
    assert folder_of(home) == "/home/ana/my.shop"


@pytest.mark.parametrize(
    ("folders", "named", "found"),
    [
        (("a/shop",), "a/shop", "a/shop"),
        (("a-b/c_d",), "a/b/c/d", "a-b/c_d"),
        (("a/b", "a-b"), "a/b", ""),
        ((), "a/gone", ""),
    ],
)
def test_what_is_on_this_machine_tells_it_else(
    tmp_path: Path, folders: tuple[str, ...], named: str, found: str
) -> None:
    for each in folders:
        (tmp_path / each).mkdir(parents=True)
    home = home_of(tmp_path / "projects", tmp_path / named)
    assert folder_of(home) == (str(tmp_path / found) if found else "")


def test_notes_belong_to_the_project_of_their_folder(run: Run, tmp_path: Path) -> None:
    shop = repository(tmp_path / "shop")
    notes = home_of(tmp_path / "projects", shop) / "memory"
    (notes / "payments.md").write_text(TOPIC, encoding="utf-8")
    source = ("import", "claude-code-memory", str(tmp_path / "projects"))
    assert "Imported 1 record (memory 1)" in done(run, *source)
    assert NAME in done(run, "list", "--json")
    (notes / "payments.md").write_text(TOPIC.replace("Adyen", "Mollie"), encoding="utf-8")
    assert "1 record (memory 1): changed" in done(run, *source)
