"""The place of a commit among reasons, by its message."""

import pytest

from minutebook.features.why.telling import Rank, rank_of


@pytest.mark.parametrize(
    ("message", "rank"),
    [
        ("Negate refunds\n\nThe bank rejects other signs.", Rank.TELLING),
        ("Allow 90 s of skew: tills in stores have no NTP", Rank.TELLING),
        ("Start at 4, since the tape robot is busy", Rank.TELLING),
        ("fix(queue): ack first", Rank.PLAIN),
        ("Five tries (#12)\n\n* wip\n* fix tests\n\nCo-authored-by: Ana <ana@example.org>", Rank.PLAIN),
        ("Tidy up the job\n\nIt starts at 4 now, after the backup.", Rank.RELATED),
        ("Simplify\n\nNo functional change.", Rank.SWEEP),
        ("style(queue): names", Rank.SWEEP),
        ("refactor: names", Rank.SWEEP),
        ("Vereinfacht", Rank.SWEEP),
        ('Revert "Add"\n\nThis reverts commit 1234567.', Rank.SWEEP),
        ("", Rank.PLAIN),
    ],
)  # fmt: skip
def test_a_message_that_says_why_comes_first(message: str, rank: Rank) -> None:
    assert rank_of(message) is rank
