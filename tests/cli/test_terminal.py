"""How records are shown on a line of the terminal."""

from minutebook.cli.terminal import headline
from tests.store.samples import turn


def test_a_turn_is_shown_without_the_thought_and_by_it_where_nothing_else_is_there() -> None:
    said = turn(
        "t1", "On Thursday.", prompt="When do we deploy?", thought="[folder /home/ana/shop]"
    )
    assert headline("1", said).endswith("  When do we deploy? On Thursday.")
    assert headline("1", turn("t1", "", prompt="", thought="Wait.")).endswith("  Wait.")
