"""Until when a text holds by its own words."""

from datetime import date

import pytest

from minutebook.features.tidying.judging.times import end_of

WEDNESDAY = date(2026, 3, 4)


@pytest.mark.parametrize(
    ("text", "past"),
    [
        ("Uploads are limited until Friday.", date(2026, 3, 7)),
        ("The office is closed next week.", date(2026, 3, 16)),
        ("Frozen until the end of the month.", date(2026, 4, 1)),
        ("Frozen until 31 January.", date(2027, 2, 1)),
        ("Valid until 2026-05-31.", date(2026, 6, 1)),
        ("Bis Ende März gesperrt.", date(2026, 4, 1)),
        ("Gültig bis 1.4.2026.", date(2026, 4, 2)),
        ("Out on holiday until 20 March. Back until 3 April.", date(2026, 4, 4)),
        ("We used it until March 2024.", None),
        ("Open until 18:00.", None),
        ("From next week on two people review.", None),
        ("Every week until Friday the sheets are due.", None),
        ("Valid until 2026-02-31.", None),
        ("Wait until it is done.", None),
        ("Closed until Friday." + " More." * 200, None),
    ],
)
def test_words_that_name_a_day_ahead_end_a_text(text: str, past: date | None) -> None:
    found = end_of(text, WEDNESDAY)
    assert (None if found is None else found.past_from) == past
