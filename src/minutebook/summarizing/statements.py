"""What a sentence states, as far as a later one could take it back: subject, numbers, state, signs of a correction."""

import re
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import takewhile

from minutebook.search.text import GAP, is_stop_term, word_terms
from minutebook.summarizing import session_words
from minutebook.summarizing.common_words import FILLER_TERMS, FILLERS, FUNCTION_WORDS
from minutebook.summarizing.session_facts import is_request

_WRONG = (
    r"(?:(?:was|were) wrong|wrong about|mistaken|misread|misjudged|scratch that|retract|disregard|i take (?:that|it) back|"
    r"no longer true|not true|war falsch|waren falsch|stimmt (?:so |doch )?nicht|stimmt das nicht|mich geirrt|mich vertan|"
    r"mich verlesen|nehme (?:das|es) zurück|me equivoqué|me he equivocado|estaba (?:mal|equivocad[oa])|no (?:era|es) cierto|"
    r"je me suis trompée?|à tort|c'était faux|(?:est|était) erronée?|je retire|oublie (?:ça|cela)|n'est plus vrai|pas exact|erreur de ma part|"
    r"quatsch|vergiss (?:das|es)|nevermind|never mind|forget (?:that|it)|olvida (?:eso|lo))"
)
_IS_WRONG = re.compile(rf"\b{_WRONG}\b", re.IGNORECASE)
_CORRECTS = re.compile(
    rf"\b(?:{_WRONG}|correction|corrected|overlooked|i had (?:included|forgotten|missed)|you(?:'re| are) right|sorry|"
    r"korrektur|korrigier\w*|berichtig\w*|du hast recht|corrección|corrijo|corregido|rectifico|tienes razón|"
    r"es cierto|cierto(?=,)|correction|rectification|rectifié|tu as raison|vous avez raison|en effet)(?![^\W_])",
    re.IGNORECASE,
)
_TURNS = re.compile(
    r"\b(?:actually|in fact|in reality|after all|turns out|turned out|rather|instead|changed|now|measured again|again|"
    r"no longer|at last|change of plan|tatsächlich|in wirklichkeit|eigentlich|eher|vielmehr|stattdessen|lieber|doch (?:nicht|erst|schon|nur)|"
    r"jetzt|nun|neu gemessen|nicht mehr|erst|planänderung|en realidad|de hecho|resulta que|resultó|al final|finalmente|ahora|de nuevo|cambio de planes|"
    r"mejor|ya no|entonces no|en fait|en réalité|finalement|désormais|maintenant|plutôt|à la place|de nouveau|ne plus|n'\w+ plus|changement de plan|"
    r"moved to|postponed|brought forward|verschoben|vorgezogen|verlegt|aplazad[oa]s?|adelantad[oa]s?|pospuest[oa]s?|décalée?s?|reportée?s?|avancée?s?|"
    r"wait|moment|on closer look|bei näherem hinsehen|seit|since|desde|depuis)\b",
    re.IGNORECASE,
)
_DENIES = re.compile(
    r"\b(?:not|\w+n't|never|no longer|nobody|nothing|nicht|kein\w*|nie|niemals|niemand|nichts|no|nadie|nada|nunca|tampoco|ya no|ningún\w*|ne \w+ (?:pas|plus|jamais)|n'\w+ (?:pas|plus|jamais)|pas|aucune?|jamais|rien|personne|nirgends|nowhere)\b",
    re.IGNORECASE,
)
_NAMES_OF_NUMBERS = """
    one two three four five six seven eight nine ten eleven twelve
    zwei drei vier fünf sechs sieben acht neun zehn elf zwölf
    dos tres cuatro cinco seis siete ocho nueve diez once doce
    deux trois quatre cinq sept huit neuf dix onze douze
"""
_NUMBER_WORDS = frozenset(_NAMES_OF_NUMBERS.split())
_TOKENS = re.compile(r"\d+(?:[.,:]\d+)*|%|€|\$|[^\W\d_][\w.-]*[^\W_]|[^\W\d_]")
_NEGATED_NUMBER = re.compile(
    r"\b(?:not|nicht|kein\w*|no|rather than|instead of|statt|anstatt|en vez de|en lugar de|pas|au lieu de)\s+([\w.,:]*\w)",
    re.IGNORECASE,
)
_BREAKS = re.compile(
    r"(?<=;)\s+|(?<=\w)\s+[–—]\s+|(?<=,)\s+|\s+(?=(?:and|und|y|et|because|weil|porque|parce que) )",
    re.IGNORECASE,
)
_DEPENDS = re.compile(
    r"(?:which|who|whose|that|if|when|so that|than|like|dass|damit|sodass|wenn|obwohl|wie|als|que|cuando|si|para que|qui|lorsque|quand|pour que)\b",
    re.IGNORECASE,
)
_GIVES_REASON = re.compile(
    r"(?:because|since|as|weil|da|denn|porque|como|parce que|car|puisque)\b", re.IGNORECASE
)
_TAG = re.compile(
    r",\s*(?:\w+n't \w+|right|or not|oder(?: nicht)?|nicht wahr|gell|ne|stimmt's|¿?(?:no|verdad|cierto)|or|is it|are they)\s*\?\W*$",
    re.IGNORECASE,
)
_JOINS = re.compile(r"(?:and|und|y|et|but|aber|pero|mais|so|also|así que|donc)\s", re.IGNORECASE)
LEAST_WORDS = 2
"""Words that a clause has at least."""

