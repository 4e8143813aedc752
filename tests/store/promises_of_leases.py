"""What an engine that keeps leases promises of them, and the locks that are made of them."""

import threading

import pytest

from minutebook.record.errors import StoreBusy
from minutebook.store.leases import LeaseLocks, LeaseRows
from tests.world import wait_until

LONG = 600.0
"""Seconds in which no lease of a test runs out."""


class Noting:
    """Rows that count how often a name was asked for."""

    def __init__(self, rows: LeaseRows) -> None:
        self.taken = 0
        self._rows = rows
        self.keep, self.release, self.is_taken = rows.keep, rows.release, rows.is_taken

    def take(self, name: str, holder: str, seconds: float) -> bool:
        self.taken += 1
        return self._rows.take(name, holder, seconds)


class LeasePromises:
    """Inherit it and give the rows, empty, as the fixture `rows`."""

    def test_a_name_is_one_holders_until_it_is_released(self, rows: LeaseRows) -> None:
        assert not rows.is_taken("a\0b")
        assert rows.take("a\0b", "one", LONG)
        assert rows.take("a\0b", "one", LONG)
        assert not rows.take("a\0b", "other", LONG)
        assert rows.take("b", "other", LONG)
        assert rows.is_taken("a\0b")
        assert rows.keep("a\0b", "one")
        assert not rows.keep("a\0b", "other")
        rows.release("a\0b", "other")
        assert rows.is_taken("a\0b")
        rows.release("a\0b", "one")
        assert not rows.is_taken("a\0b")
        assert rows.take("a\0b", "other", LONG)

    def test_a_name_that_is_not_renewed_becomes_anothers(self, rows: LeaseRows) -> None:
        assert rows.take("a", "one", 0.01)
        wait_until(lambda: rows.take("a", "other", LONG))
        assert not rows.keep("a", "one")
        assert not rows.take("a", "one", LONG)
        rows.release("a", "one")
        assert rows.keep("a", "other")

    def test_of_many_who_take_a_name_at_once_one_has_it(self, rows: LeaseRows) -> None:
        at_once = threading.Barrier(8)
        taken: list[str] = []

        def take(holder: str) -> None:
            at_once.wait(60)
            if rows.take("a", holder, LONG):
                taken.append(holder)

        threads = [threading.Thread(target=take, args=(str(number),)) for number in range(8)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert len(taken) == 1
        assert rows.keep("a", taken[0])

    def test_a_lock_is_held_by_one_at_a_time_and_can_be_waited_for(self, rows: LeaseRows) -> None:
        one, other = LeaseLocks(rows, LONG), LeaseLocks(rows, LONG)
        with one.hold("a") as held:
            assert held is not None
            held.check()
            assert other.is_held("a")
            assert not other.is_held("b")
            with other.hold("a", wait=0.05) as again:
                assert again is None
        assert not other.is_held("a")
        with one.hold("a") as held:
            assert held is not None
            waiting = threading.Timer(0.05, rows.release, ("a", held._holder))
            waiting.start()
            with other.hold("a", wait=60) as later:
                assert later is not None
            waiting.join()

    def test_a_lock_is_renewed_while_it_is_held(self, rows: LeaseRows) -> None:
        noting = Noting(rows)
        with LeaseLocks(noting, 0.05).hold("a"):
            wait_until(lambda: noting.taken > 3)

    def test_who_lost_a_lock_is_told_before_writing(self, rows: LeaseRows) -> None:
        with LeaseLocks(rows, LONG).hold("a") as held:
            assert held is not None
            rows.release("a", held._holder)
            assert rows.take("a", "other", LONG)
            with pytest.raises(StoreBusy, match="out of reach of the store for over 600 s"):
                held.check()
        assert rows.keep("a", "other")
