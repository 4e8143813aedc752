"""What became of the code that hits cite: judged in the background and when somebody asks, told at each hit."""

from dataclasses import replace
from pathlib import Path
from typing import Any

import pygit2
import pytest

from minutebook.features.citations.cited import CitationVerdict
from minutebook.features.citations.operations import citing_texts
from minutebook.features.citations.rows import CitationRows, JudgedRecord
from minutebook.features.citations.verdicts import Citations
from minutebook.memory.search.hit_notes import HitNote
from minutebook.record.caller import FolderScope, WorkTree
from minutebook.record.filters import Filter
from minutebook.record.records import IndexState, Kind, MemoryType, Project, Summary
from minutebook.record.writing.drafts import Draft
from minutebook.serve.contracts.contract import Contract
from minutebook.serve.contracts.lines import as_lines
from minutebook.store.sql.change_feed import ProgramMarks
from tests.features.citations.repositories import committed
from tests.world import NOON, Opener, World

ORDER = "class Order:\n    def total(self):\n        return sum(self.lines, 0)\n"
REFUND = "def refund(order):\n    return -order.total()\n"
BEFORE, AFTER = int(NOON.timestamp()) - 60, int(NOON.timestamp()) + 600


@pytest.fixture
def shop(tmp_path: Path) -> Path:
    root = tmp_path / "shop"
    committed(root, {"src/pay.py": f"{ORDER}\n\n{REFUND}"}, BEFORE)
    return root


@pytest.fixture
def here(world: World, shop: Path) -> World:
    """The world of a caller who works in the shop."""
    return world.by(work_tree=WorkTree(str(shop)))


def hits(world: World, query: str = "order") -> dict[str, str | None]:
    """The verdict on each hit by its id, in order."""
    results = world.call("recall", query=query)["results"]
    return {each["id"]: each.get("cited") for each in results}


def rows_of(world: World) -> CitationRows:
    return CitationRows(world.store.database)


def index(world: World, root: Path, **fields: Any) -> None:
    """Register a project as an index of it would."""
    project = Project(
        organization="default",
        id=root.name,
        path=str(root),
        author="ana",
        state=IndexState.COMPLETED,
        started_at=NOON,
        **fields,
    )
    world.store.put(project)


def test_code_is_cited_by_whole_paths_of_the_machine_too(here: World, shop: Path) -> None:
    total = here.remember(f"An order counts in cents: {shop}/src/pay.py:Order.total")
    assert hits(here) == {total: "holds"}
    (shop / "src/pay.py").unlink()
    assert hits(here) == {total: "gone, in no commit yet"}


def test_a_hit_says_what_became_of_the_code(here: World, shop: Path) -> None:
    total = here.remember("An order counts in cents: src/pay.py:Order.total")
    refund = here.remember("An order is paid back by `refund`")
    plain = here.remember("Every order of ours counts eight digits")
    assert hits(here) == {total: "holds", refund: "holds", plain: None}
    (shop / "src/pay.py").write_text(ORDER.replace("total", "amount"))
    found = hits(here)
    assert found == {
        total: "renamed to Order.amount in src/pay.py, in no commit yet",
        plain: None,
        refund: "gone, in no commit yet",
    }
    # What is gone is told last, whatever it is worth.
    assert list(found)[-1] == refund
    since = committed(shop, {}, AFTER)
    assert hits(here)[total] == f"renamed to Order.amount in src/pay.py since {since}"
    committed(shop, {"src/pay.py": ORDER.replace("0", "1")}, AFTER + 1)
    assert hits(here)[total] == f"changed since {since}"
    committed(shop, {"src/pay.py": f"{ORDER}\n\n{REFUND}"}, AFTER + 2)
    assert hits(here) == {total: "holds", refund: "holds", plain: None}


def test_a_line_says_it_too(here: World, shop: Path) -> None:
    here.remember("An order counts in cents: src/pay.py:Order.total")
    since = committed(shop, {"src/pay.py": REFUND}, AFTER)
    assert as_lines(here.call("recall", query="order"), {}).endswith(
        f"; cited: gone since {since})"
    )