_DIMENSIONS = {
    "time": "ms s sec min h second seconds minute minutes hour hours day days week weeks month months sekunde sekunden minute "
    "minuten stunde stunden tag tage tagen woche wochen monat monate monaten segundo segundos minuto minutos hora horas "
    "día días semana semanas mes meses seconde secondes heure heures h jour jours semaine semaines mois",
    "size": "kb mb gb tb kib mib gib bytes ko mo octets",
    "money": "€ $ euro euros dollar dollars eur usd céntimos cent cents",
    "share": "% percent prozent porcentaje por ciento cent",
    "times": "times times. mal veces fois",
    "clock": "uhr o'clock at um las",
    "value": "is are was were be ist sind war waren es son era eran beträgt von est sont était étaient",
}
_DIMENSION_OF = {word: name for name, words in _DIMENSIONS.items() for word in words.split()}
MEASURES = frozenset(_DIMENSIONS)
_NO_NAMES = FUNCTION_WORDS | FILLERS
_MEASURE_TERMS = frozenset(term for word in _DIMENSION_OF for term in (word, *word_terms(word)))
_CONCEDES = re.compile(
    r"\W*(?:right, (?:i|that) (?:was|were|had)|you(?:'re| are) right|my mistake|i was (?:wrong|looking|mistaken)|i (?:had )?(?:not|missed|overlooked|forgotten|forgot)|sorry|"
    r"good catch|du hast recht|sie haben recht|stimmt[,.:]|(?:dann |da )?lag ich (?:daneben|falsch)|das war falsch|mein fehler|"
    r"ich (?:habe mich|hatte mich|lag)|das (?:habe|hatte) ich (?:übersehen|vergessen)|entschuldig|es verdad|es cierto|cierto,|tienes razón|me equivoqué|se me pasó|no lo había visto|perdón|tiene razón|tu as raison|vous avez raison|en effet|effectivement|au temps pour moi|je me suis trompée?|oui, à tort|"
    r"wait,|moment,|oh,|oops|ups|hoppla|tatsächlich,|indeed,|no, i only|fair point|good point)",
    re.IGNORECASE,
)
_REJECTS = re.compile(
    r"^\W*(?:not|no|nein|kein\w*|nicht|nada de)\b|\b(?:don't|do not|doesn't|never) (?:want|use|need|like|allow)|"
    r"\b(?:agreed on|far too|too (?:many|few|long|short|slow|big|much))\b|\b(?:möchten|wollen|brauchen|dürfen|nehmen) wir nicht|"
    r"\bwir (?:möchten|wollen|brauchen|dürfen|nehmen|haben) kein|\b(?:viel zu|zu (?:viel|lang|kurz|groß))\b|"
    r"\bno (?:queremos|quiero|usamos|usemos|necesitamos|podemos|uses)\b|\bdemasiad[oa]s?\b|^\W*(?:non|pas)\b|\bc'est trop\b|\b(?:bien )?trop (?:lourd|long|court|lent|cher|grand|petit)|\bon n'en veut pas|\bnous ne (?:voulons|pouvons)",
    re.IGNORECASE,
)


