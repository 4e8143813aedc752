"""Counts in the words of a sentence."""


def count_of(number: int, one: str, many: str = "") -> str:
    """Return a number with its noun: `1 record`, `1,200 records`; `many` where the plural is not `one` with an s."""
    return f"{number:,} {one if number == 1 else many or one + 's'}"