def test_what_is_judged_is_read_from_the_table(here: World, shop: Path) -> None:
    id = here.remember("An order counts in cents: src/pay.py:Order.total")
    assert hits(here) == {id: "holds"}
    (row,) = rows_of(here).all("default", str(shop))
    assert row.name == (Kind.MEMORY, id)
    # The rest of the folder has no say in whether it is fresh.
    assert row.stamps.keys() == {"src/pay.py"}
    rows_of(here).put(
        "default", [replace(row, judged=(replace(row.judged[0], verdict=CitationVerdict.CHANGED),))]
    )
    # The last commit is the one of the row, and so are the files: nothing is judged.
    assert hits(here) == {id: "changed, in no commit yet"}


def test_a_definition_decides_and_not_its_file(here: World, shop: Path) -> None:
    id = here.remember("An order: src/pay.py has `refund`")
    since = committed(shop, {"src/pay.py": ORDER}, AFTER)
    assert hits(here) == {id: f"refund gone since {since}"}
    here.clock.turn(1000)
    later = here.remember("An order: `refund` and Order.total")
    # What was written after the change cites what is there.
    assert hits(here)[later] == "holds"


def test_a_verdict_belongs_to_a_work_tree(world: World, here: World, shop: Path) -> None:
    id = here.remember("An order is paid back by `refund`")
    branch = shop.parent / "branch"
    repository = pygit2.Repository(str(shop))
    repository.branches.local.create("other", repository.head.peel(pygit2.Commit))
    repository.add_worktree("branch", str(branch), repository.branches["other"])
    (branch / "src/pay.py").write_text(ORDER)
    there = world.by(work_tree=WorkTree(str(branch)))
    assert hits(there) == {id: "gone, in no commit yet"}
    assert hits(here) == {id: "holds"}
    assert {each.tree for each in rows_of(here).all("default", str(branch))} == {str(branch)}


def test_projects_are_judged_in_the_background(world: World, shop: Path) -> None:
    index(world, shop, repository="acme/shop")
    api = world.by(folder_scope=FolderScope("acme/shop"))
    id = api.remember("An order is paid back by `refund`")
    api.remember("Every order of ours counts eight digits")
    other = world.by(folder_scope=FolderScope("acme/web")).remember("An order of `refund`")
    citations = world.app.get(Citations)
    citations.follow(world.caller)
    (row,) = rows_of(world).all("default", str(shop))
    assert (row.name, row.holds) == ((Kind.MEMORY, id), True)
    committed(shop, {"src/pay.py": ORDER}, AFTER)
    citations.follow(world.caller)
    assert rows_of(world).all("default", str(shop)) == [row]
    # As the watcher does when a file changed.
    index(world, shop, repository="acme/shop", read_at=NOON)
    citations.follow(world.caller)
    (after,) = rows_of(world).all("default", str(shop))
    assert [each.verdict for each in after.judged] == ["gone"]
    api.call("update_memory", id=id, content="An order is not paid back")
    citations.follow(world.caller)
    assert rows_of(world).all("default", str(shop)) == []
    assert hits(world)[other] is None
    # The next time there is nothing to do, and a repair does all again.
    before = world.contents()
    citations.follow(world.caller)
    world.app.doctor.repair(world.caller)
    marks = ProgramMarks(world.store.database)
    assert marks.marks_of("default")["citations"]["sequence"] == before["default"][0]


@pytest.mark.parametrize("token", ["t1", ""])
def test_a_token_is_told_of_projects_that_it_may_see(world: World, shop: Path, token: str) -> None:
    index(world, shop, repository="acme/shop")
    id = world.by(folder_scope=FolderScope("acme/shop")).remember("An order is paid by `refund`")
    plain = world.remember("An order is paid back by `refund`")
    asker = world.by(token=token, work_tree=WorkTree(str(shop)))
    # Where somebody with a token works is not believed; what is of no project is judged there alone.
    assert hits(asker) == {id: "holds", plain: None if token else "holds"}
    held = world.by(token="t1", repositories=frozenset({"acme/web"}), work_tree=WorkTree(str(shop)))
    assert id not in hits(held)


def absent(world: World, contract: Contract, tool: str, **given: Any) -> object:
    """What a call notes as absent; None if it notes nothing."""
    answer = contract.call(world.app, world.caller, tool, given)
    assert answer.error is None, answer.text
    note = answer.notes.get("cites")
    assert note is None or note.text.startswith("There is no src/gone.py in this project")
    return None if note is None else note.facts["absent"]


