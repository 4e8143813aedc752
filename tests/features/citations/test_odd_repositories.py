"""Whatever a repository is like: recall answers, no verdict is wrong, `check` and `why` say in one line what they cannot read."""

import os
from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import pytest
from click.testing import Result

from minutebook.features.why import following
from minutebook.record.caller import WorkTree
from minutebook.record.records import Project
from tests.examples import parametrize_in_part
from tests.features.citations import odd_repositories as odd
from tests.features.citations.repositories import committed
from tests.terminal import Run, remembered
from tests.world import Opener, World, wait_until

Harm = Callable[[Path], None]

REASON = "The tax office wants it."
NOTED = "Refunds are booked at night: pay.py:refund"
CHANGED = "changed, in no commit yet"

SLOW = pytest.mark.slow


@dataclass(frozen=True)
class Shop:
    """An indexed repository with a memory that cites it, as an agent there and a person at a terminal meet it."""

    root: Path
    here: World
    project: str
    run: Run

    def verdict(self) -> str | None:
        """Recall by the line and by the memory; return the verdict on the memory."""
        line = self.here.call("recall", query="why is pay.py:2 so")
        assert line["results"]
        found = self.here.call("recall", query="refunds at night")["results"]
        # One whose code is gone is told last.
        verdict: str | None = next(e for e in found if e["content"] == NOTED).get("cited")
        return verdict

    def code(self) -> list[dict[str, Any]]:
        """Search code by the line; return the reasons."""
        answer = self.here.call("search_code", query="why is pay.py:2 so", project_id=self.project)
        reasons: list[dict[str, Any]] = answer.get("reasons", [])
        return reasons

    def typed(self, *arguments: str) -> Result:
        """Run a command in the folder, which ends as a command does."""
        os.chdir(self.root if self.root.is_dir() else self.root.parent)
        result = self.run(*arguments)
        assert isinstance(result.exception, SystemExit | None), result.exception
        return result

    def refused(self, *arguments: str) -> str:
        """Run a command that must not answer; return the one line that it says."""
        result = self.typed(*arguments)
        assert (result.exit_code, result.stdout) == (1, "")
        (line,) = result.stderr.splitlines()
        return line


@pytest.fixture
def shop(tmp_path: Path, run: Run, opener: Opener, monkeypatch: pytest.MonkeyPatch) -> Shop:
    monkeypatch.setattr(following, "LOOK_EVERY", 0.0)
    root = odd.shop_in(tmp_path)
    world = opener(index_history=100)
    project = world.call("index_project", path=str(root))["project_id"]
    here = world.by(work_tree=WorkTree(str(root)))
    here.remember(NOTED)
    here.remember("Totals are of taxes: pay.py:2")
    remembered(run, NOTED)
    return Shop(root, here, project, run)


IN_NONE = "is in no Git repository: "
UNREAD = "cannot be read by Git: "
CUT = "has a history that Git cannot read: "
ANSWERS = ""
"""`why` has what it needs."""


@parametrize_in_part(
    ("harm", "check", "why"),
    [
        (odd.gone, IN_NONE, IN_NONE),
        (odd.without_objects, UNREAD, UNREAD),
        (odd.shallow, "has no history, it is a shallow clone", CUT),
        (odd.without_git, IN_NONE, IN_NONE),
        pytest.param(odd.leading_nowhere, IN_NONE, IN_NONE, marks=SLOW),
        (odd.rubbish_for_git, UNREAD, UNREAD),
        (odd.rubbish_for_head, UNREAD, UNREAD),
        pytest.param(odd.empty_git, IN_NONE, IN_NONE, marks=SLOW),
        pytest.param(odd.dangling_git, IN_NONE, IN_NONE, marks=SLOW),
        (odd.bare, "has no files, it is bare: ", "has no files, it is bare: "),
        (odd.unborn, "has no commit yet: ", "has no commit yet: "),
        pytest.param(odd.empty_head, UNREAD, UNREAD, marks=SLOW),
        (odd.without_its_tree, UNREAD, UNREAD),
        pytest.param(odd.head_of_no_ref, "has no commit yet: ", "has no commit yet: ", marks=SLOW),
        (odd.head_of_no_commit, UNREAD, UNREAD),
        pytest.param(odd.head_of_a_blob, UNREAD, UNREAD, marks=SLOW),
        pytest.param(odd.rubbish_for_objects, UNREAD, UNREAD, marks=SLOW),
        (odd.torn_pack, UNREAD, UNREAD),
        (odd.without_a_folder, UNREAD, ANSWERS),
        (odd.rubbish_for_the_index, UNREAD, ANSWERS),
        pytest.param(odd.rubbish_for_the_config, UNREAD, UNREAD, marks=SLOW),
        pytest.param(odd.rubbish_for_packed_refs, UNREAD, UNREAD, marks=SLOW),
        pytest.param(odd.of_sha256, UNREAD, UNREAD, marks=SLOW),
        pytest.param(odd.of_another_owner, UNREAD, UNREAD, marks=odd.AS_ROOT),
        (odd.lost_submodule, UNREAD, ANSWERS),
        (odd.hostile_tree, UNREAD, ANSWERS),
    ],
    ids=lambda each: getattr(each, "__name__", ""),
)
def test_of_what_git_cannot_read_nothing_is_said(
    shop: Shop, harm: Harm, check: str, why: str
) -> None:
    harm(shop.root)
    assert shop.verdict() is None
    reasons = shop.code()
    if why != ANSWERS:
        assert not any("tax office" in str(each["content"]) for each in reasons)
    assert f"minutebook: --project {check}" in shop.refused("check", "--project", str(shop.root))
    if why == ANSWERS:
        assert REASON in shop.typed("why", "pay.py:2").stdout
    else:
        assert f"minutebook: FILE {why}" in shop.refused("why", "pay.py:2")
    if why not in (ANSWERS, CUT):
        assert f"minutebook: --commit {why}" in shop.refused("sessions", "--commit", "HEAD")
    kept = shop.typed("remember", "Paid.", "--cites", "pay.py:refund")
    assert kept.exit_code == 0


