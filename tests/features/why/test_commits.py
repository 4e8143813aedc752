"""Commits of projects, found like decisions."""

import json
import shutil
import subprocess
import threading
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path

import pygit2
import pytest

from minutebook.app import App
from minutebook.ask.memories import search
from minutebook.features.code.projects import Projects
from minutebook.features.why import following
from minutebook.features.why.commit_source import CommitSource
from minutebook.features.why.commits import MOST_FILES
from minutebook.features.why.following import Histories
from minutebook.features.why.line_history import WAITING, HistoryCache, LineRange
from minutebook.features.why.places import PlaceReasons
from minutebook.features.why.search import CommitSearch
from minutebook.memory.search.recall import WEIGHTS, Selection
from minutebook.record.caller import Caller, FolderScope, WorkTree, with_call
from minutebook.record.records import Kind, ProjectCommit, TextRecord
from minutebook.record.sources import TEXTS, Source
from minutebook.serve.contracts.lines import as_lines
from tests.features.citations.repositories import committed
from tests.terminal import Run, remembered
from tests.world import Opener, World, wait_until

ROUNDING = "Round totals half up\n\nThe tax office rejects banker's rounding."
DAY = 86_400
FIRST = 1_700_000_000


@pytest.fixture(autouse=True)
def look_always(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(following, "LOOK_EVERY", 0.0)


@pytest.fixture
def shop(tmp_path: Path) -> Path:
    root = tmp_path / "shop"
    committed(root, {"pay.py": "def total(lines):\n    return round(sum(lines))\n"}, FIRST, "Add totals")  # fmt: skip
    committed(root, {"pay.py": "def total(lines):\n    return half_up(sum(lines))\n"}, FIRST + DAY, ROUNDING)  # fmt: skip
    return root


@pytest.fixture
def world(opener: Opener) -> World:
    return opener(index_history=100)


def indexed(world: World, root: Path) -> str:
    found: str = world.call("index_project", path=str(root))["project_id"]
    return found


def hits(world: World, query: str) -> list[dict[str, object]]:
    found: list[dict[str, object]] = world.call("recall", query=query)["results"]
    return found


def commits_of(app: App, caller: Caller) -> list[ProjectCommit]:
    return app.infrastructure.records.seen_by(caller).find(ProjectCommit)


def test_a_commit_is_found_with_its_day_author_and_project(world: World, shop: Path) -> None:
    indexed(world, shop)
    found = hits(world, "why do totals round half up")[0]
    sha = str(pygit2.Repository(str(shop)).head.target)
    assert (found["source"], found["id"]) == ("commit", f"shop@{sha[:12]}")
    assert (found["by"], found["at"]) == ("Ana", "2023-11-15T22:13:20Z")
    assert "tax office" in str(found["content"])
    assert "pay.py" in str(found["content"])


def test_a_memory_that_says_the_same_comes_first(world: World, shop: Path) -> None:
    indexed(world, shop)
    world.call("store_memory", content="Totals round half up: the tax office rejects the other.")
    sources = [each["source"] for each in hits(world, "why do totals round half up")]
    assert sources[0] == "memory"
    assert "commit" in sources[1:]


def test_a_new_commit_is_found_at_once_and_a_removed_one_goes(world: World, shop: Path) -> None:
    indexed(world, shop)
    before = pygit2.Repository(str(shop)).head.target
    committed(shop, {"ship.py": "fee = 5\n"}, FIRST + 2 * DAY, "Charge five for shipping")
    (found, *_) = hits(world, "charge five for shipping")
    assert "Charge five" in str(found["content"])
    pygit2.Repository(str(shop)).reset(before, pygit2.enums.ResetMode.HARD)
    hits(world, "charge five for shipping")
    assert {each.sha for each in commits_of(world.app, world.caller)} == {
        str(each.id) for each in pygit2.Repository(str(shop)).walk(before)
    }


def test_who_may_not_see_a_project_sees_no_commit_of_it(world: World, shop: Path) -> None:
    ours = replace(world.caller, repositories=frozenset({"ours"}))
    theirs = replace(world.caller, repositories=frozenset({"theirs"}))
    world.app.get(Projects).index(ours, str(shop))
    search, source = world.app.get(CommitSearch), world.app.get(CommitSource)
    asked = {"limit": 5, "weights": {}, "selection": Selection(), "project": None, "language": None}
    question = "why does shop's pay.py:2 round totals half up"
    assert source.ranked(ours, question, **asked)  # type: ignore[arg-type]
    assert not source.ranked(theirs, question, **asked)  # type: ignore[arg-type]
    assert not search.about_file(theirs, question, str(shop), "pay.py")


def test_commits_go_with_their_project(world: World, shop: Path) -> None:
    world.call("delete_project", project_id=indexed(world, shop))
    assert commits_of(world.app, world.caller) == []
    indexed(world, shop)
    assert len(commits_of(world.app, world.caller)) == 2


def test_without_a_history_nothing_is_read(opener: Opener, shop: Path) -> None:
    world = opener(index_history=0)
    indexed(world, shop)
    world.app.get(Histories).follow(world.caller, str(shop))
    assert commits_of(world.app, world.caller) == []


def test_the_folder_an_agent_works_in_is_followed(world: World, shop: Path) -> None:
    (shop / "deep").mkdir()
    world.app.get(Histories).follow(world.caller, str(shop / "deep"))
    found = hits(world, "why do totals round half up")
    assert [each["source"] for each in found[:1]] == ["commit"]


def test_only_the_newest_are_kept(opener: Opener, shop: Path) -> None:
    world = opener(index_history=1)
    indexed(world, shop)
    assert [each.message for each in commits_of(world.app, world.caller)] == [ROUNDING]


def test_an_answer_as_of_a_day_has_no_later_commit(world: World, shop: Path) -> None:
    indexed(world, shop)
    at = datetime(2023, 11, 15, 12, tzinfo=UTC)
    found = search.act(world.app, world.caller, "why do totals round half up", 10, at)
    assert all("Round totals half up" not in each.text for each in found)


def test_a_place_in_the_question_gets_its_reasons_first(world: World, shop: Path) -> None:
    committed(shop, {"other.py": "half = 1\n"}, FIRST + 3 * DAY, "Half of the lines")
    indexed(world, shop)
    world.call("store_memory", content="pay.py:total rounds half up for the tax office.")
    for question in ("why is pay.py:2 so", "what made pay.py:total what it is"):
        found = hits(world, question)
        assert found[0]["source"] == "memory"
        assert "Round totals half up" in str(found[1]["content"])


def test_code_that_a_question_names_comes_with_its_reasons(world: World, shop: Path) -> None:
    basket = "class Basket:\n    def weight(self):\n        return 2.5\n"
    committed(
        shop, {"basket.py": basket}, FIRST + 3 * DAY, "Weigh baskets: the carrier asks for it"
    )
    project = indexed(world, shop)
    noted = "basket.py:Basket.weight is in kilograms."
    memory = world.call("store_memory", content=noted)["id"]
    for name in ("basket.py:2", f"{shop}/basket.py:2", "`weight`", "Basket.weight", "weight()"):
        answer = world.call("search_code", query=f"why is {name} so", project_id=project)
        assert "basket.py" in {each["file_path"] for each in answer["results"]}
        sources = [(each["source"], each["id"]) for each in answer["reasons"]]
        assert sources[0] == ("memory", memory)
        assert "the carrier asks" in str(answer["reasons"][1]["content"])
    assert answer["reasons"][0]["cited"]
    plain = world.call("search_code", query="weight of a basket", project_id=project)
    assert plain.keys() == {"results", "count"}


def test_a_file_in_the_question_gets_the_commits_about_the_rest(world: World, shop: Path) -> None:
    for number, why in enumerate(("guests like it", "the bank asks for it", "it was too slow")):
        text = f"def total(lines):\n    return half_up(sum(lines), {number})\n"
        committed(shop, {"pay.py": text}, FIRST + (number + 2) * DAY, f"Change {number}: {why}")
    indexed(world, shop)
    told = hits(world, "pay.py: the tax office rejects a total, banker's rounding?")
    assert "Round totals half up" in str(told[0]["content"])


def test_a_file_is_found_by_its_name_alone_if_no_other_has_it(world: World, shop: Path) -> None:
    committed(
        shop,
        {"src/tea/cup.py": "size = 2\n"},
        FIRST + 3 * DAY,
        "Cups: two, as guests come in pairs",
    )
    indexed(world, shop)
    assert "guests come" in str(hits(world, "why is cup.py:1 so")[0]["content"])
    committed(shop, {"src/milk/cup.py": "size = 3\n"}, FIRST + 4 * DAY, "Milk")
    assert world.app.get(PlaceReasons).reasons(world.caller, "cup.py:1") == []


def test_a_history_that_takes_long_is_named_and_told_to_the_next_question(
    world: World, shop: Path
) -> None:
    repository = pygit2.Repository(str(shop))
    at = pygit2.Signature("Ana", "ana@example.org", FIRST + 2 * DAY, 0)
    tree, last = repository.head.peel(pygit2.Tree).id, repository.head.target
    for number in range(1000):
        last = repository.create_commit(None, at, at, f"Nothing {number}", tree, [last])
    repository.reset(last, pygit2.enums.ResetMode.SOFT)
    indexed(world, shop)
    caller = with_call(world.caller, patience=0.0)
    assert world.app.get(PlaceReasons).reasons(caller, "why is pay.py:2 so") == []
    said = caller.call.notes["why"].text
    assert said == "The history of pay.py:2 is long; `minutebook why pay.py:2` tells it."
    reasons = world.app.get(PlaceReasons).reasons
    # It is read on, and the next question finds it.
    wait_until(lambda: bool(reasons(caller, "why is pay.py:2 so")))


def test_commits_that_are_hardly_about_a_question_answer_it_only_where_nothing_else_does(
    world: World, shop: Path
) -> None:
    indexed(world, shop)
    stranger = "Which soup do Brazilian guests prefer?"
    doubt = ["Perhaps nothing here is about that; these are the nearest."]
    for sources in (TEXTS, [Source.COMMIT]):
        assert noted(world, stranger, sources) == doubt
        found = world.app.combined.recall(world.caller, stranger, 5, WEIGHTS, sources).results
        assert {each.record.kind for each in found} == {Kind.COMMIT}
    assert noted(world, "why do totals round half up") == []
    world.remember("Brazilian guests prefer the soup of black beans.")
    assert noted(world, stranger) == []
    assert noted(world, "Who waters ferns?") == doubt
    found = world.app.combined.recall(world.caller, "Who waters ferns?", 5, WEIGHTS, TEXTS).results
    assert {each.record.kind for each in found} == {Kind.MEMORY}


def noted(world: World, question: str, sources: Sequence[Source] = TEXTS) -> list[str]:
    caller = with_call(world.caller, notes={})
    world.app.combined.recall(caller, question, 5, WEIGHTS, sources)
    return [each.text for each in caller.call.notes.values() if each.text]


def test_a_flood_of_places_is_no_flood_of_threads(shop: Path) -> None:
    repository = pygit2.Repository(str(shop))
    histories = HistoryCache(3)
    files = {f"{number}.py": "1\n" * 50 for number in range(2 * WAITING)}
    committed(shop, files, FIRST + 2 * DAY)
    found = 0
    for path in files:
        with suppress(TimeoutError):
            found += bool(histories.commits_of(repository, LineRange(path, 0, 50), 0.0))
        assert len(readers()) <= WAITING
    wait_until(lambda: not readers())
    assert histories.commits_of(repository, LineRange("pay.py", 0, 1), 20.0)


def readers() -> list[threading.Thread]:
    return [each for each in threading.enumerate() if each.name == "line history"]


def test_of_a_place_that_is_not_there_no_history_is_long(world: World, shop: Path) -> None:
    indexed(world, shop)
    caller = with_call(world.caller, patience=0.0, notes={})
    assert world.app.get(PlaceReasons).reasons(caller, "why is milk.py:2 so") == []
    assert caller.call.notes == {}


def test_reasons_stand_below_the_code_in_lines(world: World, shop: Path) -> None:
    indexed(world, shop)
    text = as_lines(world.call("search_code", query="why is pay.py:2 so"), {})
    code, _, reasons = text.partition("\nWhy it is so:\n- ")
    assert "pay.py:1-2" in code
    assert "tax office" in reasons


def test_a_report_finds_the_commit_among_those_to_a_file(
    run: Run, shop: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("MINUTEBOOK_INDEX_HISTORY", "100")
    for number in range(4):
        text = f"def total(lines):\n    return half_up(sum(lines), {number})\n"
        committed(shop, {"pay.py": text}, FIRST + (number + 2) * DAY, f"Tidy up, part {number}")
    monkeypatch.chdir(shop)
    run("index", ".")
    told = json.loads(
        run("why", "pay.py", "a total is off from banker's rounding", "--json").stdout
    )
    assert told[0]["text"] == ROUNDING


def _bare(root: Path) -> None:
    shutil.move(root / ".git", root.parent / "kept")
    shutil.rmtree(root)
    shutil.move(root.parent / "kept", root)


def _shallow(root: Path) -> None:
    kept = root.parent / "whole"
    shutil.move(root, kept)
    subprocess.run(["git", "clone", "-q", "--depth=1", f"file://{kept}", str(root)], check=True)


def _broken(root: Path) -> None:
    for each in (root / ".git" / "objects").iterdir():
        if len(each.name) == 2:
            shutil.rmtree(each)


def _hostile(root: Path) -> None:
    odd = {f"{number}.txt": "" for number in range(MOST_FILES + 20)} | {"new\nline\x1b.py": "a = 1\n"}  # fmt: skip
    committed(root, odd, -5, "Many\0 files")
    (root / "link").symlink_to("/etc")
    committed(root, {}, 2**40, "A link")


def _linked_elsewhere(root: Path) -> None:
    shutil.rmtree(root / ".git")
    (root / ".git").write_text("gitdir: /nowhere\n")


@pytest.mark.parametrize("harm", [_bare, _shallow, _broken, _hostile, _linked_elsewhere, None])
def test_what_git_cannot_read_is_left_out(world: World, shop: Path, harm: object) -> None:
    indexed(world, shop)
    if harm is None:
        shutil.rmtree(shop)
    else:
        harm(shop)  # type: ignore[operator]
    world.call("recall", query="why is pay.py:2 so")
    for each in commits_of(world.app, world.caller):
        assert all("\n" not in path for path in each.files)
        assert len(each.files) <= MOST_FILES


def test_search_at_the_terminal_shows_commits(
    run: Run, shop: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("MINUTEBOOK_INDEX_HISTORY", "100")
    run("index", str(shop))
    remembered(run, "Half of the budget goes to taxes.")
    found = run("search", "totals round half up").output
    assert "shop@" in found
    assert "2023-11-15, Ana" in found


def in_project(world: World, name: str, root: Path) -> Caller:
    located = replace(world.caller, folder_scope=FolderScope(name))
    return with_call(located, work_tree=WorkTree(str(root), frozenset({name})))


def ranked_for(world: World, caller: Caller, query: str) -> list[TextRecord]:
    found = world.app.combined.recall(caller, query, 10, WEIGHTS, (*TEXTS, Source.COMMIT))
    return [each.record for each in found.results]


def test_in_a_folder_only_its_own_commits_answer_each_once(
    world: World, shop: Path, tmp_path: Path
) -> None:
    other = tmp_path / "other"
    shutil.copytree(shop, other)
    (other / "pay.py").write_text("def total(lines):\n    return ceil(sum(lines))\n")
    committed(other, {"pay.py": "def total(lines):\n    return ceil(sum(lines))\n"}, FIRST + 2 * DAY, "Round totals up\n\nThe other shop's tax office asks for it.")  # fmt: skip
    for each in (shop, other):
        indexed(world, each)
    for question in ("why do totals round half up", "why is pay.py:2 as it is"):
        everywhere = ranked_for(world, world.caller, question)
        here = ranked_for(world, in_project(world, "shop", shop), question)
        for found in (everywhere, here):
            shas = [each.sha for each in found if isinstance(each, ProjectCommit)]
            assert len(shas) == len(set(shas)) > 0
        assert {each.project for each in here if isinstance(each, ProjectCommit)} == {"shop"}


def test_what_was_said_stands_before_commits_unless_one_is_asked_for(
    world: World, shop: Path
) -> None:
    indexed(world, shop)
    world.remember("Totals are rounded half up since the audit.")
    kinds = [each.kind for each in ranked_for(world, world.caller, ROUNDING)]
    assert kinds[0] is Kind.MEMORY
    assert Kind.COMMIT in kinds
    asked = f"which commit made this change: {ROUNDING}"
    assert ranked_for(world, world.caller, asked)[0].kind is Kind.COMMIT


@pytest.mark.parametrize(
    ("message", "answers"),
    [("wip", False), ("first", False), ("totals", False), ("wip 2", False), ("Ceil totals", True)],
)
def test_a_commit_that_says_nothing_answers_nothing(
    world: World, shop: Path, message: str, answers: bool
) -> None:
    committed(shop, {"pay.py": "def total(lines):\n    return ceil(sum(lines))\n"}, FIRST + 2 * DAY, message)  # fmt: skip
    indexed(world, shop)
    found = ranked_for(world, world.caller, "why are totals made with ceil?")
    messages = [each.message for each in found if isinstance(each, ProjectCommit)]
    assert (message in messages) is answers
