"""Find the statements of a talk that a later one took back.

The signs are the speaker, the reaction of the next turn, the words by which people agree, object and correct themselves
(`talk_words.toml`), and the differences from the nearest later statements. A small network weighs them; its weights are
in `talk_weights.npz`, fitted by `python -m benchmarks.fit_talks`. No model is needed.
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
"""The most later statements that a statement is compared with, word by word: those most alike."""

AHEAD = 10
"""The turns after a statement that are searched for its words."""

RECENT = 3
"""The most turns between two statements that are near."""

_ONE_OF_MANY = 0.3
"""The value of a sign that is one of many of a sort: less than 1, so that fitting holds its weight back more."""

CACHED_TEXTS = 4_096
"""The size of caches of texts: a hook reads the latest turns of a project before each prompt."""

WORDS = word_lists("talk_words.toml", __package__)
"""The words that are signs, by kind and language, as regular expressions."""

_KINDS = {kind: any_word(by_language.values()) for kind, by_language in WORDS.items()}

_sentence_of = lru_cache(CACHED_TEXTS)(sentence_of)


@dataclass(frozen=True, slots=True)
class Statement:
    """A statement of a talk, its turn, whether it is the user's, and whether it asks for something to be done."""

    text: str
    turn: int
    by_user: bool
    is_request: bool = False


@dataclass(frozen=True, slots=True)
class TakenBack:
    """The chance in [0, 1] that a later statement took a statement back, and the index of the likeliest, if one is alike."""

    chance: float
    by: int | None


@dataclass(frozen=True, slots=True)
class _Compared:
    """A statement, with its parts that are compared."""

    index: int
    turn: int
    by_user: bool
    is_request: bool
    sentence: Sentence
    stems: frozenset[str]
    kinds: frozenset[str]
    numbers: frozenset[tuple[str, str]]
    is_question: bool

    @property
    def is_assertion(self) -> bool:
        """Whether it is neither a question nor a request."""
        return not (self.is_question or self.is_request)


@lru_cache(CACHED_TEXTS)
def kinds_of(text: str) -> frozenset[str]:
    """Return the kinds of sign words in a text."""
    return frozenset(kind for kind, pattern in _KINDS.items() if pattern.search(text))


def taken_back(talk: Sequence[Statement], asked: Iterable[int]) -> dict[int, TakenBack]:
    """Return for the `asked` statements of a talk, by index, how likely a later one took them back.

    The statements are in the order of the talk. The chance of those in the last turn is 0.
    """
    signs_by_statement = list(signs(talk, asked))
    rows = [row for _, instances in signs_by_statement for _, row in instances]
    chances = _net().chances(rows).tolist() if rows else []
    found: dict[int, TakenBack] = {}
    start = 0
    for index, instances in signs_by_statement:
        own = chances[start : start + len(instances)]
        start += len(instances)
        best = max(range(len(own)), key=own.__getitem__, default=None)
        found[index] = (
            TakenBack(0.0, None) if best is None else TakenBack(own[best], instances[best][0])
        )
    return found


def signs(
    talk: Sequence[Statement], asked: Iterable[int]
) -> Iterator[tuple[int, list[tuple[int | None, dict[str, float]]]]]:
    """Yield for the `asked` statements the signs with each later one that is alike, and without one; none in the last turn."""
    compared = _Talk(talk)
    for index in asked:
        yield index, compared.instances(compared.statements[index])


