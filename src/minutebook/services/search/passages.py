"""The passage of each hit that answers a question, all of them within a budget of tokens."""

from collections import defaultdict
from collections.abc import Collection, Mapping, Sequence
from itertools import accumulate

from minutebook.domain.records import Memory, Summary, TextRecord, Turn
from minutebook.search.excerpt import matches, sought_terms
from minutebook.search.late_interaction import whole
from minutebook.search.passages import PASSAGE_TOKENS, Part, allowance, count_tokens, passage
from minutebook.services.access.visibility import Records
from minutebook.services.embeddings import Embeddings
from minutebook.services.search.recall import Recalled
from minutebook.services.search.signals import Asked, Key

TOKENS_A_HIT = 30
"""What a hit takes beside its passage: id, time, author."""

LEAST_PASSAGE = 24
"""Tokens to which a passage shrinks at least; then the last hits fall away."""

SHORT_TURN = 60
"""Tokens of a turn beside which its neighbours are shown."""


class Passages:
    """Cuts hits to the parts that answer."""

    def __init__(self, store: Records, embeddings: Embeddings) -> None:
        self._store = store
        self._embeddings = embeddings

    def within(
        self, hits: Sequence[Recalled], asked: Asked, tokens: int, last: Collection[Key]
    ) -> dict[Key, str]:
        """Return the passage of each hit, best first, as far as `tokens` reach; 0: whole texts of all.

        Passages shrink before a hit falls away; of hits those of `last` fall away first.
        """
        texts = {each.hit.id: said(each.record) for each in hits}
        if not tokens:
            return texts
        sizes = {key: count_tokens(text) for key, text in texts.items()}
        wanted = sorted(texts, key=last.__contains__)
        least = accumulate(TOKENS_A_HIT + min(sizes[key], LEAST_PASSAGE) for key in wanted)
        shown = wanted[: max(1, sum(needed <= tokens for needed in least))]
        for_texts = max(LEAST_PASSAGE, tokens - TOKENS_A_HIT * len(shown))
        most = min(PASSAGE_TOKENS, allowance([sizes[key] for key in shown], for_texts))
        parts = self._parts([each for each in hits if each.hit.id in shown], asked, most, sizes)
        return {key: passage(texts[key], parts.get(key, (0.0, 0.0)), most) for key in shown}

    def _parts(
        self, hits: Sequence[Recalled], asked: Asked, tokens: int, sizes: Mapping[Key, int]
    ) -> dict[Key, Part]:
        """Return the part that answers of each text that is longer than so many tokens."""
        long: defaultdict[tuple[type[TextRecord], str], list[str]] = defaultdict(list)
        found: dict[Key, Part] = {}
        for each in hits:
            if sizes[each.hit.id] > tokens:
                long[type(each.record), each.record.organization].append(each.record.id)
                found[each.hit.id] = _by_words(said(each.record), asked)
        question = None if asked.embedding is None else asked.embedding.question
        for (of, organization), ids in long.items() if question is not None else ():
            space = self._embeddings.space_of(of)
            for id, packed in whole(self._store.token_states(of, organization, ids, space)).items():
                assert question is not None
                found[organization, id] = question.best_part(packed, tokens)
        return found


def said(record: TextRecord) -> str:
    """Return the text of a record as a reader sees it: of a memory its content, of a turn what was said."""
    if isinstance(record, Memory):
        return record.content
    if isinstance(record, Turn):
        return "\n".join(filter(None, (record.prompt, record.response))) or record.thought
    return f"{record.title}: {record.summary}" if isinstance(record, Summary) else record.text


def _by_words(text: str, asked: Asked) -> Part:
    """Return where the first words of a text that the question holds stand, in shares of its length."""
    places = matches(text, sought_terms(asked.query))
    if not places:
        return 0.0, 0.0
    return places[0][0] / len(text), places[0][1] / len(text)