@parametrize_in_part(
    "harm",
    [
        odd.odd_names,
        odd.submodules,
        odd.links,
        odd.pipes_and_sockets,
        odd.odd_commits,
        odd.detached,
        odd.large_and_binary,
        odd.a_submodule_itself,
        odd.a_work_tree,
        odd.sparse,
        pytest.param(odd.deep_folders, marks=SLOW),
        pytest.param(odd.many_in_history, marks=SLOW),
    ],
    ids=lambda each: getattr(each, "__name__", ""),
)
def test_what_is_odd_beside_the_code_is_no_trouble(shop: Shop, harm: Harm) -> None:
    harm(shop.root)
    assert shop.verdict() == "holds"
    assert any("tax office" in str(each["content"]) for each in shop.code())
    assert REASON in shop.typed("why", "pay.py:2").stdout
    assert REASON in shop.typed("why", "pay.py").stdout
    assert shop.typed("sessions", "--commit", "HEAD").exit_code == 0
    said = shop.typed("check")
    assert "doubtful" not in said.output
    pay = shop.root / "pay.py"
    pay.write_text(pay.read_text().replace("-order", "order"))
    assert shop.verdict() == CHANGED
    assert "pay.py:refund has changed (in no commit yet)" in shop.typed("check").stdout


def _large(root: Path) -> None:
    with (root / "pay.py").open("a") as file:
        file.write("# more\n" * 200_000)


def _binary(root: Path) -> None:
    (root / "pay.py").write_bytes(b"\0\1\2" * 100)


def _closed(root: Path) -> None:
    (root / "pay.py").chmod(0)
    os.utime(root / "pay.py", (1, 1))


def _pipe(root: Path) -> None:
    (root / "pay.py").unlink()
    os.mkfifo(root / "pay.py")


def _folder(root: Path) -> None:
    (root / "pay.py").unlink()
    (root / "pay.py").mkdir()


def _link(root: Path) -> None:
    (root / "pay.py").unlink()
    (root / "pay.py").symlink_to("deep/ship.py")


def _linked_to_where_it_is(root: Path) -> None:
    (root / "pay.py").rename(root / "deep/pay.py")
    (root / "pay.py").symlink_to("deep/pay.py")


def _left_out(root: Path) -> None:
    odd.git(root, "sparse-checkout", "set", "--no-cone", "/deep")
    assert not (root / "pay.py").exists()


@parametrize_in_part(
    ("harm", "verdict"),
    [
        (_large, None),
        (_binary, None),
        pytest.param(_closed, None, marks=pytest.mark.skipif(not os.geteuid(), reason="is root")),
        (_pipe, "gone, in no commit yet"),
        (_folder, "gone, in no commit yet"),
        (_link, "gone, in no commit yet"),
        (_linked_to_where_it_is, "moved to deep/pay.py, in no commit yet"),
        (_left_out, "holds"),
        (odd.partial, "holds"),
        (odd.without_its_parent, "holds"),
        (odd.of_many_entries, None),
    ],
    ids=lambda each: getattr(each, "__name__", ""),
)
def test_code_that_is_no_text_any_more_is_judged_if_it_can_be(
    shop: Shop, harm: Harm, verdict: str | None
) -> None:
    harm(shop.root)
    assert shop.verdict() == verdict
    said = shop.typed("check").stdout
    if verdict in (None, "holds"):
        assert "doubtful" not in said.replace("none of them are doubtful", "")
    else:
        assert f"pay.py:refund is {'now in' if 'moved' in verdict else 'gone'}" in said