class _Talk:
    """The statements of a talk, by turn, and the number of statements with each stem."""

    def __init__(self, talk: Sequence[Statement]) -> None:
        languages = languages_of(" ".join(each.text for each in talk)[:20_000])
        self.statements = [_compared(index, each, languages) for index, each in enumerate(talk)]
        self._turns: defaultdict[int, list[_Compared]] = defaultdict(list)
        for each in self.statements:
            self._turns[each.turn].append(each)
        self._counts = Counter(stem for each in self.statements for stem in each.stems)
        self._most = log(1 + max(self._counts.values(), default=1))
        self._sharing: defaultdict[str, list[_Compared]] = defaultdict(list)
        for each in self.statements:
            for stem in each.stems:
                self._sharing[stem].append(each)
        self._last = max(self._turns, default=0)

    def instances(self, old: _Compared) -> list[tuple[int | None, dict[str, float]]]:
        """Return the signs of a statement with each later one that it is compared with, and without one."""
        if old.turn == self._last:
            return []
        common = {**self._form(old), **self._reaction(old), **self._later_mentions(old)}
        found: list[tuple[int | None, dict[str, float]]] = [(None, {**common, "none": 1.0})]
        found += [(new.index, {**common, **self._pair(old, new)}) for new in self._nearest(old)]
        return found

    def _form(self, old: _Compared) -> dict[str, float]:
        beside = [each for each in self._turns[old.turn] if each.by_user is old.by_user]
        return {
            "always": 1.0,
            "by the user": float(old.by_user),
            "in the first turn": float(old.turn == 0),
            "a question": float(old.is_question),
            "a request": float(old.is_request),
            "all of its text": float(len(beside) == 1),
            "first of its text": float(beside[0] is old),
            "a number": float(bool(old.numbers)),
            **{f"old {kind}": _ONE_OF_MANY for kind in old.kinds},
        }

    def _reaction(self, old: _Compared) -> dict[str, float]:
        """Return the signs of the next turn: the user's words, and the beginning of the agent's."""
        following = self._turns.get(old.turn + 1, [])
        user = [each for each in following if each.by_user]
        answer = [each for each in following if not each.by_user]
        found = {"nothing said next": float(not user)}
        found |= self._prompt("next", user, old)
        if answer:
            found |= {f"answer {kind}": _ONE_OF_MANY for kind in answer[0].kinds}
            found["in the next answer"] = _share(old, _stems(answer))
        return found

    def _prompt(self, name: str, user: Sequence[_Compared], old: _Compared) -> dict[str, float]:
        """Return the signs of the user's words in a turn, and the part of a statement's words that they have."""
        if not user:
            return {}
        stated = [each for each in user if each.is_assertion]
        kinds = frozenset[str]().union(*(each.kinds for each in user))
        return {
            f"{name} only asks": float(all(each.is_question for each in user)),
            f"{name} asks": float(any(each.is_question for each in user)),
            f"{name} states": float(bool(stated)),
            f"{name} requests": float(any(each.is_request for each in user)),
            f"{name} has words": _share(old, _stems(user)),
            f"{name} states words": _share(old, _stems(stated)),
            **{f"{name} {kind}": _ONE_OF_MANY for kind in kinds},
        }

    def _later_mentions(self, old: _Compared) -> dict[str, float]:
        """Return the signs of later turns that have its words."""
        last = min(self._last, old.turn + AHEAD)
        later = [each for turn in range(old.turn + 1, last + 1) for each in self._turns[turn]]
        news = [each for each in later if each.by_user and each.is_assertion]
        after = {each.turn for each in news}
        answers = [each for each in later if not each.by_user and each.turn in after]
        named = _stems((*news, *answers))
        rare = (1 - log(self._counts[stem]) / self._most for stem in old.stems & named)
        again = [
            each
            for each in later
            if not each.by_user
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
            "said again at the end": float(any(each.turn == self._last for each in again)),
        }

    def _nearest(self, old: _Compared) -> list[_Compared]:
        """Return the later statements with the most stems of a statement; rare stems count more."""
        weights: defaultdict[int, float] = defaultdict(float)
        for stem in old.stems:
            weight = self._weight(stem)
            for each in self._sharing[stem]:
                if each.turn > old.turn:
                    weights[each.index] += weight
        own = sum(map(self._weight, old.stems)) or 1.0
        ranked = []
        for index, weight in weights.items():
            new = self.statements[index]
            if not new.sentence.telling or new.is_question:
                continue
            all_new = sum(map(self._weight, new.stems)) or 1.0
            near = weight / sqrt(own * all_new) + 0.3 * _other_number(old, new)
            ranked.append((-near, index))
        return [self.statements[index] for _, index in sorted(ranked)[:NEAREST]]

    def _weight(self, stem: str) -> float:
        return log(1 + len(self.statements) / self._counts[stem])

    def _pair(self, old: _Compared, new: _Compared) -> dict[str, float]:
        turn = self._turns[new.turn]
        user = [each for each in turn if each.by_user]
        answer = [each for each in turn if not each.by_user]
        words = _stems(user)
        gained = new.stems - old.stems
        lost = old.stems - new.stems
        distance = new.turn - old.turn
        aligned = comparing.signs(comparing.align(old.sentence, new.sentence, None, None))
        found = {name: _ONE_OF_MANY * sign for name, sign in aligned.items()} | {
            "by the user, later": float(new.by_user),
            "of one speaker": float(new.by_user is old.by_user),
            "next turn": float(distance == 1),
            "recent": float(distance <= RECENT),
            "of older": _share(old, new.stems),
            "of newer": _share(new, old.stems),
            "another number of the same": float(_other_number(old, new)),
            "new words are wished": len(gained & words) / (len(gained) or 1),
            "old words are named": len(lost & words) / (len(lost) or 1),
            **{f"new {kind}": _ONE_OF_MANY for kind in new.kinds},
        }
        if not new.by_user:
            found |= {f"lead {kind}": _ONE_OF_MANY for kind in answer[0].kinds}
            found |= self._prompt("then", user, old)
        return found


def _compared(index: int, statement: Statement, languages: Languages) -> _Compared:
    sentence = _sentence_of(statement.text, languages)
    numbers = [
        (word.key, other.key[:4])
        for place, word in enumerate(sentence.words)
        if word.sort is Sort.NUMBER
        for other in sentence.words[max(0, place - 1) : place + 2]
        if other.sort is not Sort.NUMBER
    ]
    stems = frozenset(
        word.key[:5] for word in sentence.content_words if word.sort is not Sort.NUMBER
    )
    kinds, is_question = kinds_of(statement.text), sentence.is_question
    origin = (statement.turn, statement.by_user, statement.is_request)
    return _Compared(index, *origin, sentence, stems, kinds, frozenset(numbers), is_question)


def _stems(statements: Iterable[_Compared]) -> frozenset[str]:
    return frozenset(stem for each in statements for stem in each.stems)


def _share(one: _Compared, words: frozenset[str]) -> float:
    """Return the share of a statement's content words, without numbers, that are among others."""
    return len(one.stems & words) / len(one.stems) if one.stems else 0.0


def _other_number(old: _Compared, new: _Compared) -> bool:
    """Tell whether both have a number beside the same word, and no number in common."""
    before, after = ({word: number for number, word in each.numbers} for each in (old, new))
    words = before.keys() & after.keys()
    return bool(words) and not {n for n, _ in old.numbers} & {n for n, _ in new.numbers}


@cache
def _net() -> Net:
    return nets(Path(__file__).with_name("talk_weights.npz"))["talks"]
