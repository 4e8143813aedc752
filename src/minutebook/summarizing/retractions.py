"""Which statements of a session a later one took back: what was said last about a thing holds.

A later statement takes back an earlier one about the same thing if it corrects it (a word such as
"correction", "war falsch" or "me equivoqué", another number, a negation) or, without such a word, if it
says nearly the same with another number. An agent's statement takes back its own, a user's anyone's.
"""

import re
from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import takewhile

from minutebook.search.text import GAP, is_stop_term, terms
from minutebook.summarizing.common_words import FILLER_TERMS, FILLERS, FUNCTION_WORDS

RECENT = 3
"""Turns back, at most, to what a correction that names its subject only in passing concerns."""

BARELY, NEAR, SAME = 0.24, 0.34, 0.6
"""Shares of common words: what a correction just after, any correction, any statement needs to be about
the same thing; and what says the same again."""

_WRONG = (
    r"(?:(?:was|were) wrong|wrong about|mistaken|misread|misjudged|scratch that|retract|disregard|i take (?:that|it) back|"
    r"no longer true|not true|war falsch|waren falsch|stimmt (?:so |doch )?nicht|stimmt das nicht|mich geirrt|mich vertan|"
    r"mich verlesen|nehme (?:das|es) zurück|me equivoqué|me he equivocado|estaba (?:mal|equivocad[oa])|no (?:era|es) cierto)"
)
_IS_WRONG = re.compile(rf"\b{_WRONG}\b", re.IGNORECASE)
_CORRECTS = re.compile(
    rf"\b(?:{_WRONG}|correction|corrected|overlooked|i had (?:included|forgotten|missed)|you(?:'re| are) right|sorry|"
    r"korrektur|korrigier\w*|berichtig\w*|du hast recht|corrección|corrijo|corregido|rectifico|tienes razón|"
    r"es cierto|cierto(?=,))(?![^\W_])",
    re.IGNORECASE,
)
_TURNS = re.compile(
    r"\b(?:actually|in fact|in reality|after all|turns out|turned out|rather|instead|changed|now|measured again|again|"
    r"no longer|at last|change of plan|tatsächlich|in wirklichkeit|eigentlich|vielmehr|stattdessen|lieber|doch (?:nicht|erst|schon|nur)|"
    r"jetzt|nun|neu gemessen|nicht mehr|erst|planänderung|en realidad|de hecho|resulta que|resultó|al final|finalmente|ahora|de nuevo|cambio de planes|"
    r"mejor|ya no|entonces no)\b",
    re.IGNORECASE,
)
_DENIES = re.compile(
    r"\b(?:not|\w+n't|never|no longer|nicht|kein\w*|nie|niemals|no|nunca|tampoco|ya no|ningún\w*)\b",
    re.IGNORECASE,
)
_NAMES_OF_NUMBERS = """
    two three four five six seven eight nine ten eleven twelve
    zwei drei vier fünf sechs sieben acht neun zehn elf zwölf
    dos tres cuatro cinco seis siete ocho nueve diez once doce
"""
_NUMBER_WORDS = frozenset(_NAMES_OF_NUMBERS.split())
_TOKENS = re.compile(r"\d+(?:[.,:]\d+)*|%|€|\$|[^\W\d_][\w.-]*[^\W_]|[^\W\d_]")
_NEGATED_NUMBER = re.compile(
    r"\b(?:not|nicht|kein\w*|no|rather than|instead of|statt|anstatt|en vez de|en lugar de)\s+([\w.,:]*\w)",
    re.IGNORECASE,
)
_CLAUSES = re.compile(
    r"(?<=;)\s+|(?<=\w)\s+[–—]\s+|(?<=,)\s+(?=(?:and|und|y) \w+ \w+ \w+ \w+)", re.IGNORECASE
)
_DIMENSIONS = {
    "time": "ms s sec min h second seconds minute minutes hour hours day days week weeks month months sekunde sekunden minute "
    "minuten stunde stunden tag tage tagen woche wochen monat monate monaten segundo segundos minuto minutos hora horas "
    "día días semana semanas mes meses",
    "size": "kb mb gb tb kib mib gib bytes",
    "money": "€ $ euro euros dollar dollars eur usd céntimos cent cents",
    "share": "% percent prozent porcentaje por ciento",
    "times": "times times. mal veces",
    "clock": "uhr o'clock at um las",
    "value": "is are was were be ist sind war waren es son era eran beträgt von",
}
_DIMENSION_OF = {word: name for name, words in _DIMENSIONS.items() for word in words.split()}
_MEASURES = frozenset(_DIMENSIONS)
_NO_NAMES = FUNCTION_WORDS | FILLERS
_MEASURE_TERMS = frozenset(term for word in _DIMENSION_OF for term in (word, *terms(word)))
_CONCEDES = re.compile(
    r"\W*(?:right, (?:i|that) (?:was|were|had)|you(?:'re| are) right|my mistake|i was (?:wrong|looking|mistaken)|i had not|sorry|"
    r"good catch|du hast recht|sie haben recht|stimmt[,.:]|(?:dann |da )?lag ich (?:daneben|falsch)|das war falsch|mein fehler|"
    r"ich (?:habe mich|hatte mich|lag)|entschuldig|es verdad|es cierto|cierto,|tienes razón|me equivoqué|perdón|tiene razón)",
    re.IGNORECASE,
)
_REJECTS = re.compile(
    r"^\W*(?:not|no|nein|kein\w*|nicht|nada de)\b|\b(?:don't|do not|doesn't|never) (?:want|use|need|like|allow)|"
    r"\b(?:agreed on|far too|too (?:many|few|long|short|slow|big|much))\b|\b(?:möchten|wollen|brauchen|dürfen|nehmen) wir nicht|"
    r"\bwir (?:möchten|wollen|brauchen|dürfen|nehmen|haben) kein|\b(?:viel zu|zu (?:viel|lang|kurz|groß))\b|"
    r"\bno (?:queremos|quiero|usamos|usemos|necesitamos|podemos|uses)\b|\bdemasiad[oa]s?\b",
    re.IGNORECASE,
)