def test_what_is_left_out_of_the_work_tree_has_no_verdict_if_it_changed(shop: Shop) -> None:
    committed(shop.root, {"pay.py": odd.PAY.replace("-order", "order")}, odd.AFTER)
    _left_out(shop.root)
    assert shop.verdict() is None


def test_in_a_folder_that_was_removed_it_is_a_line(shop: Shop, monkeypatch: pytest.MonkeyPatch) -> None:  # fmt: skip
    monkeypatch.chdir(shop.root)
    odd.gone(shop.root)
    for arguments in (("check",), ("why", "pay.py"), ("sessions", "--commit", "HEAD")):
        result = shop.run(*arguments)
        assert result.exit_code == 1
        assert "cannot be read by Git: [Errno 2]" in result.stderr


def test_no_repository_is_judged_by_the_one_around_it(
    world: World, run: Run, tmp_path: Path
) -> None:
    odd.shop_in(tmp_path)
    inner = tmp_path / "shop/inner"
    inner.mkdir()
    odd.git(inner, "init", "-q")
    (inner / ".git/HEAD").unlink()
    here = world.by(work_tree=WorkTree(str(inner)))
    here.remember(NOTED)
    (found,) = here.call("recall", query="refunds at night")["results"]
    assert "cited" not in found


PLACES: dict[Harm, dict[str, str]] = {
    odd.odd_names: {
        "a:b.py": "Something odd",
        "a:b.py:1": "Something odd",
        "a\nb.py:1": "Something odd",
        "caf\udce9.py:1": "Something odd",
        "": "FILE is not in the last commit: ",
        "deep": "FILE is not in the last commit: deep",
        "/etc/passwd:1": "FILE is outside of this repository: /etc/passwd",
    },
    odd.links: {
        "out/passwd": "FILE is outside of this repository: out/passwd",
        "loop.py:1": "Something odd",
        "file.py:2": REASON,
    },
    odd.submodules: {"vendor/other": "FILE is not in the last commit: vendor/other"},
    odd.large_and_binary: {
        "large.py": "Something odd",
        "large.py:1": "FILE is no text that can be read: large.py",
        "binary.py": "Something odd",
        "binary.py:x": "FILE is no text that can be read: binary.py",
        "wide.py:1": "Something odd",
    },
    odd.partial: {"pay.py:2": REASON},
    odd.without_its_parent: {"pay.py:2": "FILE has a history that Git cannot read: "},
    odd.without_a_day: {"pay.py:2": "FILE cannot be read by Git: "},
}


@parametrize_in_part("harm", PLACES, ids=lambda each: each.__name__)
def test_why_of_an_odd_place_is_told_or_refused(shop: Shop, harm: Harm) -> None:
    harm(shop.root)
    for place, said in PLACES[harm].items():
        named = place.encode(errors="replace").decode()
        shop.here.call("recall", query=f"why is {named} so")
        if said.startswith("FILE"):
            assert said in shop.refused("why", place)
        else:
            assert said in shop.typed("why", place).stdout
            assert shop.typed("why", place, "--json").exit_code == 0


@SLOW
def test_of_too_many_files_nothing_is_said_unasked(shop: Shop) -> None:
    odd.many_files(shop.root)
    pay = shop.root / "pay.py"
    pay.write_text(pay.read_text().replace("-order", "order"))
    assert shop.verdict() is None
    assert "pay.py:refund has changed (in no commit yet)" in shop.typed("check").stdout
    assert REASON in shop.typed("why", "pay.py:2").stdout


@SLOW
def test_a_change_of_very_many_files_is_a_change(shop: Shop) -> None:
    odd.many_in_a_change(shop.root)
    since = odd.git(shop.root, "rev-parse", "--short=7", "HEAD~1")
    wait_until(lambda: shop.verdict() == f"gone since {since}")
    assert f"commit {since}  Many" in shop.typed("why", "pay.py:2").stdout
    assert shop.typed("sessions", "--commit", since).exit_code == 0


@pytest.mark.parametrize("token", ["", "t1"])
def test_who_may_not_see_a_project_is_told_nothing_of_it(shop: Shop, token: str) -> None:
    world = shop.here
    project = world.store.get(Project, "default", shop.project)
    assert project is not None
    world.store.put(replace(project, repository="acme/shop"))
    asker = world.by(token=token, repositories=frozenset({"acme/web"}))
    for query in ("why is pay.py:2 so", "refunds at night"):
        found = asker.call("recall", query=query)["results"]
        assert {each["source"] for each in found} == {"memory"}
        if token:
            assert not any("cited" in each for each in found)
    assert "reasons" not in asker.call("search_code", query="why is pay.py:2 so")
