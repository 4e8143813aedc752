from dataclasses import replace
from datetime import UTC, datetime, timedelta, timezone
from typing import Any

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from minutebook.features.ledger.git.markdown import (
    NotADecision,
    file_name,
    is_file_name,
    parse,
    render,
    shard,
)
from minutebook.record.errors import InvalidInput
from minutebook.record.records import Authorship, Decision, DecisionStatus
from tests.store.samples import decision

ID = "decision_20260102T030405000006Z_0123abcd"
OTHER = "decision_20260101T000000000000Z_ffffffff"
AT = datetime(2026, 1, 2, 3, 4, 5, 6, tzinfo=UTC)

lines = st.sampled_from(
    (
        *("", " ", "text", "# Title", "## Rationale", "## Consequences", "## Replaces", "- item"),
        *("  - item", "---", "...", "\\## Rationale", "\\\\## Replaced by", "yes", "\r", "\t"),
    )
)
whole = st.text(st.characters(exclude_categories=["Cs"]), max_size=12)
texts = st.lists(lines | whole, max_size=6).map("\n".join)
ids = st.sampled_from([ID, OTHER])
decisions = st.builds(
    decision,
    id=ids,
    target=texts,
    title=texts,
    rationale=texts,
    status=st.sampled_from(DecisionStatus),
    authorship=st.sampled_from(Authorship),
    author=texts,
    created_at=st.integers(0, 2**51).map(lambda each: AT + timedelta(microseconds=each)),
    consequences=st.lists(texts, max_size=3).map(tuple),
    supersedes=st.lists(ids, max_size=2).map(tuple),
    superseded_by=st.lists(ids, max_size=2).map(tuple),
    proposal=st.none() | ids,
    repository=st.none() | whole,
    user=st.none() | whole,
)


def sample(**fields: Any) -> Decision:
    return decision(**{"id": ID, "created_at": AT, **fields})


@given(decisions)
@example(sample(rationale="## Rationale", consequences=("", "\n", "- a\n\n  b\n")))
@example(sample(title="2026-01-01", target="null", author="\x00\x85\u2028\ufeff"))
def test_a_decision_is_read_as_it_was_written(each: Decision) -> None:
    assert parse("acme", render(each)) == each


def test_a_decision_reads_well_in_a_review() -> None:
    told = sample(
        target="storage engine",
        title="Keep everything in SQLite",
        rationale="One file, and it survives a kill.",
        consequences=("One writer at a time.", "Backups are copies:\nuse `backup`."),
        supersedes=(OTHER,),
        authorship=Authorship.HUMAN,
        repository="shop",
    )
    assert render(told).decode() == (
        "---\n"
        f"id: {ID}\n"
        "target: storage engine\n"
        "title: Keep everything in SQLite\n"
        "status: active\n"
        "authorship: human\n"
        "author: ana\n"
        "created_at: '2026-01-02T03:04:05.000006Z'\n"
        "supersedes:\n"
        f"- {OTHER}\n"
        "repository: shop\n"
        "---\n\n"
        "# Keep everything in SQLite\n\n"
        "## Rationale\n\n"
        "One file, and it survives a kill.\n\n"
        "## Consequences\n\n"
        "- One writer at a time.\n"
        "- Backups are copies:\n"
        "  use `backup`.\n\n"
        "## Replaces\n\n"
        f"- `{OTHER}`\n"
    )


def test_a_file_is_named_by_day_target_and_id() -> None:
    late = AT.replace(hour=1).astimezone(timezone(timedelta(hours=-3)))
    assert file_name(sample(target="Storage / Engine!")) == "2026-01-02-storage-engine-0123abcd.md"
    assert file_name(sample(created_at=late)) == "2026-01-02-store-0123abcd.md"
    assert file_name(sample(target="保存 先")) == "2026-01-02-保存-先-0123abcd.md"
    assert file_name(sample(target="Gera\u0308t")) == "2026-01-02-ger\u00e4t-0123abcd.md"
    assert file_name(sample(target="../..")) == "2026-01-02-decision-0123abcd.md"


@given(decisions)
def test_every_file_has_a_short_name_without_folders(each: Decision) -> None:
    name = file_name(each)
    assert is_file_name(name)
    assert len(name.encode()) < 255
    assert not {"/", "\\", ":", "\0", "\n"} & set(name)


@pytest.mark.parametrize("name", ["README.md", "0001-foundation.md", "2026-01-02-x.md", ".md"])
def test_other_files_are_not_taken_for_decisions(name: str) -> None:
    assert not is_file_name(name)


def test_the_decisions_on_one_target_lie_together() -> None:
    assert shard(sample()) == shard(sample(id=OTHER, title="x"))
    assert len({shard(sample(target=str(n))) for n in range(2000)}) == 256


@pytest.mark.parametrize("field", ["title", "target", "rationale", "consequences", "repository"])
def test_half_a_character_is_refused_with_the_argument_named(field: str) -> None:
    broken: Any = ("\ud800",) if field == "consequences" else "\ud800"
    with pytest.raises(InvalidInput) as refused:
        render(sample(**{field: broken}))
    assert refused.value.argument == field


@pytest.mark.parametrize(
    ("old", "new", "reason"),
    [
        ("---\nid", "id", "front matter"),
        ("title: bread", "title: [", "no YAML"),
        ("title: bread", "title: 7", "title must be a text"),
        ("title: bread\n", "", "title must be a text"),
        ("status: active", "status: alive", "alive"),
        ("'2026-01-02T03:04:05.000006Z'", "soon", "soon"),
        ("000006Z'", "000006'", "no zone"),
        ("author: ana", "author: ana\nsupersedes: x", "supersedes must be a list"),
        ("author: ana", "author: ana\nsupersede: x", "unknown field 'supersede'"),
        ("author: ana", "author: ana\nuser: 7", "user must be a text"),
        (f"id: {ID}", "id: x", "id must be"),
        ("## Rationale", "## Reasons", "no section"),
        ("- one", "one", "must be a list"),
        ("author: ana", f"author: {'[' * 60_000}{']' * 60_000}", "nested deeper than 20 levels"),
        ("ana", "\udcff", "not UTF-8"),
    ],
)
def test_what_is_no_decision_is_refused_with_the_reason(old: str, new: str, reason: str) -> None:
    text = render(sample(consequences=("one",))).decode()
    assert old in text
    with pytest.raises(NotADecision, match=reason):
        parse("acme", text.replace(old, new, 1).encode("utf-8", "surrogateescape"))


def test_organization_and_commit_are_known_from_where_the_file_lies() -> None:
    kept = sample(commit_id="abc")
    assert parse("zoo", render(kept)) == replace(kept, organization="zoo", commit_id=None)
