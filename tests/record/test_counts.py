"""Counts in the words of a sentence."""

from minutebook.record.reason import count_of


def test_a_noun_stands_in_the_number_of_its_count() -> None:
    assert count_of(1, "record") == "1 record"
    assert count_of(0, "record") == "0 records"
    assert count_of(1200, "entity", "entities") == "1,200 entities"
