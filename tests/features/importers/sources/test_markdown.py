"""Notes become entities, memories and relations; what Minutebook wrote comes back as it was."""

from collections.abc import Mapping
from datetime import UTC, datetime
from pathlib import Path

import pytest

from minutebook.features.importers.sources.registry import SOURCES, found_in
from minutebook.record.records import MemoryType
from minutebook.record.writing.source_drafts import (
    EntityDraft,
    Found,
    MemoryDraft,
    RelationDraft,
    UnreadPart,
)
from tests.features.importers.test_cli import done
from tests.terminal import Run, remembered

COFFEE = """---
title: Coffee Brewing
type: note
tags: [coffee, brewing]
permalink: coffee/brewing
created: 2026-03-01
---

# Coffee Brewing

I like [[Beans|good beans]] and ![[cup.png]].

## Observations
- [method] Pour over is clearer #flavor (personal experience)
- [decision] Use a scale
- [ ] buy filters
- [00:12] spoken
- [text](https://example.org) is a link

## Relations
- requires [[Proper Grinding]] (always)
- "is unlike" [[tea.md]]
- this is prose about [[Nowhere]]

```
- [not] an observation
- not_a [[Relation]]
```
"""


def found(folder: Path) -> list[Found]:
    kind = SOURCES["markdown"]
    return list(found_in(kind.files(folder), kind))


def memories(told: list[Found]) -> list[MemoryDraft]:
    return [each for each in told if isinstance(each, MemoryDraft)]


def written(folder: Path, **files: str) -> Path:
    for name, text in files.items():
        (folder / f"{name}.md").write_text(text, encoding="utf-8")
    return folder


def test_a_note_has_observations_relations_and_the_rest_of_its_text(tmp_path: Path) -> None:
    told = found(written(tmp_path, coffee=COFFEE, Beans="Arabica.", tea="---\ntitle: Tea\n---\n"))
    first = [each for each in told if each.place.file.endswith("coffee.md")]
    observations = [each for each in first if isinstance(each, MemoryDraft)]
    assert [(each.content, each.type) for each in observations[:2]] == [
        ("Pour over is clearer #flavor", MemoryType.FACT),
        ("Use a scale", MemoryType.DECISION_LOG),
    ]
    assert observations[0].metadata == {
        "category": "method",
        "note": "coffee.md",
        "context": "personal experience",
        "tags": ["coffee", "brewing", "flavor"],
    }
    assert observations[0].place.line == 14
    text = observations[2]
    assert text.title == "Coffee Brewing"
    assert "- [ ] buy filters\n- [00:12] spoken" in text.content
    assert "- [not] an observation" in text.content
    assert "requires" not in text.content
    assert text.metadata["permalink"] == "coffee/brewing"
    assert text.metadata["created"] == "2026-03-01"
    relations = {(e.type, e.target) for e in first if isinstance(e, RelationDraft)}
    assert relations == {
        ("links_to", "Beans"),
        ("requires", "Proper Grinding"),
        ("is unlike", "Tea"),
        ("links_to", "Nowhere"),
    }
    names = {each.name for each in told if isinstance(each, EntityDraft)}
    assert names == {"Coffee Brewing", "Beans", "Tea", "Proper Grinding", "Nowhere"}


@pytest.mark.parametrize(
    ("head", "reason", "fields"),
    [
        ("a: &x [1]\nb: *x", "alias", {"a": [1], "b": "*x"}),
        ("who: @ana\nby: [x", "who, by", {"who": "@ana", "by": "[x"}),
        ("about: Tea: the first cup\nn: 2", "about", {"about": "Tea: the first cup", "n": 2}),
        ("# mine\n'a b': 2026-13-45\nc:\n- 1", "month", {"a b": "2026-13-45", "c": [1]}),
        ("a: " + "[" * 500 + "]" * 500, "deeper", {"a": "[" * 500 + "]" * 500}),
        ("a: !!python/object:os.system x", "not YAML", {"a": "!!python/object:os.system x"}),
        ("tags:\n\t- x\n\t- y", "tags", {"tags": ["x", "y"]}),
        ("- a", "no fields", None),
        ("A text: of two\nlines.\n\n- and a list", "not YAML", {}),
        ('"a\nb: c', "not YAML", None),
        ("a: b\n" * 20_000, "values", None),
        ("a: " + "b" * 2**20, "longer", None),
    ],
)
def test_a_note_is_kept_whose_front_matter_cannot_be_read(
    tmp_path: Path, head: str, reason: str, fields: Mapping[str, object] | None
) -> None:
    (memory,) = memories(
        found(written(tmp_path, a=f"---\n{head}\n---\nThe pier closes at nine.\n"))
    )
    metadata = dict(memory.metadata)
    assert reason in str(metadata.pop("front"))
    assert memory.content.endswith("The pier closes at nine.")
    assert memory.content.startswith("---") is (fields is None)
    if fields:
        assert metadata == {**fields, "note": "a.md"}


