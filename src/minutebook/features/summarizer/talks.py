"""Find the statements of a talk that a later one took back: the last one about a thing holds.

Who said what, how the next turn takes it, the words by which people agree, object and correct themselves
(`talk_words.toml`), and how the later statements nearest to it differ from it are signs. A small network weighs them;
its numbers are in `talk_weights.npz`, fitted by `python -m benchmarks.fit_talks`. No model is needed.
"""

from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cache, lru_cache
from math import log, sqrt
from pathlib import Path

from minutebook.text import comparing
from minutebook.text.languages import Languages
from minutebook.text.nets import Net, nets
from minutebook.text.statements import Sentence, Sort, sentence_of
from minutebook.text.word_lists import any_word, word_lists
from minutebook.text.words import languages_of

NEAREST = 3
"""Later statements that a statement is compared with, word by word: those most alike."""

AHEAD = 10
"""Turns after a statement in which its words are looked for."""

RECENT = 3
"""Turns back to what is still near."""

_ONE_OF_MANY = 0.3
"""What a sign counts that is one of many of a sort: so its weight is held back more where it is fitted."""

REMEMBERED = 4_096
"""Texts whose words stay known: a hook reads the latest turns of a project before each prompt."""

WORDS = word_lists("talk_words.toml", __package__)
"""Kinds of telling words, each by language, as regular expressions."""

_KINDS = {kind: any_word(by_language.values()) for kind, by_language in WORDS.items()}


_sentence_of = lru_cache(REMEMBERED)(sentence_of)


@dataclass(frozen=True, slots=True)
class Said:
    """A statement of a talk, its turn, whether the person said it, and whether it asks for something to be done."""

    text: str
    turn: int
    by_user: bool
    is_request: bool = False


@dataclass(frozen=True, slots=True)
class TakenBack:
    """How likely in [0, 1] a later statement took a statement back, and which, by index, if one is like it."""

    chance: float
    by: int | None


@dataclass(frozen=True, slots=True)
class _Read:
    """A statement as it is compared."""

    index: int
    said: Said
    sentence: Sentence
    stems: frozenset[str]
    kinds: frozenset[str]
    numbers: frozenset[tuple[str, str]]
    is_question: bool

    @property
    def states(self) -> bool:
        """Whether it neither asks nor requests."""
        return not (self.is_question or self.said.is_request)


@lru_cache(REMEMBERED)
def kinds_of(text: str) -> frozenset[str]:
    """Return the kinds of telling words in a text."""
    return frozenset(kind for kind, pattern in _KINDS.items() if pattern.search(text))


def taken_back(said: Sequence[Said], asked: Iterable[int]) -> dict[int, TakenBack]:
    """Return for some statements of a talk, by index, how likely a later one took them back.

    The statements are in the order in which they were said. 0 in the last turn, which no later one can take back.
    """
    bags = list(signs(said, asked))
    rows = [row for _, instances in bags for _, row in instances]
    likely = _net().chances(rows).tolist() if rows else []
    found: dict[int, TakenBack] = {}
    start = 0
    for index, instances in bags:
        own = likely[start : start + len(instances)]
        start += len(instances)
        best = max(range(len(own)), key=own.__getitem__, default=None)
        found[index] = (
            TakenBack(0.0, None) if best is None else TakenBack(own[best], instances[best][0])
        )
    return found


def signs(
    said: Sequence[Said], asked: Iterable[int]
) -> Iterator[tuple[int, list[tuple[int | None, dict[str, float]]]]]:
    """Yield for some statements the signs beside each later one that is like it, and beside none; none in the last turn."""
    talk = _Talk(said)
    for index in asked:
        yield index, talk.instances(talk.read[index])


