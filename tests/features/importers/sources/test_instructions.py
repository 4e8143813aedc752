"""Instructions come section by section, with where they stand, and follow their file."""

from pathlib import Path, PurePath

import pytest

from minutebook.features.importers.sources.registry import SOURCES, found_in
from minutebook.record.writing.source_drafts import MemoryDraft
from tests.features.importers.test_cli import done
from tests.terminal import Run

CLAUDE_MD = """# Project

We write Python.

## Style

- Short functions

```sh
# no heading
```

## Tests
### Empty
"""


def memories(folder: Path) -> list[MemoryDraft]:
    kind = SOURCES["instructions"]
    told = list(found_in(kind.files(folder), kind))
    drafts = [each for each in told if isinstance(each, MemoryDraft)]
    assert drafts == told
    return drafts


def test_a_section_is_a_memory_with_its_place(tmp_path: Path) -> None:
    (tmp_path / "CLAUDE.md").write_text(CLAUDE_MD)
    first, second = memories(tmp_path)
    assert (first.title, first.content) == ("CLAUDE.md › Project", "We write Python.")
    assert second.title == "CLAUDE.md › Project › Style"
    assert second.content == "- Short functions\n\n```sh\n# no heading\n```"
    assert (second.place.line, second.metadata["path"]) == (7, "CLAUDE.md")


def test_rules_of_an_editor_keep_their_front_matter(tmp_path: Path) -> None:
    rules = tmp_path / ".cursor" / "rules"
    rules.mkdir(parents=True)
    (rules / "a.mdc").write_text("---\ndescription: Tests\nalwaysApply: true\n---\nRun them.\n")
    (rules / "b.mdc").write_text("---\nglobs: *.py\n---\nTyped.\n")
    one, two = memories(tmp_path)
    assert one.metadata["alwaysApply"] is True
    assert (two.content, two.metadata["globs"]) == ("Typed.", "*.py")
    assert "globs" in str(two.metadata["front"])


@pytest.mark.parametrize(
    "block",
    [
        "````md\n```\n# no heading\n```\n# nor this\n````",
        "```\n# no heading\n````",
        "~~~\n```\n# no heading\n~~~",
        "```sh\n```sh\n# no heading\n```",
        "- item\n\n  ```\n  # no heading\n  ```",
    ],
)
def test_a_block_of_code_ends_at_a_fence_of_its_sign_and_length(tmp_path: Path, block: str) -> None:
    (tmp_path / "AGENTS.md").write_text(f"# One\n\n{block}\n\n# Two\n\nText\n")
    assert [each.content for each in memories(tmp_path)] == [block, "Text"]


def test_signs_of_code_in_a_line_are_no_fence(tmp_path: Path) -> None:
    (tmp_path / "AGENTS.md").write_text("# One\n\n```a``` b\n\n# Two\n\nText\n")
    assert [each.content for each in memories(tmp_path)] == ["```a``` b", "Text"]


@pytest.mark.parametrize(
    ("path", "is_one"),
    [
        ("AGENTS.md", True),
        ("a/b/AGENTS.md", True),
        (".github/copilot-instructions.md", True),
        (".github/instructions/x.instructions.md", True),
        (".clinerules/x.md", True),
        (".cursorrules", True),
        ("README.md", False),
        (".cursor/rules/x.txt", False),
    ],
)
def test_which_files_hold_instructions(path: str, is_one: bool) -> None:
    assert SOURCES["instructions"].is_wanted(PurePath(path)) is is_one


def test_what_was_installed_is_passed_over(tmp_path: Path) -> None:
    (tmp_path / "node_modules").mkdir()
    (tmp_path / "node_modules" / "AGENTS.md").write_text("Not ours")
    assert memories(tmp_path) == []


def test_a_changed_section_is_a_new_version(run: Run, tmp_path: Path) -> None:
    (tmp_path / "p").mkdir()
    (tmp_path / "p" / "AGENTS.md").write_text(CLAUDE_MD)
    assert "memory 2" in done(run, "import", "instructions", "p")
    (tmp_path / "p" / "AGENTS.md").write_text("\n\n" + CLAUDE_MD.replace("Short", "Very short"))
    said = done(run, "import", "instructions", "p")
    assert "Imported nothing" in said
    assert "Very short functions" in done(run, "list", "--json")
