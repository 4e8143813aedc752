"""Decision records become memories with their time, and proposals while they hold."""

from pathlib import Path

import pytest

from minutebook.features.importers.sources.registry import SOURCES, found_in
from minutebook.record.writing.source_drafts import (
    EntityDraft,
    Found,
    MemoryDraft,
    ProposalDraft,
    RelationDraft,
)
from tests.features.importers.test_cli import done
from tests.terminal import Run

MADE = Path(__file__).parent / "made"

MADR = """---
status: superseded by [ADR-0002](0002-use-postgres.md)
date: 2025-03-01
decision-makers: Ana, Ben
---

# Use SQLite

## Context and Problem Statement

Where do we keep orders?

## Decision Outcome

Chosen option: "SQLite", because one file is enough.

### Consequences

* Good, because nothing runs
* Bad, because one writer
  at a time
"""

LISTED = """# ADR-0002: Use PostgreSQL

* Status: accepted
* Deciders: Ana
* Date: 2026-01-15

Technical Story: orders arrive together

## Context and Problem Statement

Writers wait for one another.

## Decision Outcome

A server, because many write at once.

### Positive Consequences

* Writers do not wait
"""
"""The form that MADR had before it used front matter."""


def found(folder: Path) -> list[Found]:
    kind = SOURCES["adr"]
    return list(found_in(kind.files(folder), kind))


def memories(told: list[Found]) -> dict[str, MemoryDraft]:
    return {each.title or "": each for each in told if isinstance(each, MemoryDraft)}


def proposals(told: list[Found]) -> dict[str, ProposalDraft]:
    return {each.title: each for each in told if isinstance(each, ProposalDraft)}


def test_a_record_of_madr_without_a_state_is_read() -> None:
    told = found(MADE / "madr")
    (memory,) = memories(told).values()
    assert memory.content.startswith("Status: not said")
    (proposal,) = proposals(told).values()
    assert "MADR 4.0.0" in proposal.rationale


def test_front_matter_and_lists_of_fields_are_read(tmp_path: Path) -> None:
    (tmp_path / "0001-use-sqlite.md").write_text(MADR)
    (tmp_path / "0002-use-postgres.md").write_text(LISTED)
    told = found(tmp_path)
    old, new = memories(told)["Use SQLite"], memories(told)["Use PostgreSQL"]
    assert (old.at, old.until) == (new.at.replace(year=2025, month=3, day=1), new.at)  # type: ignore[union-attr]
    assert old.metadata["decision-makers"] == "Ana, Ben"
    assert (new.metadata["status"], new.metadata["number"]) == ("accepted", "2")
    assert new.metadata["technical_story"] == "orders arrive together"
    assert (old.metadata["status"], "Status: superseded" in old.content) == ("superseded", True)
    (relation,) = (each for each in told if isinstance(each, RelationDraft))
    assert (relation.source, relation.type, relation.target) == (
        "Use PostgreSQL",
        "supersedes",
        "Use SQLite",
    )
    assert len([each for each in told if isinstance(each, EntityDraft)]) == 2
    (proposal,) = proposals(told).values()
    # What takes another's place is on the same target, so that accepting it supersedes.
    assert proposal.target == "Use SQLite"
    assert proposal.consequences == ("Writers do not wait",)
    assert "A server, because" in proposal.rationale


def test_the_items_of_a_list_are_the_consequences(tmp_path: Path) -> None:
    (tmp_path / "0001-use-sqlite.md").write_text(
        MADR.replace("superseded by [ADR", "accepted [ADR")
    )
    (proposal,) = proposals(found(tmp_path)).values()
    assert proposal.consequences == (
        "Good, because nothing runs",
        "Bad, because one writer\nat a time",
    )


@pytest.mark.parametrize("state", ["rejected", "draft", "deprecated", "Superseded by ADR-0009"])
def test_what_does_not_hold_is_no_proposal(tmp_path: Path, state: str) -> None:
    (tmp_path / "adr").mkdir()
    path = tmp_path / "adr" / "0001-x.md"
    path.write_text(f"---\nstatus: {state}\n---\n# X\n\n## Decision Outcome\n\nWe do X.\n")
    told = found(tmp_path)
    assert not proposals(told)
    (memory,) = memories(told).values()
    assert memory.title == "X"
    assert (memory.until is None) is (state in ("rejected", "draft"))


def test_other_texts_are_passed_over(tmp_path: Path) -> None:
    (tmp_path / "README.md").write_text("# Decisions\n\nHow we decide.\n")
    (tmp_path / "index.md").write_text("text without a heading")
    (tmp_path / "guide.md").write_text("# Guide\n\n## Decision records\n\nHow to write one.\n")
    (tmp_path / "0002-old.md").write_text(
        "# 2. Old\n\n## Status\n\nSuperseded\n\n## Decision\n\nx\n"
    )
    assert found(tmp_path) == []


@pytest.mark.parametrize(
    ("front", "is_proposed"), [("status: [", False), ("status: accepted\nby: @ana", True)]
)
def test_a_record_whose_state_cannot_be_read_is_a_memory_alone(
    tmp_path: Path, front: str, is_proposed: bool
) -> None:
    (tmp_path / "0003-bad.md").write_text(f"---\n{front}\n---\n# Bad\n\n## Decision Outcome\n\nx\n")
    told = found(tmp_path)
    assert "not YAML" in str(memories(told)["Bad"].metadata["front"])
    assert bool(proposals(told)) is is_proposed


def test_records_that_lead_in_a_circle_or_nowhere(tmp_path: Path) -> None:
    ways = {1: "0002-x.md", 2: "0001-x.md", 3: "../../../etc/passwd.md", 4: "0004-x.md"}
    for number, other in ways.items():
        (tmp_path / f"000{number}-x.md").write_text(
            f"---\nstatus: superseded by [it]({other})\n---\n# X{number}\n\n## Decision Outcome\n\nWe do it.\n"
        )
    told = found(tmp_path)
    assert {each.until is None for each in memories(told).values()} == {False}
    assert len([each for each in told if isinstance(each, RelationDraft)]) == 2


@pytest.mark.needs("audit_proof")
def test_a_changed_record_changes_its_memory_and_its_proposal(run: Run, tmp_path: Path) -> None:
    path = tmp_path / "adr" / "0001-use-sqlite.md"
    path.parent.mkdir()
    path.write_text(MADR.replace("superseded by [ADR-0002](0002-use-postgres.md)", "accepted"))
    first = done(run, "import", "adr", str(path.parent))
    assert "Imported 3 records" in first
    assert "proposal 1" in first
    assert "here already" in done(run, "import", "adr", str(path.parent))
    assert "Use SQLite" in done(run, "decisions", "--proposed")
    path.write_text(path.read_text().replace("one file is enough", "one file is all we need"))
    again = done(run, "import", "adr", str(path.parent))
    assert "(memory 1, proposal 1): changed" in again
    (path.parent / "0002-use-postgres.md").write_text(
        "# Use PostgreSQL\n\n- Status: accepted\n- Date: 2026-01-15\n\n## Decision Outcome\n\n"
        "A server, since many write at once.\n"
    )
    path.write_text(MADR)
    told = done(run, "import", "adr", str(path.parent))
    assert "memory 1): changed" in told
    assert "(until 2026-01-15)" in done(run, "list")
    assert "sound" in done(run, "audit", "verify")