def test_whoever_writes_hears_of_a_file_that_is_cited_and_not_there(
    world: World, here: World, shop: Path
) -> None:
    there, gone = "src/pay.py adds up.", "src/gone.py adds up, as ../shop/src/pay.py did."
    # Where no project is known nothing is missed.
    assert absent(world, world.contract, "store_memory", content=gone) is None
    index(world, shop)
    token = replace(here.caller, token="token_1")
    for each in (here, replace(here, caller=token)):
        each.clock.turn(61)
        assert absent(each, each.contract, "store_memory", content=there) is None
        assert absent(each, each.contract, "store_memory", content=gone) == ["src/gone.py"]
        kept = each.remember("Totals are in src/pay.py.")
        assert absent(each, each.contract, "update_memory", id=kept, content=gone) == [
            "src/gone.py"
        ]


@pytest.mark.needs("ledger")
def test_a_decision_hears_of_it_too(here: World) -> None:
    from minutebook.features.ledger.contract import ledger

    draft = {"title": "Round half up", "target": "totals", "rationale": "As src/gone.py says. " * 9}
    assert absent(here, ledger(), "propose_decision", **draft, consequences=[]) == ["src/gone.py"]


def test_a_part_of_a_repository_is_not_the_rest(world: World, shop: Path) -> None:
    index(world, shop / "src")
    id = world.remember("An order is paid back by `refund`")
    assert hits(world.by(token="t1")) == {id: None}


def test_it_goes_with_the_record(here: World, shop: Path) -> None:
    id = here.remember("An order is paid back by `refund`")
    assert hits(here) == {id: "holds"}
    here.call("delete_memory", id=id)
    assert rows_of(here).all("default", str(shop)) == []
    here.remember("An order is paid back by `refund`")
    assert hits(here)
    here.call("reset_all_memory", confirm=True)
    assert rows_of(here).all("default", str(shop)) == []


def _gone(root: Path) -> None:
    root.rename(root.parent / "away")


def test_a_repository_that_goes_after_it_was_judged_says_nothing(here: World, shop: Path) -> None:
    id = here.remember("An order is paid back by `refund`")
    assert hits(here) == {id: "holds"}
    _gone(shop)
    assert hits(here) == {id: None}
    (shop.parent / "away").rename(shop)


def test_odd_names_links_and_submodules_are_no_trouble(here: World, shop: Path) -> None:
    id = here.remember("An order is paid back by `refund`")
    odd = {"a\nignore all\nthat.py": REFUND, "\x1b[2J.py": "x = 1\n", "b.bin": "\0\1\2"}
    since = committed(shop, {"src/pay.py": ORDER, **odd}, AFTER)
    committed(shop / "sub", {"a.py": "x = 1\n"}, AFTER)
    (shop / "link.py").symlink_to(shop)
    (shop / "loop").symlink_to(shop / "loop")
    assert hits(here) == {id: f"moved to a?ignore all?that.py since {since}"}


def test_another_process_sees_what_one_judged(opener: Opener, shop: Path) -> None:
    one, other = opener(), opener()
    tree = WorkTree(str(shop))
    id = one.by(work_tree=tree).remember("An order is paid back by `refund`")
    assert hits(one.by(work_tree=tree)) == {id: "holds"}
    since = committed(shop, {"src/pay.py": ORDER}, AFTER)
    assert hits(other.by(work_tree=tree)) == {id: f"gone since {since}"}
    # Whoever owns the machine is told it wherever they are.
    assert hits(one) == {id: f"gone since {since}"}


def test_what_cannot_be_kept_now_is_told_all_the_same(here: World, shop: Path) -> None:
    id = here.remember("An order is paid back by `refund`")
    with here.store.transaction("default"):
        assert hits(here) == {id: "holds"}


def test_metadata_names_code_that_the_text_does_not(here: World, shop: Path) -> None:
    id = here.remember("Every order is paid back", metadata={"cites": ["src/pay.py:refund", 3]})
    odd = here.remember("An order is taken", metadata={"cites": "src/pay.py:refund"})
    since = committed(shop, {"src/pay.py": ORDER}, AFTER)
    assert hits(here) == {odd: None, id: f"gone since {since}"}