class _Talk:
    """The statements of a talk, by turn."""

    def __init__(self, said: Sequence[Said]) -> None:
        languages = languages_of(" ".join(each.text for each in said)[:20_000])
        self.read = [_read(index, each, languages) for index, each in enumerate(said)]
        self._turns: defaultdict[int, list[_Read]] = defaultdict(list)
        for each in self.read:
            self._turns[each.said.turn].append(each)
        self._held = Counter(stem for each in self.read for stem in each.stems)
        self._most = log(1 + max(self._held.values(), default=1))
        self._sharing: defaultdict[str, list[_Read]] = defaultdict(list)
        for each in self.read:
            for stem in each.stems:
                self._sharing[stem].append(each)
        self._last = max(self._turns, default=0)

    def instances(self, old: _Read) -> list[tuple[int | None, dict[str, float]]]:
        """Return the signs of a statement beside each later one that it is compared with."""
        if old.said.turn == self._last:
            return []
        common = {**self._form(old), **self._reaction(old), **self._mentions(old)}
        found: list[tuple[int | None, dict[str, float]]] = [(None, {**common, "none": 1.0})]
        found += [(new.index, {**common, **self._pair(old, new)}) for new in self._nearest(old)]
        return found

    def _form(self, old: _Read) -> dict[str, float]:
        beside = [
            each for each in self._turns[old.said.turn] if each.said.by_user is old.said.by_user
        ]
        return {
            "always": 1.0,
            "by the user": float(old.said.by_user),
            "in the first turn": float(old.said.turn == 0),
            "a question": float(old.is_question),
            "a request": float(old.said.is_request),
            "all of its text": float(len(beside) == 1),
            "first of its text": float(beside[0] is old),
            "a number": float(bool(old.numbers)),
            **{f"old {kind}": _ONE_OF_MANY for kind in old.kinds},
        }

    def _reaction(self, old: _Read) -> dict[str, float]:
        """Return the reaction of the next turn: the person's words, and how the agent goes on."""
        following = self._turns.get(old.said.turn + 1, [])
        user = [each for each in following if each.said.by_user]
        answer = [each for each in following if not each.said.by_user]
        found = {"nothing said next": float(not user)}
        found |= self._prompting("next", user, old)
        if answer:
            found |= {f"answer {kind}": _ONE_OF_MANY for kind in answer[0].kinds}
            words = frozenset[str]().union(*(each.stems for each in answer))
            found["in the next answer"] = _share(old, words)
        return found

    def _prompting(self, name: str, user: Sequence[_Read], old: _Read) -> dict[str, float]:
        """Return the person's words in a turn, and how many words of a statement they have."""
        if not user:
            return {}
        stated = [each for each in user if each.states]
        asked = frozenset[str]().union(*(each.stems for each in user))
        objects = frozenset[str]().union(*(each.stems for each in stated))
        kinds = frozenset[str]().union(*(each.kinds for each in user))
        return {
            f"{name} only asks": float(all(each.is_question for each in user)),
            f"{name} asks": float(any(each.is_question for each in user)),
            f"{name} states": float(bool(stated)),
            f"{name} requests": float(any(each.said.is_request for each in user)),
            f"{name} has words": _share(old, asked),
            f"{name} states words": _share(old, objects),
            **{f"{name} {kind}": _ONE_OF_MANY for kind in kinds},
        }

    def _mentions(self, old: _Read) -> dict[str, float]:
        """Return how later turns come back to it."""
        last = min(self._last, old.said.turn + AHEAD)
        later = [each for turn in range(old.said.turn + 1, last + 1) for each in self._turns[turn]]
        news = [each for each in later if each.said.by_user and each.states]
        after = {each.said.turn for each in news}
        answers = [each for each in later if not each.said.by_user and each.said.turn in after]
        named = frozenset[str]().union(*(each.stems for each in (*news, *answers)))
        rare = (1 - log(self._held[stem]) / self._most for stem in old.stems & named)
        again = [
            each
            for each in later
            if not each.said.by_user
            and _share(old, each.stems) >= 0.6
            and {number for number, _ in old.numbers} <= {number for number, _ in each.numbers}
        ]
        return {
            "stated later": float(bool(news)),
            "in what is stated later": max((_share(old, each.stems) for each in news), default=0.0),
            "in the answer to that": max(
                (_share(old, each.stems) for each in answers), default=0.0
            ),
            "rareness of what both have": max(rare, default=0.0),
            "another number later": float(any(_other_number(old, each) for each in later)),
            "said again later": float(bool(again)),
            "said again at the end": float(any(each.said.turn == self._last for each in again)),
        }

    def _nearest(self, old: _Read) -> list[_Read]:
        """Return the later statements that share most with a statement, rare words first."""
        weights: defaultdict[int, float] = defaultdict(float)
        for stem in old.stems:
            weight = self._weight(stem)
            for each in self._sharing[stem]:
                if each.said.turn > old.said.turn:
                    weights[each.index] += weight
        own = sum(map(self._weight, old.stems)) or 1.0
        ranked = []
        for index, weight in weights.items():
            new = self.read[index]
            if not new.sentence.telling or new.is_question:
                continue
            all_new = sum(map(self._weight, new.stems)) or 1.0
            near = weight / sqrt(own * all_new) + 0.3 * _other_number(old, new)
            ranked.append((-near, index))
        return [self.read[index] for _, index in sorted(ranked)[:NEAREST]]

    def _weight(self, stem: str) -> float:
        return log(1 + len(self.read) / self._held[stem])

    def _pair(self, old: _Read, new: _Read) -> dict[str, float]:
        turn = self._turns[new.said.turn]
        user = [each for each in turn if each.said.by_user]
        answer = [each for each in turn if not each.said.by_user]
        words = frozenset[str]().union(*(each.stems for each in user))
        gained = new.stems - old.stems
        lost = old.stems - new.stems
        distance = new.said.turn - old.said.turn
        aligned = comparing.signs(comparing.align(old.sentence, new.sentence, None, None))
        found = {name: _ONE_OF_MANY * sign for name, sign in aligned.items()} | {
            "by the user, later": float(new.said.by_user),
            "of one speaker": float(new.said.by_user is old.said.by_user),
            "next turn": float(distance == 1),
            "recent": float(distance <= RECENT),
            "of older": _share(old, new.stems),
            "of newer": _share(new, old.stems),
            "another number of the same": float(_other_number(old, new)),
            "new words are wished": len(gained & words) / (len(gained) or 1),
            "old words are named": len(lost & words) / (len(lost) or 1),
            **{f"new {kind}": _ONE_OF_MANY for kind in new.kinds},
        }
        if not new.said.by_user:
            found |= {f"lead {kind}": _ONE_OF_MANY for kind in answer[0].kinds}
            found |= self._prompting("then", user, old)
        return found