@dataclass(frozen=True)
class Statement:
    """A sentence, its turn, whether the user said it, and whether one that corrects stands before it."""

    text: str
    turn: int
    by_user: bool
    follows_correction: bool = False

    @cached_property
    def subject(self) -> frozenset[str]:
        """What it is about: its telling words, without numbers."""
        return frozenset(
            term
            for term in takewhile(GAP.__ne__, terms(self.text))
            if not is_stop_term(term)
            and term not in FILLER_TERMS
            and term not in _NUMBER_WORDS
            and term not in _MEASURE_TERMS
            and not term[0].isdigit()
        )

    @cached_property
    def numbers(self) -> frozenset[tuple[str, str]]:
        """Each number in it, beside the word after it and before it; of a measure, what it measures."""
        tokens = [token.lower() for token in _TOKENS.findall(self.text)]
        padded = ["", *tokens, ""]
        return frozenset(
            (token, _DIMENSION_OF.get(neighbour, neighbour))
            for index, token in enumerate(tokens, start=1)
            if _is_number(token)
            for neighbour in (padded[index + 1], padded[index - 1])
            if neighbour
            and not _is_number(neighbour)
            and (neighbour in _DIMENSION_OF or neighbour not in _NO_NAMES)
        )

    @cached_property
    def corrects(self) -> bool:
        """Whether it says that something said before is not so."""
        return self.follows_correction or _CORRECTS.search(self.text) is not None

    @cached_property
    def is_wrong(self) -> bool:
        """Whether it says that its own subject was told wrongly."""
        return _IS_WRONG.search(self.text) is not None

    @cached_property
    def turns(self) -> bool:
        """Whether it says that something is otherwise than it was, or seemed."""
        return self.corrects or _TURNS.search(self.text) is not None

    @cached_property
    def concedes(self) -> bool:
        """Whether it begins by owning a fault."""
        return not self.by_user and _CONCEDES.match(self.text) is not None

    @cached_property
    def rejects(self) -> bool:
        """Whether the user turns down what was proposed or done."""
        is_question = self.text.rstrip().endswith("?")
        return self.by_user and not is_question and _REJECTS.search(self.text) is not None

    @cached_property
    def denies(self) -> bool:
        """Whether it holds a negation."""
        return _DENIES.search(self.text) is not None

    @cached_property
    def denied_numbers(self) -> frozenset[str]:
        """Numbers of which it says that they are not so."""
        found = (match[1].lower() for match in _NEGATED_NUMBER.finditer(self.text))
        return frozenset(filter(_is_number, found))


def clauses(sentence: str) -> list[str]:
    """Cut a sentence where one of its statements could be taken back without the others."""
    return [part.strip() for part in _CLAUSES.split(sentence) if part.strip()]