def session(world: World, *uses: str) -> Summary:
    """The summary of a session of the folder /home/ana/shop with these uses of tools, a turn each."""
    from minutebook.features.journal.contract import journal

    journal_world = world.speaking(journal())
    for number, use in enumerate(uses):
        place = "" if number else "[branch main; folder /home/ana/shop]\n"
        world.clock.turn()
        said = {"prompt": "Pay orders back", "response": "Orders are paid back."}
        journal_world.call("add_memory", sessionId="s", thought=f"{place}{use} → done", **said)
    journal_world.call("summarize_sessions", sessionId="s")
    (summary,) = world.store.find(Summary, Filter(organization="default"))
    return summary


def note_on_it(world: World, summary: Summary) -> HitNote:
    return world.app.hit_notes.notes_of(world.caller, [summary])[summary.key]["cited"]


@pytest.mark.needs("journal", "summarizer")
def test_a_summary_cites_the_files_that_its_session_wrote(here: World, shop: Path) -> None:
    files = [f"src/part {number}.py" for number in range(9)]
    committed(shop, {each: f"x{each[-4]} = 1\n" * 9 for each in [*files, "read.py"]}, BEFORE)
    # A folder of its own, the shop's, and one that was only read.
    places = ["/home/ana/shop/src/pay.py", *files[:8], f"{shop}/{files[8]}"]
    uses = [f'[Edit] {{"file_path": "{each}"}}' for each in places]
    summary = session(here, *uses, '[Read] {"file_path": "/home/ana/shop/read.py"}')
    assert "part 0" not in summary.text
    citations = {each.cited.path for row in _judged(here, summary) for each in row.judged}
    assert citations == {"src/pay.py", *files}
    since = committed(shop, {files[0]: None, "read.py": None}, AFTER)
    note = note_on_it(here, summary)
    # Most of what it wrote is there: it is not told after all else.
    assert (note.text, note.is_last) == (f"{files[0]} gone since {since}", False)
    (text,) = citing_texts.act(here.app, here.caller)
    assert len(text.files) == 10
    committed(shop, {"src/pay.py": None, **dict.fromkeys(files[1:])}, AFTER + 1)
    assert note_on_it(here, summary).is_last


def _judged(world: World, summary: Summary) -> list[JudgedRecord]:
    assert note_on_it(world, summary).text == "holds"
    return list(
        rows_of(world)
        .rows_of("default", [(summary.kind, summary.id)])[summary.kind, summary.id]
        .values()
    )


@pytest.mark.parametrize(
    ("changed", "verdict"), [("-abs(order)", "changed since"), ("-order.total()", "holds")]
)
def test_a_commit_of_the_same_second_may_have_come_after_what_was_said(
    here: World, shop: Path, changed: str, verdict: str
) -> None:
    """Where times cannot tell, both are compared; a function that only the later commit has is cited as well."""
    second = int(NOON.timestamp()) + 1
    id = here.remember("An order is paid back by `refund`, and lost by `lose`.")
    lose = "\n\ndef lose(order):\n    return None\n"
    text = f"{ORDER}\n\n{REFUND.replace('-order.total()', changed)}{lose}"
    since = committed(shop, {"src/pay.py": text}, second)
    said = hits(here)[id]
    assert said is not None
    assert verdict in said
    assert (since in said) is (verdict == "changed since")
    committed(shop, {"src/pay.py": text.replace("None", "0")}, AFTER)
    now = hits(here)[id] or ""
    assert "lose changed" in now or "1 more not as before" in now


def test_the_title_that_an_importer_made_cites_nothing(here: World, shop: Path) -> None:
    committed(shop, {"AGENTS.md": "# Rules\nBe kind.\n"}, BEFORE)
    imported = {"imported": {"from": "instructions", "file": str(shop / "AGENTS.md")}}
    kept = [
        here.app.memories.store(
            here.caller,
            Draft(
                content="Be kind to each order.",
                type=MemoryType.CONVENTION,
                title="AGENTS.md › Rules",
                metadata=metadata,
            ),
        ).id
        for metadata in ({}, imported)
    ]
    found = hits(here)
    assert [found[id] for id in kept] == ["holds", None]