_SETTLED = re.compile(session_words.SETTLED, re.IGNORECASE)
_DONE = re.compile(session_words.DONE, re.IGNORECASE)
_UNSETTLED = re.compile(session_words.UNSETTLED, re.IGNORECASE)
_SINGLE = re.compile(session_words.SINGLE, re.IGNORECASE)
_CONSEQUENCE = re.compile(rf"\W*{session_words.CONSEQUENCE}", re.IGNORECASE)
_PREFERS = re.compile(session_words.PREFERS, re.IGNORECASE)
_DISCARDS = re.compile(session_words.DISCARDS, re.IGNORECASE)
_PROPOSES = re.compile(session_words.PROPOSED, re.IGNORECASE)
_FAILS = re.compile(session_words.FAILED, re.IGNORECASE)
_PASSES = re.compile(session_words.PASSED, re.IGNORECASE)
_CONFIRMS = re.compile(session_words.CONFIRMED, re.IGNORECASE)
_CHALLENGES = re.compile(session_words.CHALLENGED, re.IGNORECASE)
_KEEPS = re.compile(session_words.KEPT, re.IGNORECASE)
_OF_ALL = re.compile(session_words.OF_ALL, re.IGNORECASE)
_OF_TESTS = re.compile(session_words.OF_TESTS, re.IGNORECASE)
_CAUSE = re.compile(session_words.CAUSE, re.IGNORECASE)
_ELSEWHERE = re.compile(session_words.ELSEWHERE, re.IGNORECASE)
_THEN_IT = re.compile(rf"\W*{session_words.THEN_IT}", re.IGNORECASE)
_REMOVED = re.compile(session_words.REMOVED, re.IGNORECASE)
_LABELS = re.compile(r"(?<=\w )[A-HJ-Z](?![\w.'’])")
_ROUGHLY = re.compile(session_words.ROUGHLY, re.IGNORECASE)
_WITHDRAWS = re.compile(rf"\W*{session_words.WITHDRAWN}", re.IGNORECASE)
_ADDS = re.compile(session_words.ADDED, re.IGNORECASE)
_PATHS = re.compile(r"((?<![\w/])/?[\w-]{0,80}(?:[/.][\w-]{1,80}){0,30}[/.][A-Za-z_][\w-]*)")
_GUESSES = re.compile(session_words.GUESS, re.IGNORECASE)
_OF_TIMES_AND_ARTICLES = """
    the a an now then so already again der die das den dem des ein eine einen einem einer jetzt nun dann also wieder
    schon el la los las un una ahora entonces pues ya sí le la les des du l d désormais maintenant alors donc déjà dr mr mrs ms m mme mlle sr sra herr frau señor
    señora
"""
_PASSED_OVER = frozenset(
    term for word in _OF_TIMES_AND_ARTICLES.split() for term in word_terms(word)
)
_DAYS_AND_MONTHS = """
    monday tuesday wednesday thursday friday saturday sunday january february march april may june july august
    september october november december montag dienstag mittwoch donnerstag freitag samstag sonntag januar februar
    märz mai juni juli oktober dezember lunes martes miércoles jueves viernes sábado domingo enero febrero marzo abril
    mayo junio julio agosto septiembre octubre noviembre diciembre today tomorrow heute morgen hoy mañana
    lundi mardi mercredi jeudi vendredi samedi dimanche janvier février avril mai juin juillet août
    septembre octobre novembre décembre demain
"""
_DATES = frozenset(term for word in _DAYS_AND_MONTHS.split() for term in word_terms(word))


@dataclass(frozen=True, slots=True)
class Prompting:
    """What the user said in a turn, before the agent's answer: its terms, and whether it only asks.

    `objects` holds the terms of what it states without asking for anything; `prefers` tells whether the
    user wants something otherwise than before, `adds` whether beside what there is.
    """

    terms: frozenset[str] = frozenset()
    only_asks: bool = True
    objects: frozenset[str] = frozenset()
    prefers: bool = False
    adds: bool = False


UNPROMPTED = Prompting()


