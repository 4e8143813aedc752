"""Compare a memory that words several others together with these: the words that it leaves out, and those that it adds."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from minutebook.record.ids import id_of
from minutebook.text.words import is_stop_term, word_terms, words

MERGES = "merges"
"""The field of a memory's metadata that names the memories it words together."""

MOST_MERGED = 5
"""The most memories that one may word together."""

SHOWN_WORDS = 12
"""The most words left out, and the most added, that are shown."""


@dataclass(frozen=True, slots=True)
class Faithfulness:
    """The words of some texts that their joint wording leaves out, and those that it adds, in order.

    `certainty`, in [0, 1], is the share of their content words that it has, times the share of its own that they have.
    """

    certainty: float
    left_out: tuple[str, ...]
    added: tuple[str, ...]


def merged_ids(metadata: Mapping[str, object]) -> tuple[str, ...]:
    """Return the ids of the memories that a memory with this metadata words together, in the field MERGES.

    The field is a list, or a text with spaces or commas between the ids. None are returned if there are fewer
    than two or more than MOST_MERGED, or one is no id.
    """
    given = metadata.get(MERGES)
    names = given.replace(",", " ").split() if isinstance(given, str) else given
    if not isinstance(names, Sequence) or not 2 <= len(names) <= MOST_MERGED:
        return ()
    ids = [id_of(each) if isinstance(each, str) else None for each in names]
    found = tuple(dict.fromkeys(each for each in ids if each is not None))
    return found if len(found) == len(ids) else ()


def faithfulness(wording: str, texts: Iterable[str]) -> Faithfulness:
    """Compare a joint wording with the texts that it words."""
    its, theirs = _content_words(wording), _content_words("\n".join(texts))
    left_out = [word for term, word in theirs.items() if term not in its]
    added = [word for term, word in its.items() if term not in theirs]
    kept = 1 - len(left_out) / len(theirs) if theirs else 1.0
    own = 1 - len(added) / len(its) if its else 0.0
    return Faithfulness(kept * own, tuple(left_out), tuple(added))


def _content_words(text: str) -> dict[str, str]:
    """Return the content words of a text, the first one of each term by that term, in order."""
    found: dict[str, str] = {}
    for word in words(text):
        terms = word_terms(word)
        if terms and not is_stop_term(terms[0]):
            found.setdefault(terms[0], word)
    return found