def test_an_observation_in_a_longer_block_is_code(tmp_path: Path) -> None:
    text = "````\n```\n- [not] one\n```\n- [nor] this\n````\n- [fact] Tea is hot"
    first, second = memories(found(written(tmp_path, a=text)))
    assert {first.content, second.content} == {"Tea is hot", text.rpartition("\n")[0]}


def test_a_date_that_cannot_be_read_is_named_and_the_note_kept(tmp_path: Path) -> None:
    told = found(
        written(
            tmp_path,
            a="---\ncreated: May 32, 2024\ndate: 20240501\n---\nThe pier closes.\n",
            b="---\ncreated: 05/01/2024\n---\nThe gulls are loud.\n",
        )
    )
    assert [each.reason for each in told if isinstance(each, UnreadPart)] == [
        "the time in `created` cannot be read: 'May 32, 2024'",
        "the time in `created` cannot be read: '05/01/2024'",
    ]
    first, second = memories(told)
    assert first.at == datetime(2024, 5, 1, tzinfo=UTC)
    assert second.at == datetime.fromtimestamp((tmp_path / "b.md").stat().st_mtime, UTC)


def test_a_note_of_our_own_keeps_its_end(tmp_path: Path) -> None:
    head = "minutebook: memory\nid: x\ntype: fact\nvalid_until: "
    told = found(
        written(
            tmp_path,
            a=f"---\n{head}'2025-01-01T00:00:00Z'\n---\n\nThe pier closes.\n",
            b=f"---\n{head}soon\n---\n\nThe gulls are loud.\n",
        )
    )
    (memory,) = memories(told)
    assert memory.until == datetime(2025, 1, 1, tzinfo=UTC)
    (unread,) = (each for each in told if isinstance(each, UnreadPart))
    assert "`valid_until`" in unread.reason


def test_front_matter_may_be_as_long_and_deep_as_the_note_of_a_memory(tmp_path: Path) -> None:
    metadata = "[" * 100 + "]" * 100
    text = f"---\ntitle: {'t' * 100_000}\nmetadata: {metadata}\n---\ntea at five\n"
    (memory,) = memories(found(written(tmp_path, a=text)))
    assert (memory.content, len(memory.title or "")) == ("tea at five", 100_000)


@pytest.mark.parametrize(
    ("text", "is_kept"), [("#include <a>", True), ("#tag", True), ("# A\n\n###### B\n#", False)]
)
def test_a_line_that_begins_with_a_tag_is_no_heading(
    tmp_path: Path, text: str, is_kept: bool
) -> None:
    told = found(written(tmp_path, a=text))
    assert [each.content for each in told if isinstance(each, MemoryDraft)] == [text] * is_kept


@pytest.mark.parametrize("text", ["---\nA rule, no fence.\n", "", "---\n", "---\n---\n# H\n"])
def test_a_note_without_front_matter_is_one(tmp_path: Path, text: str) -> None:
    assert isinstance(found(written(tmp_path, a=text))[0], EntityDraft)


def test_what_is_hidden_or_of_another_encoding_is_no_note(tmp_path: Path) -> None:
    (tmp_path / ".obsidian").mkdir()
    (tmp_path / ".obsidian" / "a.md").write_text("x")
    (tmp_path / "b.md").write_bytes("ü".encode("utf-16"))
    (told,) = found(tmp_path)
    assert isinstance(told, UnreadPart)


def test_a_vault_is_imported_and_what_was_exported_comes_back(run: Run, tmp_path: Path) -> None:
    vault = tmp_path / "vault"
    vault.mkdir()
    written(vault, coffee=COFFEE, Beans="Arabica.")
    assert "memory 4" in done(run, "import", "markdown", "vault")
    assert "Imported nothing" in done(run, "import", "markdown", "vault")
    remembered(run, "Tea at five\n\n<!-- links -->\nis said")
    done(run, "export", "--format", "markdown", "out")
    other = ("--home", str(tmp_path / "other"))
    done(run, "import", "markdown", "out", *other)
    done(run, "export", "--format", "csv", "there", *other)
    done(run, "export", "--format", "csv", "here")
    for name in ("memory.csv", "relation.csv", "entity.csv"):
        rows = [
            len((tmp_path / place / name).read_text().split("\n")) for place in ("here", "there")
        ]
        assert rows[0] == rows[1], name
    assert "is said" in done(run, "list", "--json", *other)
    assert "Imported nothing" in done(run, "import", "markdown", "out", *other)