def _read(index: int, said: Said, languages: Languages) -> _Read:
    sentence = _sentence_of(said.text, languages)
    numbers = [
        (word.key, other.key[:4])
        for place, word in enumerate(sentence.words)
        if word.sort is Sort.NUMBER
        for other in sentence.words[max(0, place - 1) : place + 2]
        if other.sort is not Sort.NUMBER
    ]
    stems = frozenset(
        sentence.words[place].key[:5]
        for place in sentence.telling
        if sentence.words[place].sort is not Sort.NUMBER
    )
    is_question = sentence.is_question
    return _Read(index, said, sentence, stems, kinds_of(said.text), frozenset(numbers), is_question)


def _share(one: _Read, words: frozenset[str]) -> float:
    """Return the part of a statement's telling words that are among others."""
    return len(one.stems & words) / len(one.stems) if one.stems else 0.0


def _other_number(old: _Read, new: _Read) -> bool:
    """Tell whether both have a number beside the same word, and none of these is the same."""
    before, after = ({word: number for number, word in each.numbers} for each in (old, new))
    words = before.keys() & after.keys()
    return bool(words) and not {n for n, _ in old.numbers} & {n for n, _ in new.numbers}


@cache
def _net() -> Net:
    return nets(Path(__file__).with_name("talk_weights.npz"))["talks"]