def is_correction(text: str) -> bool:
    """Tell whether a sentence says outright that something said before is not so."""
    return _CORRECTS.search(text) is not None


def retracted(earlier: Sequence[Statement], later: Iterable[Statement]) -> frozenset[int]:
    """Return the indices of the earlier statements that one of the later ones retracts."""
    gone: dict[int, Statement] = {}
    later = list(later)
    _concede(earlier, later, gone)
    left = [(index, each) for index, each in enumerate(earlier) if index not in gone]
    for statement in later:
        if not (statement.turns or statement.numbers or statement.denies or statement.rejects):
            continue
        kept = []
        for index, each in left:
            if each.turn < statement.turn and takes_back(statement, each):
                gone[index] = statement
            else:
                kept.append((index, each))
        left = kept
    # A repetition of what was taken back, made before that, adds nothing.
    for index, each in enumerate(earlier):
        if index not in gone and any(
            each.turn < gone[other].turn and _repeats(each, earlier[other]) for other in gone
        ):
            gone[index] = each
    return frozenset(gone)


def _concede(
    earlier: Sequence[Statement], later: Sequence[Statement], gone: dict[int, Statement]
) -> None:
    """Enter what the agent gives up when it owns a fault: of its answer before, what the talk is of.

    That is what shares a word with the user's objection or with the new answer, or holds a number,
    unless a later statement says it again.
    """
    conceding = {each.turn: each for each in later if each.concedes}
    words: defaultdict[int, set[str]] = defaultdict(set)
    for each in later:
        if each.turn in conceding:
            words[each.turn] |= each.subject
    for index, each in enumerate(earlier):
        turn = each.turn + 1
        if each.by_user or turn not in conceding:
            continue
        is_meant = bool(each.subject & words[turn]) or bool(each.numbers)
        if is_meant and not any(_says_again(other, each) for other in later):
            gone[index] = conceding[turn]


def _says_again(later: Statement, earlier: Statement) -> bool:
    if later.turn <= earlier.turn or later.by_user or later.denies != earlier.denies:
        return False
    common = later.subject & earlier.subject
    is_same = len(common) >= SAME * len(earlier.subject) and bool(common)
    return is_same and not _other_number(later, earlier)


def takes_back(later: Statement, earlier: Statement) -> bool:
    """Tell whether the later statement takes the earlier one back."""
    if later.turn <= earlier.turn or (earlier.by_user and not later.by_user):
        return False
    common = later.subject & earlier.subject
    measured = {neighbour for _, neighbour in later.numbers} & {
        neighbour for _, neighbour in earlier.numbers
    }
    if (common or measured) and later.denied_numbers & {number for number, _ in earlier.numbers}:
        return True
    if not common:
        return later.corrects and _other_number(later, earlier, named=True)
    share = len(common) / min(len(later.subject), len(earlier.subject))
    of_earlier = len(common) / len(earlier.subject)
    is_other = _other_number(later, earlier)
    is_recent = later.turn - earlier.turn <= RECENT
    if later.rejects and not earlier.by_user and later.turn - earlier.turn == 1 and share > BARELY:
        return True
    if later.corrects:
        differs = is_other or later.is_wrong or later.denies != earlier.denies
        return differs and (share >= NEAR or (is_recent and share > BARELY))
    if later.turns and later.denies and not earlier.denies:
        return share > BARELY and is_recent
    if later.turns and is_other:
        return of_earlier >= NEAR
    return is_other and of_earlier >= SAME and len(common) > 1


def _other_number(later: Statement, earlier: Statement, *, named: bool = False) -> bool:
    """Tell whether both have a number beside the same word, and none of these is the same.

    With `named`, a measure (ms, days) is no such word: much is measured in it.
    """
    before = {neighbour: number for number, neighbour in earlier.numbers}
    after = {neighbour: number for number, neighbour in later.numbers}
    words = before.keys() & after.keys() - (_MEASURES if named else frozenset())
    same = {number for number, _ in earlier.numbers} & {number for number, _ in later.numbers}
    return bool(words) and not same and any(before[word] != after[word] for word in words)


def _repeats(one: Statement, other: Statement) -> bool:
    return bool(one.numbers & other.numbers) and bool(one.subject & other.subject)


def _is_number(token: str) -> bool:
    return token[:1].isdigit() or token in _NUMBER_WORDS