@dataclass(frozen=True)
class Statement:
    """A sentence, its turn, whether the user said it, and whether one that corrects stands before it.

    `prompting` is what the user said in the same turn, `lead` what the answer that it is of begins with.
    """

    text: str
    turn: int
    by_user: bool
    follows_correction: bool = False
    prompting: Prompting = UNPROMPTED
    lead: str = ""
    sentence: str = ""

    @cached_property
    def whole(self) -> "Statement":
        """The sentence that it is a clause of."""
        if self.sentence in ("", self.text):
            return self
        return replace(self, text=self.sentence)

    @cached_property
    def terms(self) -> tuple[str, ...]:
        """Its terms in order, each path one, without articles and what only says when."""
        return tuple(
            term
            for place, piece in enumerate(_PATHS.split(self.text))
            for term in ([piece.lower()] if place % 2 else takewhile(GAP.__ne__, word_terms(piece)))
            if term not in _PASSED_OVER
        )

    @cached_property
    def content(self) -> frozenset[str]:
        """Its telling words, each path one, without figures."""
        return frozenset(filter(_is_subject, self.terms)) - _DATES

    def runs(self, known: set[str]) -> dict[tuple[int, str], frozenset[str]]:
        """Return the runs of telling terms that are not known, by the term before (1) and after (-1) each.

        A run is of figures or of words; figures with one word between them ("3 de junio") are one run.
        """
        found: dict[tuple[int, str], frozenset[str]] = {}
        remaining = self.terms
        start = 0
        while start < len(remaining):
            if not _is_new(remaining[start], known):
                start += 1
                continue
            end = start + 1
            while end < len(remaining):
                of_figures = is_figure(remaining[start])
                if _is_new(remaining[end], known) and is_figure(remaining[end]) is of_figures:
                    end += 1
                elif of_figures and any(map(is_figure, remaining[end + 1 : end + 2])):
                    end += 2
                else:
                    break
            run = frozenset(filter(is_telling, remaining[start:end]))
            if start:
                found.setdefault((1, remaining[start - 1]), run)
            if end < len(remaining):
                found.setdefault((-1, remaining[end]), run)
            start = end
        return found

    @cached_property
    def state(self) -> int:
        """1 if it says that something stands as it should, -1 if that it does not, else 0."""
        unsettled = _UNSETTLED.search(self.text)
        rest = _UNSETTLED.sub(" ", self.text) if unsettled else self.text
        settled = _SETTLED.search(rest) is not None
        if not settled and not self.denies:
            settled = _DONE.search(rest) is not None
        if unsettled:
            return 0 if settled and not self.denies else -1
        return (-1 if self.denies else 1) if settled else 0

    @cached_property
    def measures(self) -> frozenset[str]:
        """Its numbers."""
        return frozenset(filter(_is_number, self.terms))

    @cached_property
    def discards(self) -> bool:
        """Whether it gives up what it names."""
        return self.denies or _DISCARDS.search(self.text) is not None

    @cached_property
    def matter(self) -> frozenset[str]:
        """Its subject without the words of its state."""
        return self.subject - self.states - _DATES

    @cached_property
    def states(self) -> frozenset[str]:
        """The words of its state."""
        found = (
            match[0].split()
            for each in (_SETTLED, _DONE, _UNSETTLED)
            for match in each.finditer(self.text)
        )
        return frozenset(
            term for words in found for word in (words[0], words[-1]) for term in word_terms(word)
        )

    @cached_property
    def adds(self) -> bool:
        """Whether it says that something is so too."""
        return adds(self.text)

    @cached_property
    def is_of_single(self) -> bool:
        """Whether it names something of which there is one at a time, such as a cause or a deadline."""
        return _SINGLE.search(self.text) is not None

    @cached_property
    def concludes(self) -> bool:
        """Whether it begins as an answer that draws the consequence of an objection."""
        return not self.by_user and _CONSEQUENCE.match(self.lead or self.text) is not None

    @cached_property
    def guesses(self) -> bool:
        """Whether it says itself that it may be otherwise."""
        return _GUESSES.search(self.text) is not None

    @cached_property
    def is_hypothesis(self) -> bool:
        """Whether it says itself that it may be otherwise, or is only proposed."""
        return self.guesses or self.proposes

    @cached_property
    def proposes(self) -> bool:
        """Whether it only proposes, estimates or plans."""
        return _PROPOSES.search(self.text) is not None

    @cached_property
    def fails(self) -> bool:
        """Whether it tells of something that does not work."""
        return _FAILS.search(self.text) is not None

    @cached_property
    def passes(self) -> bool:
        """Whether it tells that something works."""
        return _PASSES.search(self.text) is not None and not self.fails

    @cached_property
    def confirms(self) -> bool:
        """Whether it, or the answer that it is of, confirms what was said."""
        return any(_CONFIRMS.search(text) for text in (self.lead, self.text))

    @cached_property
    def is_of_tests(self) -> bool:
        """Whether it speaks of tests."""
        return _OF_TESTS.search(self.text) is not None

    @cached_property
    def is_of_failing_tests(self) -> bool:
        """Whether it speaks of tests that fail."""
        return self.fails and self.is_of_tests

    @cached_property
    def is_cause(self) -> bool:
        """Whether it names a cause."""
        return _CAUSE.search(self.text) is not None

    @cached_property
    def points_elsewhere(self) -> bool:
        """Whether it says that it is another thing than was thought."""
        return _ELSEWHERE.search(self.text) is not None

    @cached_property
    def names_instead(self) -> bool:
        """Whether the answer that it is of begins by naming another thing."""
        return not self.by_user and _THEN_IT.match(self.lead or self.text) is not None

    @cached_property
    def removes(self) -> bool:
        """Whether it says that something is no longer there."""
        return _REMOVED.search(self.text) is not None

    @cached_property
    def rules_out(self) -> bool:
        """Whether it says that what it names is not the cause."""
        return _DISCARDS.search(self.text) is not None

    @cached_property
    def labels(self) -> frozenset[str]:
        """The single capital letters in it that name things, as in "plan B"."""
        return frozenset(_LABELS.findall(self.text))

    @cached_property
    def estimates(self) -> bool:
        """Whether it gives a figure as a rough one."""
        return self.proposes or _ROUGHLY.search(self.text) is not None

    @cached_property
    def withdraws(self) -> bool:
        """Whether it begins by withdrawing what was said or done."""
        return _WITHDRAWS.match(self.text) is not None

    @cached_property
    def keeps(self) -> bool:
        """Whether it says that something is as before."""
        return _KEEPS.search(self.text) is not None

    @cached_property
    def is_of_all(self) -> bool:
        """Whether it says something of all things of a kind, or of none."""
        return _OF_ALL.search(self.text) is not None

    @cached_property
    def subject(self) -> frozenset[str]:
        """What it is about: its telling words, without numbers."""
        return frozenset(filter(_is_subject, takewhile(GAP.__ne__, word_terms(self.text))))

    @cached_property
    def numbers(self) -> frozenset[tuple[str, str]]:
        """Each number in it, beside the word after it and before it; of a measure, what it measures."""
        tokens = [token.lower() for token in _TOKENS.findall(self.text)]
        padded = ["", *tokens, ""]
        return frozenset(
            (token, _DIMENSION_OF.get(neighbour, neighbour.removesuffix("s")))
            for index, token in enumerate(tokens, start=1)
            if _is_number(token)
            for neighbour in (padded[index + 1], padded[index - 1])
            if neighbour
            and not _is_number(neighbour)
            and (neighbour in _DIMENSION_OF or neighbour not in _NO_NAMES)
        )

    @cached_property
    def counted(self) -> frozenset[str]:
        """The words beside its numbers."""
        return frozenset(neighbour for _, neighbour in self.numbers)

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
        return not self.by_user and _CONCEDES.match(self.lead or self.text) is not None

    @cached_property
    def is_question(self) -> bool:
        """Whether it is a question."""
        return self.text.rstrip().endswith("?")

    @cached_property
    def is_request(self) -> bool:
        """Whether it asks for something to be done."""
        return is_request(self.text)

    @cached_property
    def rejects(self) -> bool:
        """Whether the user turns down what was proposed or done."""
        return self.by_user and not self.is_question and _REJECTS.search(self.text) is not None

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
    parts: list[str] = []
    for piece in _BREAKS.split(sentence):
        part = piece.strip()
        if not part:
            continue
        is_short = len(_JOINS.sub("", part).split()) < LEAST_WORDS or not any(
            map(_is_subject, word_terms(part))
        )
        if parts and (is_short or _DEPENDS.match(part) or len(parts[-1].split()) < LEAST_WORDS):
            parts[-1] += f" {part}"
        else:
            parts.append(part)
    return parts


