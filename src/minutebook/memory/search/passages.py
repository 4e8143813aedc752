"""The passages of hits that answer a question, together within a budget of tokens."""

from collections.abc import Collection, Mapping, Sequence
from datetime import datetime
from itertools import accumulate

from minutebook.memory.access.visibility import Records
from minutebook.memory.embeddings import Embeddings
from minutebook.memory.search.recall import Recalled
from minutebook.memory.search.signals import Asked, Key
from minutebook.record.caller import Caller
from minutebook.record.records import Memory, Summary, TextRecord, Turn
from minutebook.text.excerpt import matches, sought_terms
from minutebook.text.passages import PASSAGE_TOKENS, ROOM, Part, allowance, count_tokens, passage

TOKENS_A_HIT, TOKENS_A_LINE = 56, 20
"""The tokens of a hit without its passage, that is, of scores, id, time and author; and the same in an answer in lines."""

LEAST_PASSAGE = 24
"""The fewest tokens to which passages shrink; if that does not suffice, hits are dropped."""

SHORT_TURN = 60
"""The most tokens of a turn that is shown with its neighbours."""


class Passages:
    """Shortens the texts of hits to the parts that answer."""

    def __init__(self, store: Records, embeddings: Embeddings) -> None:
        self._store = store
        self._embeddings = embeddings

    def within(
        self,
        caller: Caller,
        hits: Sequence[Recalled],
        asked: Asked,
        tokens: int,
        dropped_first: Collection[Key],
        at: datetime | None,
    ) -> dict[Key, str]:
        """Return the passage of each hit, best first, within `tokens` (0: the whole texts of all).

        Passages shrink before hits are dropped, those of `dropped_first` before others. The passage of a short turn includes
        its neighbours in the session, up to an instant, if there is room.
        """
        texts = {each.hit.id: shown_text(each.record) for each in hits}
        if not tokens:
            return texts
        overhead = TOKENS_A_LINE if caller.call.in_lines else TOKENS_A_HIT
        sizes = {key: count_tokens(text) for key, text in texts.items()}
        wanted = sorted(texts, key=dropped_first.__contains__)
        least = accumulate(overhead + min(sizes[key], LEAST_PASSAGE) for key in wanted)
        shown = wanted[: max(1, sum(needed <= tokens for needed in least))]
        for_texts = max(LEAST_PASSAGE, tokens - overhead * len(shown))
        most = min(PASSAGE_TOKENS, allowance([sizes[key] for key in shown], for_texts))
        chosen = [each for each in hits if each.hit.id in shown]
        parts = self._parts(chosen, asked, most, sizes)
        found = {key: passage(texts[key], parts.get(key, (0.0, 0.0)), most) for key in shown}
        room = for_texts - sum(map(count_tokens, found.values()))
        return found | self._with_neighbours(caller, chosen, found, room, at)

    def _with_neighbours(
        self,
        caller: Caller,
        hits: Sequence[Recalled],
        passages: Mapping[Key, str],
        room: int,
        at: datetime | None,
    ) -> dict[Key, str]:
        """Return the passages of short turns with the turns before and after them, as far as `room` tokens suffice.

        A neighbour that is a hit itself is left out.
        """
        short = [
            each.record
            for each in hits
            if isinstance(each.record, Turn) and count_tokens(passages[each.hit.id]) <= SHORT_TURN
        ]
        found: dict[Key, str] = {}
        for turn in short:
            key = turn.organization, turn.id
            before, after = self._turns_around(caller, turn, passages.keys(), at)
            spent = count_tokens(passages[key])
            for near, is_before in ((after, False), (before, True)):
                left = min(PASSAGE_TOKENS - spent, room)
                if near is None or left < LEAST_PASSAGE:
                    continue
                # Of the turn before the end is kept, of the turn after the beginning: these are next to the hit.
                part = (1.0, 1.0) if is_before else (0.0, 0.0)
                text = passage(shown_text(near), part, int(left / ROOM))
                kept = found.get(key, passages[key])
                found[key] = f"{text}\n{kept}" if is_before else f"{kept}\n{text}"
                spent += count_tokens(text)
                room -= count_tokens(text)
        return found

    def _turns_around(
        self, caller: Caller, turn: Turn, shown: Collection[Key], at: datetime | None
    ) -> tuple[Turn | None, Turn | None]:
        """Return the turns before and after a turn in its session; None for one that the caller may not see or that is shown itself."""
        view = self._store.seen_by(caller).view_of(turn.organization)
        near = () if view is None else view.neighbours(Turn, [turn.id], 1).get(turn.id, ())
        if view is None or not near:
            return None, None
        here = view.where(ids=frozenset(near)).narrowed(session=turn.session)
        read = [
            each
            for each in here.find(Turn)
            if (each.repository, each.user) == (turn.repository, turn.user)
            and (at is None or each.at <= at)
            and (each.organization, each.id) not in shown
        ]
        before = next((each for each in read if each.id < turn.id), None)
        return before, next((each for each in read if each.id > turn.id), None)

    def _parts(
        self, hits: Sequence[Recalled], asked: Asked, tokens: int, sizes: Mapping[Key, int]
    ) -> dict[Key, Part]:
        """Return the part that answers of each text that is longer than `tokens`."""
        long = [each for each in hits if sizes[each.hit.id] > tokens]
        found = {each.hit.id: _by_words(shown_text(each.record), asked) for each in long}
        if asked.embedding is not None and (question := asked.embedding.question) is not None:
            for key, packed in self._embeddings.states_of(each.record for each in long).items():
                found[key] = question.best_part(packed, tokens)
        return found


def shown_text(record: TextRecord) -> str:
    """Return the text of a record as a reader sees it: of a memory without its title, of a turn without labels."""
    if isinstance(record, Memory):
        return record.content
    if isinstance(record, Turn):
        return record.shown_text
    return f"{record.title}: {record.summary}" if isinstance(record, Summary) else record.text


def _by_words(text: str, asked: Asked) -> Part:
    """Return the begin and end of the first words of a text that are in the question, as shares of its length."""
    places = matches(text, sought_terms(asked.query))
    if not places:
        return 0.0, 0.0
    return places[0][0] / len(text), places[0][1] / len(text)
