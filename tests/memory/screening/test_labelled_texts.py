"""The labelled set of hostile content: what is a secret, what reads as instructions, what is neither."""

from minutebook.memory.screening.instructions import marks_of
from minutebook.memory.screening.secrets import find, mask
from tests.faults.hostile.items import texts


def test_the_set_is_as_large_as_it_says() -> None:
    benign = [each for each in texts() if each.must == "kept"]
    assert len(texts()) >= 150
    assert len({each.of for each in texts()}) >= 12
    assert len(benign) >= 40
    assert len({each.id for each in texts()}) == len(texts())


def test_each_secret_is_found_and_nothing_is_taken_for_one() -> None:
    for each in texts():
        hidden = mask(each.text, find(each.text))
        assert not [one for one in each.secrets if one.rstrip("=.+/") in hidden], each.id
        if not each.secrets:
            assert find(each.text) == [], each.id


def test_what_reads_as_instructions_is_marked_and_what_does_not_is_not() -> None:
    for each in texts():
        marks = marks_of(each.text)
        if each.must == "marked":
            # One that is reached now is labelled as missed no more.
            assert bool(marks) is not each.missed, each.id
        elif each.must in ("kept", "masked") and "\u200b" not in each.bare:
            assert marks == [], each.id
