"""Words by which a session's turns are read, in English, German, Spanish and French, from `session_words.toml`.

Each constant is a regular expression without flags, to be compiled ignoring case; the file says
what each is for.
"""

import tomllib
from collections.abc import Mapping
from importlib import resources
from typing import Any

from minutebook.domain.records import Category

_FILE: Mapping[str, Any] = tomllib.loads(
    resources.files(__package__).joinpath("session_words.toml").read_text(encoding="utf-8")
)


def either(*alternatives: str) -> str:
    """Join alternatives into one pattern that matches whole words."""
    return rf"(?<![^\W_])(?:{'|'.join(alternatives)})(?![^\W_])"


def _pattern(text: str) -> str:
    return text.replace("\n", "")


def _words(by_language: Mapping[str, str]) -> str:
    return either(*map(_pattern, by_language.values()))


def _by_category(table: str) -> Mapping[Category, str]:
    return {Category(name): _words(each) for name, each in _FILE[table].items()}


VERBS: Mapping[Category, tuple[int, str]] = {
    Category(name): (each["weight"], _pattern(each["en"])) for name, each in _FILE["verbs"].items()
}
REQUESTED, NOUNS = _by_category("requested"), _by_category("nouns")

POLITE = _pattern(_FILE["patterns"]["polite"])
POLITE_ANYWHERE = _pattern(_FILE["patterns"]["polite_anywhere"])
CORRECTION = _pattern(_FILE["patterns"]["correction"])
DONE_FIRST = _pattern(_FILE["patterns"]["done_first"])
SUITE_GREEN = _pattern(_FILE["patterns"]["suite_green"])
ERRORS = _pattern(_FILE["patterns"]["errors"])

OTHER_REQUESTS = _words(_FILE["words"]["other_requests"])
READ_ONLY = _words(_FILE["words"]["read_only"])
RESOLVED = _words(_FILE["words"]["resolved"])
RESOLVED_SURELY = _words(_FILE["words"]["resolved_surely"])
DENIED = _words(_FILE["words"]["denied"])
DONE = _words(_FILE["words"]["done"])
CHANGED = _words(_FILE["words"]["changed"])
INTENDED = _words(_FILE["words"]["intended"])
LANDED = _words(_FILE["words"]["landed"])
RELEASED = _words(_FILE["words"]["released"])
MET = _words(_FILE["words"]["met"])
PAST_CAUSE = _words(_FILE["words"]["past_cause"])
SETTLED = _words(_FILE["words"]["settled"])
UNSETTLED = _words(_FILE["words"]["unsettled"])
SINGLE = _words(_FILE["words"]["single"])
CONSEQUENCE = _words(_FILE["words"]["consequence"])
GUESS = _words(_FILE["words"]["guess"])
ADDED = _words(_FILE["words"]["added"])
PREFERS = _words(_FILE["words"]["prefers"])
DISCARDS = _words(_FILE["words"]["discards"])
PROPOSED = _words(_FILE["words"]["proposed"])
FAILED = _words(_FILE["words"]["failed"])
PASSED = _words(_FILE["words"]["passed"])
CHALLENGED = _words(_FILE["words"]["challenged"])
CONFIRMED = _words(_FILE["words"]["confirmed"])
KEPT = _words(_FILE["words"]["kept"])
OF_ALL = _words(_FILE["words"]["of_all"])
OF_TESTS = _words(_FILE["words"]["of_tests"])
CAUSE = _words(_FILE["words"]["cause"])
ELSEWHERE = _words(_FILE["words"]["elsewhere"])
THEN_IT = _words(_FILE["words"]["then_it"])
REMOVED = _words(_FILE["words"]["removed"])
ROUGHLY = _words(_FILE["words"]["roughly"])
WITHDRAWN = _words(_FILE["words"]["withdrawn"])
