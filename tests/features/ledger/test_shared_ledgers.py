"""Several servers over one database: one folder for each ledger, wherever a decision is made."""

import shutil
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any
from uuid import uuid4

import pytest

from minutebook.app import App, now, open_app
from minutebook.config import settings_with
from minutebook.features.ledger.decisions import DecisionActs
from minutebook.features.ledger.keys.approval_secret import ApprovalSecret
from minutebook.features.ledger.mirror.rebuilding import Rebuilds
from minutebook.features.ledger.proposals import Proposals
from minutebook.features.ledger.repositories import Ledgers, LockedLedger
from minutebook.features.ledger.search import DecisionMode, DecisionSearch
from minutebook.record.errors import Forbidden, GuessedTooOften, LedgerError, StoreBusy, WrongSecret
from tests.features.ledger.decided import ADMIN, PERSON, SECRET, decisions_in, draft, git, ledger_of
from tests.features.postgres import server as postgres_server
from tests.world import Clock

pytestmark = pytest.mark.usefixtures("postgres")

Start = Callable[..., App]


@pytest.fixture
def database() -> Iterator[str]:
    name = f"ledgers_{uuid4().hex}"
    postgres_server.server().make_store(name)
    yield name
    postgres_server.server().drop(name)


@pytest.fixture
def start(tmp_path: Path, database: str) -> Iterator[Start]:
    """Open the app of a server that has a data directory of its own."""
    opened: list[App] = []

    def start(name: str, folder: str | None = "volume", clock: Any = now, **changes: Any) -> App:
        given: dict[str, Any] = {"embedder": "none"} | changes
        if folder is not None:
            mounted(tmp_path / name, tmp_path / folder)
        url = postgres_server.server().url(database)
        settings = settings_with(home=tmp_path / name, store=url, **given)
        opened.append(open_app(settings, clock=clock))
        return opened[-1]

    yield start
    for app in opened:
        app.close()


def mounted(home: Path, volume: Path) -> None:
    """Have a server's ledgers in a folder that others have, too, as a volume is mounted."""
    volume.mkdir(exist_ok=True)
    home.mkdir()
    (home / "ledgers").symlink_to(volume, target_is_directory=True)


def titles(app: App) -> list[str]:
    return [each.title for each in app.get(DecisionActs).active_by_target(PERSON)]


def refused(app: App, target: str = "wire") -> LedgerError:
    with pytest.raises(LedgerError) as refusal:
        app.get(DecisionActs).record(PERSON, draft(target, "Use copper"))
    return refusal.value


def test_servers_that_share_a_folder_decide_in_one_ledger(start: Start) -> None:
    one, other = start("one"), start("other")
    first = one.get(DecisionActs).record(PERSON, draft())
    assert titles(other) == ["Use SQLite"]
    second = other.get(DecisionActs).supersede(PERSON, [first.id], draft(title="Use files"))
    assert titles(one) == ["Use files"]
    third = one.get(DecisionActs).record(PERSON, draft("wire", "Use copper"))
    assert decisions_in(one) == decisions_in(other)
    log = git(ledger_of(one).path, "log", "--format=%H", "main").split()
    assert log == [third.commit_id, second.commit_id, first.commit_id]
    assert [each.reason for app in (one, other) for each in app.get(Ledgers).states()] == [
        None,
        None,
    ]


def test_a_server_that_does_not_reach_the_folder_reads_and_says_where_decisions_are_made(
    start: Start, tmp_path: Path
) -> None:
    one, other = start("one"), start("other", folder=None)
    one.get(DecisionActs).record(PERSON, draft())
    assert titles(other) == ["Use SQLite"]
    assert len(other.get(DecisionSearch).search(PERSON, "SQLite", DecisionMode.STRICT, 9)) == 1
    error = refused(other)
    assert str(tmp_path / "one" / "ledgers") in error.reason
    assert str(tmp_path / "other" / "ledgers") in error.reason
    assert f"mount it here at {tmp_path / 'other' / 'ledgers'}" in error.remedy
    [state] = other.get(Ledgers).states()
    assert state.reason == error.reason
    assert error.reason in " ".join(each.finding for each in other.doctor.examine())
    # What is new meanwhile is served, too.
    one.get(DecisionActs).record(PERSON, draft("wire", "Use glass"))
    assert titles(other) == ["Use SQLite", "Use glass"]
    assert not (tmp_path / "other" / "ledgers").exists()


@pytest.mark.thorough
def test_also_the_first_decision_of_an_organization_is_made_where_the_others_are(
    start: Start,
) -> None:
    start("one").get(DecisionActs).record(PERSON, draft())
    other = start("other", folder="elsewhere", organization="zoo")
    assert "is not on this server" in refused(other).reason


