"""Hold a joint wording of several memories against them: the facts it leaves out, those it adds."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from minutebook.record.ids import id_of
from minutebook.text.words import is_stop_term, word_terms, words

MERGES = "merges"
"""The field of a memory's metadata that names the memories it words together."""

MOST_MERGED = 5
"""How many memories one may word together."""

SHOWN_WORDS = 12
"""How many of the words left out, and of those added, are told."""


@dataclass(frozen=True, slots=True)
class Faithfulness:
    """How true a wording is to some texts, from 0 to 1, and the words it leaves out and adds, in order.

    `certainty` is the share of their telling words that it holds, times the share of its own that they hold.
    """

    certainty: float
    left_out: tuple[str, ...]
    added: tuple[str, ...]


def merged_ids(metadata: Mapping[str, object]) -> tuple[str, ...]:
    """Return the ids of the memories that a memory with this metadata words together; none if it words none.

    They are a list, or one text with spaces or commas between, in either form of an id. Fewer than two, more than
    MOST_MERGED, or anything else, is none.
    """
    given = metadata.get(MERGES)
    names = given.replace(",", " ").split() if isinstance(given, str) else given
    if not isinstance(names, Sequence) or not 2 <= len(names) <= MOST_MERGED:
        return ()
    ids = [id_of(each) if isinstance(each, str) else None for each in names]
    found = tuple(dict.fromkeys(each for each in ids if each is not None))
    return found if len(found) == len(ids) else ()


def faithfulness(wording: str, texts: Iterable[str]) -> Faithfulness:
    """Hold a wording against the texts that it is to say together."""
    its, theirs = _telling(wording), _telling("\n".join(texts))
    left_out = [word for term, word in theirs.items() if term not in its]
    added = [word for term, word in its.items() if term not in theirs]
    kept = 1 - len(left_out) / len(theirs) if theirs else 1.0
    own = 1 - len(added) / len(its) if its else 0.0
    return Faithfulness(kept * own, tuple(left_out), tuple(added))


def _telling(text: str) -> dict[str, str]:
    """Return the content words of a text, by their terms, in order."""
    found: dict[str, str] = {}
    for word in words(text):
        terms = word_terms(word)
        if terms and not is_stop_term(terms[0]):
            found.setdefault(terms[0], word)
    return found
