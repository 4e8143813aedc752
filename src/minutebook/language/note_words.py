"""Words that classify a difference between two notes, from `note_words.toml`, which explains each list."""

import tomllib
from collections.abc import Mapping
from importlib import resources

_FILE: Mapping[str, str] = tomllib.loads(
    resources.files(__package__).joinpath("note_words.toml").read_text(encoding="utf-8")
)

LISTS = {name: frozenset(words.replace(",", " ").split()) for name, words in _FILE.items()}
"""The words of each list."""

WEEKDAYS = {
    name: day for day, names in enumerate(_FILE["weekdays"].split()) for name in names.split(",")
}
"""The number of each day of the week by its names; Monday is 0."""

MONTHS = {
    name: month
    for month, names in enumerate(_FILE["months"].split(), 1)
    for name in names.split(",")
}
"""The number of each month by its names."""

DAYS = (LISTS["days"] | WEEKDAYS.keys() | MONTHS.keys()) - {"may"}
"""Names of days and months, but for one that is a verb far more often."""

OPPOSITES = [
    (frozenset(one.split(",")), frozenset(other.split(",")))
    for one, other in (pair.split("/") for pair in _FILE["opposites"].split())
]
"""Pairs of sets of words, of which one text cannot hold one of each."""