@pytest.mark.thorough
def test_a_rebuild_brings_the_ledger_to_the_server_on_which_it_is_run(
    start: Start, tmp_path: Path
) -> None:
    one, other = start("one", folder="lost"), start("other")
    one.get(DecisionActs).record(PERSON, draft())
    rebuilt = other.get(Rebuilds).rebuild(PERSON)
    assert len(rebuilt.to_git) == 1
    other.get(DecisionActs).record(PERSON, draft("wire", "Use copper"))
    assert str(tmp_path / "other" / "ledgers") in refused(one, "post").reason
    assert titles(one) == titles(other) == ["Use SQLite", "Use copper"]


def test_a_ledger_that_the_store_does_not_place_is_claimed_by_the_server_that_has_it(
    start: Start, database: str
) -> None:
    one, other = start("one"), start("other", folder=None)
    one.get(DecisionActs).record(PERSON, draft())
    postgres_server.server().execute("DELETE FROM shared_values", database)
    other.get(Ledgers).recover()
    assert "no commits any more" in refused(other).reason
    one.get(Ledgers).recover()
    assert "is not on this server" in refused(other).reason


@pytest.mark.thorough
def test_a_copy_of_a_project_is_not_taken_for_the_project(start: Start, tmp_path: Path) -> None:
    for name in ("project", "clone"):
        subprocess.run(["git", "init", "-q", "-b", "main", str(tmp_path / name)], check=True)
        git(tmp_path / name, "config", "user.name", "ann")
        git(tmp_path / name, "config", "user.email", "ann@example.org")
    one = start("one", folder=None, ledger=tmp_path / "project")
    one.get(DecisionActs).record(PERSON, draft())
    shutil.rmtree(tmp_path / "clone")
    git(tmp_path, "clone", "-q", "project", "clone")
    other = start("other", folder=None, ledger=tmp_path / "clone")
    assert titles(other) == ["Use SQLite"]
    assert str(tmp_path / "project") in refused(other).reason
    assert [each.reason is None for each in other.get(Ledgers).states()] == [False]


def test_who_lost_the_lease_does_not_commit(
    start: Start, database: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    one = start("one")
    one.get(DecisionActs).record(PERSON, draft())
    head, repeat = ledger_of(one).head(), LockedLedger.repeat

    def lose(deciding: LockedLedger, attempt: Callable[[], Any]) -> Any:
        postgres_server.server().execute(
            "UPDATE leases SET holder = 'another' WHERE name = 'ledger default'", database
        )
        return repeat(deciding, attempt)

    monkeypatch.setattr(LockedLedger, "repeat", lose)
    with pytest.raises(StoreBusy, match="out of reach"):
        one.get(DecisionActs).record(PERSON, draft("wire", "Use copper"))
    assert ledger_of(one).head() == head
    assert titles(one) == ["Use SQLite"]


@pytest.mark.thorough
def test_what_a_killed_server_committed_another_takes_in_and_goes_on(
    start: Start, database: str, tmp_path: Path
) -> None:
    other = start("other")
    other.get(DecisionActs).record(PERSON, draft())
    url = postgres_server.server().url(database)
    decider = [sys.executable, "-m", "tests.features.ledger.killed_decider"]
    mounted(tmp_path / "one", tmp_path / "volume")
    killed = subprocess.run([*decider, str(tmp_path / "one"), url], check=False)
    assert killed.returncode == -signal.SIGKILL
    assert titles(other) == ["Use SQLite", "Use copper"]
    # It has the lock for half a minute still.
    postgres_server.server().execute("UPDATE leases SET until = now() - interval '1s'", database)
    other.get(DecisionActs).record(PERSON, draft("post", "Use oak"))
    assert other.get(Ledgers).check() == []
    assert other.trail.verify("default") is None


def test_the_secret_is_one_for_all_servers(start: Start) -> None:
    clock = Clock()
    one = start("one", clock=clock, role=ADMIN.role, agent_memory_secret=SECRET)
    without = start("without", clock=clock)
    wrong = start("wrong", clock=clock, agent_memory_secret="another one")
    proposal = one.get(Proposals).propose(PERSON, draft(), ())

    def accept(app: App) -> Any:
        return app.get(ApprovalSecret).check(
            ADMIN, "accept", proposal.id, app.get(ApprovalSecret).given
        )

    accept(one)
    with pytest.raises(Forbidden, match="AGENT_MEMORY_SECRET"):
        accept(without)
    assert without.get(ApprovalSecret).is_set
    assert not any("secret" in each.finding for each in without.doctor.examine())
    assert any("secret" in each.finding for each in wrong.doctor.examine())
    with pytest.raises(WrongSecret):
        accept(wrong)
    # The guess puts off everybody's next one.
    with pytest.raises(GuessedTooOften):
        accept(one)
    clock.turn()
    accept(one)