def asks(text: str) -> bool:
    """Tell whether a sentence is a question, and no statement with a word such as "right?" at its end."""
    return text.rstrip().endswith("?") and _TAG.search(text) is None


def prefers(text: str) -> bool:
    """Tell whether a sentence wants something otherwise than before."""
    return _PREFERS.search(text) is not None


def challenges(text: str) -> bool:
    """Tell whether a question asks what an answer rests on."""
    return _CHALLENGES.search(text) is not None


def adds(text: str) -> bool:
    """Tell whether a sentence says that something is so, or shall be, beside what was said."""
    return _ADDS.search(text) is not None


def gives_reason(clause: str) -> bool:
    """Tell whether a clause only gives the reason of the one before it."""
    return _GIVES_REASON.match(clause) is not None


def is_correction(text: str) -> bool:
    """Tell whether a sentence says outright that something said before is not so."""
    return _CORRECTS.search(text) is not None


def _is_number(token: str) -> bool:
    return token[:1].isdigit() or token in _NUMBER_WORDS


def _is_new(term: str, known: set[str]) -> bool:
    return term not in known and is_telling(term)


def is_telling(term: str) -> bool:
    """Tell whether a term can be what is said of something: a number, a date or a word with a meaning."""
    return is_figure(term) or _is_subject(term)


def is_figure(term: str) -> bool:
    """Tell whether a term is a number or part of a date."""
    return _is_number(term) or term in _DATES


def _is_subject(term: str) -> bool:
    return not (
        is_stop_term(term)
        or term in FILLER_TERMS
        or term in _NUMBER_WORDS
        or term in _MEASURE_TERMS
        or term in _PASSED_OVER
        or term[0].isdigit()
    )
