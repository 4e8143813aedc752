"""Make an index of a few records do all that one of millions does."""

from collections.abc import Iterator, Mapping
from contextlib import contextmanager

from minutebook.store.sidecar import sizes

SMALL = {
    "PAGE": 2,
    "TEXT_PAGE": 2,
    "MANY_TEXTS": 1,
    "CODED": 1,
    "EXACT": 1,
    "LARGEST": 3,
    "LARGEST_IN_MEMORY": 3,
    "LEAST_SAVED": 1,
    "SAVED_SHARE": 100,
    "MOST_NAMED": 5,
    "SPARE": 0,
}


@contextmanager
def small_index() -> Iterator[None]:
    usual = {name: getattr(sizes, name) for name in SMALL}
    make(SMALL)
    try:
        yield
    finally:
        make(usual)


def make(values: Mapping[str, int]) -> None:
    for name, value in values.items():
        setattr(sizes, name, value)
