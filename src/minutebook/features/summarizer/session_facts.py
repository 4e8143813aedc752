"""Count the facts of a session in its turns: files, errors and their ends, outcomes; and score it by them.

The signs are words of prompt, thought and response in English, German, Spanish and French
(`session_words.toml`); of a session in another language only files, technologies, errors and length are known.
Each score gives its reason.
"""

import re
import tomllib
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from functools import lru_cache
from importlib import resources
from pathlib import PurePosixPath
from typing import Any

from minutebook.features.summarizer import technologies
from minutebook.features.summarizer.talks import CACHED_TEXTS, WORDS
from minutebook.memory.journal.summary_draft import MAX_TECHNOLOGIES
from minutebook.record.records import MOST_SCORE, Category, Turn
from minutebook.record.writing.turns import RECAP, EditedFiles
from minutebook.text.words import word_terms

LISTS: Mapping[str, Any] = tomllib.loads(
    resources.files(__package__).joinpath("session_words.toml").read_text(encoding="utf-8")
)
_WHOLE_WORDS = r"(?<![^\W_])(?:{})(?![^\W_])"

FILLERS = frozenset(LISTS["common"]["fillers"].split())
"""Words that occur in any talk, lower case, as written."""

FILLER_TERMS = frozenset(term for word in FILLERS for term in (word, *word_terms(word))) - {
    "import"
}
"""The fillers and their terms in a text; without the stem of `important`, which is a word of its own."""

FUNCTION_WORDS = frozenset(LISTS["common"]["ends_nothing"].split())
"""Words that do not end a phrase."""

GERMAN_SIGNS = frozenset(LISTS["common"]["german"].split())
"""Words that show that a sentence is German."""


def pattern(*names: str, begins: bool = False) -> re.Pattern[str]:
    """Compile lists of words into a pattern of whole words in any case; if it `begins`, for the beginning of a text."""
    words = "|".join(map(alternatives, names))
    return re.compile(rf"\W*(?:{words})" if begins else words, re.IGNORECASE | re.MULTILINE)


def alternatives(name: str) -> str:
    """Return a list of words in all languages, or a pattern of the file, as one regular expression."""
    if name in LISTS["patterns"]:
        return unfolded(LISTS["patterns"][name])
    return whole_words(WORDS[name] if name in WORDS else LISTS["words"][name])


def whole_words(by_language: Mapping[str, str]) -> str:
    """Return the alternatives of all languages as one regular expression for whole words."""
    return _WHOLE_WORDS.format("|".join(map(unfolded, by_language.values())))


def unfolded(text: str) -> str:
    """Return a regular expression of the file without its line ends, which only fold it."""
    return text.replace("\n", "")


READ_AT_MOST = 20_000
"""The most characters that are read of a prompt, thought or response: three quarters from its beginning, one from its end."""

MAX_ERRORS = 50
"""The most errors that are noted."""

FORGOTTEN = 3
"""The number of turns with an outcome after which an error that was not reported again is no longer open."""

_NOUN_WEIGHTS = dict.fromkeys(Category, 3) | {Category.FEATURE: 1}
"""The weight of a noun of each category in a request."""


@dataclass(frozen=True, slots=True)
class ErrorMet:
    """An error as it was first reported, and whether it was gone at the end."""

    text: str
    resolved: bool


class FaultEnd(StrEnum):
    """The end of the fault that a session began with."""

    NONE = "no fault told at the beginning"
    OPEN = "the fault told at the beginning is open"
    GONE = "the fault told at the beginning is gone"


@dataclass(slots=True)
class SessionFacts:
    """The counts of a session.

    `files` and `technologies` stand in the order of their number of mentions; `edited` are the files that a tool
    changed, the last first, `uses` the uses of tools. `outcomes` are the turns with a response that reports
    something done, `answers` those with a response, `corrections` the prompts that say that something was not right.
    `has_request` tells whether something was asked for or a fault was reported. `cues` are the weights of the words
    for each category.
    """

    turns: int = 0
    files: tuple[str, ...] = ()
    edited: tuple[str, ...] = ()
    uses: int = 0
    folders: int = 0
    technologies: tuple[str, ...] = ()
    errors: tuple[ErrorMet, ...] = ()
    outcomes: int = 0
    corrections: int = 0
    answers: int = 0
    has_request: bool = False
    tests_passed: bool = False
    landed: bool = False
    released: bool = False
    fault: FaultEnd = FaultEnd.NONE
    read_only: bool = False
    cues: Counter[Category] = field(default_factory=Counter)
    requests: int = 0
    recap: str = ""
    """The summary of the session by the client's own model after the last turn; empty if there is none."""

    @property
    def resolved(self) -> int:
        """The number of errors that were gone at the end."""
        return sum(error.resolved for error in self.errors)

    @property
    def is_technical(self) -> bool:
        """Whether it names files, technologies or errors."""
        return bool(self.files or self.technologies or self.errors)


@dataclass(frozen=True, slots=True)
class Score:
    """A number in 0..MOST_SCORE, and its reason: the figures that it was computed from."""

    value: int
    reason: str


_POLITE = alternatives("polite")
_IS_POLITE = re.compile(rf"\A{_POLITE}", re.IGNORECASE)
_POLITE_ANYWHERE = pattern("polite_anywhere")
_SENTENCES = re.compile(r"(?<=[.!?;:])\s+|\n+")
_ITEM_MARK = re.compile(r"\A(?:[-*•]\s*|\d{1,3}[.)]\s+)+")
_CLAUSES = re.compile(r",\s+")
_SENTENCES_OF_ERRORS = re.compile(r"(?<=[.!?;])\s+(?=[A-ZÄÖÜ¿¡])|\n+")
_VERBS = {Category(name): unfolded(each["en"]) for name, each in LISTS["verbs"].items()}
_WEIGHTS = {Category(name): int(each["weight"]) for name, each in LISTS["verbs"].items()}
_ASKED = {
    category: re.compile(rf"(?:{_POLITE}|.*?\b(?:and|then|to|please) )(?:{verbs})\b", re.IGNORECASE)
    for category, verbs in _VERBS.items()
}
_ASKED_ANYWHERE, _ABOUT = (
    {
        Category(name): re.compile(whole_words(each), re.IGNORECASE)
        for name, each in LISTS[table].items()
    }
    for table in ("requested", "nouns")
)
_REQUEST = re.compile(
    rf"{_POLITE}(?:{'|'.join(_VERBS.values())}|{alternatives('other_verbs')})\b", re.IGNORECASE
)
_REQUEST_ANYWHERE = re.compile(
    "|".join((*map(whole_words, LISTS["requested"].values()), alternatives("other_requests"))),
    re.IGNORECASE,
)
_WISH = re.compile(r"(?:we (?:need|want)|i need) (?!to\b)\w", re.IGNORECASE)

_NAMED_ERROR = re.compile(
    r"(?<!\w)([A-Z]\w{0,60}?(?:Error|Exception|Panic|Fault|Timeout|Rejection)"
    r"|(?<=errors\.)[A-Z]\w{2,60}(?=: ))\b(?:: *([^\n`]{1,160}))?"
)
_REPORTED_ERROR = re.compile(rf"(?:^|[\s\"'`(])({alternatives('errors')})", re.IGNORECASE)
_MET, _DENIED, _CORRECTION, _INTENDED, _DONE, _CHANGED = map(
    pattern, ("met", "denied", "correction", "intended", "done", "changed")
)
_RESOLVED, _RESOLVED_SURELY, _SUITE_GREEN, _PAST_CAUSE, _DONE_FIRST = map(
    pattern, ("resolved", "resolved_surely", "suite_green", "past_cause", "done_first")
)
_USE = re.compile(r"^\[(?!recap\])(\w+)\]", re.MULTILINE)
_LANDED, _RELEASED, _READ_ONLY = map(pattern, ("landed", "released", "read_only"))


def read_part(text: str) -> str:
    """Return the part of a text that is read: all of it, or the beginning and end of a very long one."""
    if len(text) <= READ_AT_MOST:
        return text
    end = READ_AT_MOST // 4
    return f"{text[: READ_AT_MOST - end]}\n…\n{text[-end:]}"


@lru_cache(CACHED_TEXTS)
def is_request(sentence: str) -> bool:
    """Tell whether a sentence asks for something to be done."""
    bare = _unmarked(sentence)
    return any((_REQUEST.match(bare), _WISH.match(bare), _REQUEST_ANYWHERE.search(bare)))


def without_politeness(sentence: str) -> str:
    """Return a sentence without words of politeness: `Could you please fix it` becomes `fix it`."""
    return _IS_POLITE.sub("", _POLITE_ANYWHERE.sub("", _unmarked(sentence)).lstrip(), count=1)


def is_about_a_fault(sentence: str) -> bool:
    """Tell whether a sentence reports that something does not work."""
    return _ABOUT[Category.BUGFIX].search(sentence) is not None


def is_settled(left: str, text: str) -> bool:
    """Tell whether a later text settles an open end or error of an earlier session.

    The text must have half of the weight of its words, in which the name of an error counts twice. Of an error the
    text must also say that it is gone.
    """
    name = _NAMED_ERROR.search(left)
    weights = dict.fromkeys(word_terms(left), 1)
    if name is not None:
        weights |= dict.fromkeys(word_terms(name[1]), 2)
    terms = set(word_terms(text))
    shared = sum(weight for term, weight in weights.items() if term in terms)
    if not 2 * shared >= sum(weights.values()) > 0:
        return False
    return name is None or any(map(_ends_errors, _SENTENCES_OF_ERRORS.split(text)))


def session_facts(turns: Iterable[Turn]) -> SessionFacts:
    """Count the facts of a session; its turns are read once, in order."""
    tally = _Tally()
    for turn in turns:
        tally.read(turn)
    return tally.facts()


class _Tally:
    """The counts of the turns that were read."""

    def __init__(self) -> None:
        self._facts = SessionFacts()
        self._has_fault = self._fault_ended = False
        self._files: Counter[str] = Counter()
        self._edited = EditedFiles(technologies.files_in)
        self._technologies: Counter[str] = Counter()
        self._doubtful: Counter[str] = Counter()
        self._errors: dict[str, str] = {}
        self._open: dict[str, int] = {}
        """The open errors, each with the number of outcomes before it was last reported."""

    def read(self, turn: Turn) -> None:
        prompt, thought, response = map(read_part, (turn.prompt, turn.thought, turn.response))
        self._weigh_categories(prompt, response)
        self._count_names("\n".join((prompt, thought, response)))
        self._facts.uses += len(_USE.findall(turn.thought))
        self._edited.read(turn.thought)
        last = turn.thought.rpartition("\n")[2]
        self._facts.recap = last.removeprefix(RECAP).strip() if last.startswith(RECAP) else ""
        corrected = _CORRECTION.search(prompt) is not None
        if corrected:
            self._facts.corrections += 1
            self._open |= dict.fromkeys(self._errors, self._facts.outcomes)
            self._fault_ended = False
        self._follow_errors(prompt)
        self._follow_errors(response)
        if not self._facts.turns:
            self._has_fault = bool(self._errors) or is_about_a_fault(prompt)
        self._fault_ended |= not corrected and _ends_errors(prompt)
        self._fault_ended |= _ends_errors(response)
        self._facts.outcomes += _reports_outcome(response)
        self._facts.answers += bool(response.strip())
        self._facts.tests_passed |= _says_suite_is_green(response)
        landed = _says(_LANDED, response)
        self._facts.landed |= landed
        self._facts.released |= landed and _RELEASED.search(response) is not None
        if not self._facts.turns and self._errors:
            # A session that begins with an error is about that error.
            self._facts.cues[Category.BUGFIX] += 8
        self._facts.turns += 1

    def facts(self) -> SessionFacts:
        known = self._technologies
        if known or self._files or self._errors:
            known = known + self._doubtful
        ranked = sorted(known, key=lambda name: (-known[name], name))
        files = sorted(self._files, key=lambda path: (-self._files[path], path))
        facts = self._facts
        facts.files, facts.edited = tuple(files), self._edited.paths
        facts.folders = len({str(PurePosixPath(path).parent) for path in files})
        facts.technologies = tuple(ranked[:MAX_TECHNOLOGIES])
        facts.errors = tuple(
            ErrorMet(text, facts.outcomes - self._open.get(key, -FORGOTTEN) >= FORGOTTEN)
            for key, text in self._errors.items()
        )
        facts.has_request |= self._has_fault
        if self._has_fault:
            facts.fault = FaultEnd.GONE if self._fault_ended else FaultEnd.OPEN
        return facts

    def _weigh_categories(self, prompt: str, response: str) -> None:
        """Add the weights of the words for each category: requests weigh most, those of the first turn twice."""
        weight = 1 if self._facts.turns else 2
        self._facts.read_only |= _READ_ONLY.search(prompt) is not None
        for sentence in filter(None, map(_unmarked, _SENTENCES.split(prompt))):
            self._facts.has_request |= is_request(sentence)
            for category, asked in _ASKED.items():
                forms = _ASKED_ANYWHERE.get(category)
                if asked.match(sentence) or (forms and forms.search(sentence)):
                    self._facts.cues[category] += weight * _WEIGHTS[category]
                    self._facts.requests += 1
            for category, about in _ABOUT.items():
                if about.search(sentence):
                    self._facts.cues[category] += weight * _NOUN_WEIGHTS[category]
        for category, about in _ABOUT.items():
            if about.search(response):
                self._facts.cues[category] += 1

    def _count_names(self, text: str) -> None:
        text = technologies.without_urls(text)
        for path in technologies.files_in(text):
            self._files[path] += 1
            if shown := technologies.technology_of(path):
                self._technologies[shown] += 1
        self._technologies.update(technologies.technologies_in(text))
        self._technologies.update(technologies.packages_in(text))
        self._doubtful.update(technologies.doubtful_technologies_in(text))

    def _follow_errors(self, text: str) -> None:
        """Note the errors that a text reports, and their ends, sentence by sentence.

        A sentence that says that it works ends every error before. An error that is reported after it in the same
        text is open, unless it was known or the sentence says that it is past.
        """
        ended = False
        for sentence in _SENTENCES_OF_ERRORS.split(text):
            for name, text in _errors_in(sentence):
                key = next((known for known in self._errors if known.startswith(name)), name)
                is_new = key not in self._errors
                if is_new and len(self._errors) >= MAX_ERRORS:
                    continue
                self._errors.setdefault(key, text)
                if not ended or (is_new and not _PAST_CAUSE.search(sentence)):
                    self._open[key] = self._facts.outcomes
            if _ends_errors(sentence):
                self._open.clear()
                ended = True


def _errors_in(line: str) -> Iterator[tuple[str, str]]:
    """Yield the errors that a line reports, each with its key; not those that it only mentions."""
    named = False
    for match in _NAMED_ERROR.finditer(line):
        if match[2] or _MET.search(line):
            named = True
            text = f"{match[1]}: {match[2]}" if match[2] else match[1]
            yield _error_key(text), _error_headline(text)
    if named:
        return
    for match in _REPORTED_ERROR.finditer(line):
        yield _error_key(match[1]), _error_headline(match[1].strip())


def _error_key(error: str) -> str:
    """Return the key of an error: its first words, with 0 for every number."""
    return re.sub(r"\d+", "0", " ".join(re.findall(r"\w+", error.lower())[:5]))


def _unmarked(sentence: str) -> str:
    """Return a sentence without the mark or number of an item in a list."""
    return _ITEM_MARK.sub("", sentence.strip(), count=1)


def _error_headline(error: str) -> str:
    first = re.split(r"(?<=[.!?])\s", error, maxsplit=1)[0].strip().rstrip(".,;:")
    return first if len(first) <= 80 else f"{first[:79].rstrip()}…"


def _says(sign: re.Pattern[str], text: str) -> bool:
    """Tell whether a sentence of a text has a sign, and does not deny it or only hope for it."""
    return any(
        sign.search(sentence) and not _DENIED.search(sentence)
        for sentence in _SENTENCES.split(text)
    )


def _says_suite_is_green(text: str) -> bool:
    """Tell whether a clause says that tests pass, in a sentence that reports none that fails."""
    return any(
        _says(_SUITE_GREEN, clause)
        for sentence in _SENTENCES.split(text)
        if not _REPORTED_ERROR.search(sentence)
        for clause in _CLAUSES.split(sentence)
    )


def _ends_errors(text: str) -> bool:
    """Tell whether a text says that an error is gone, or that tests pass."""
    return (
        _says(_RESOLVED, text)
        or _says_suite_is_green(text)
        or (_RESOLVED_SURELY.search(text) is not None)
    )


def _reports_outcome(response: str) -> bool:
    """Tell whether a response reports something done or changed."""
    return any(
        (_DONE.search(sentence) or _DONE_FIRST.search(sentence) or _CHANGED.search(sentence))
        and not _DENIED.search(sentence)
        and not (_INTENDED.search(sentence) and not _DONE.search(sentence))
        for sentence in _SENTENCES.split(response)
    )


def category_of(facts: SessionFacts) -> tuple[Category, str]:
    """Choose the category with the heaviest words, and say why; `other` where little speaks for any.

    A session that asks why something fails is a `bugfix` if the fault is gone at the end, unless nothing
    was to be changed (`analysis`). Requested work with an outcome and without words for a category is a
    `feature`.
    """
    best = max(Category, key=lambda category: facts.cues[category])
    weight = facts.cues[best]
    weights = ", ".join(f"{name} {facts.cues[name]}" for name in Category if facts.cues[name])
    because = f"weight of the words for each: {weights}"
    if facts.read_only and facts.requests:
        return Category.ANALYSIS, f"nothing was to be changed; {because}"
    is_work = facts.is_technical or facts.requests
    if is_work and best is Category.ANALYSIS and facts.fault is FaultEnd.GONE:
        return Category.BUGFIX, f"{facts.fault}; {because}"
    if weight < 3 or not is_work:
        if facts.is_technical and facts.fault is FaultEnd.GONE:
            return Category.BUGFIX, str(facts.fault)
        if facts.is_technical and facts.has_request and facts.outcomes:
            return Category.FEATURE, "something was asked for and done, of no other category"
        return Category.OTHER, f"too little speaks for another ({weights or 'no word for any'})"
    return best, because


def quality_of(facts: SessionFacts) -> Score:
    """Score how well it went: 60, plus and minus the evidence.

    25 for the share of errors resolved (15 if there was none and something was done), 15 if tests passed;
    minus 10 for each correction by the user, at most 40, and minus 15 if an error was open at the end.
    """
    errors, resolved = len(facts.errors), facts.resolved
    smooth = 15 if facts.outcomes else 0
    score = 60.0 + (25 * resolved / errors if errors else smooth) + 15 * facts.tests_passed
    score -= min(40, 10 * facts.corrections) + 15 * (resolved < errors)
    tests = "tests passed" if facts.tests_passed else "no word of tests that passed"
    met = f"{resolved} of {errors} errors resolved"
    return _score(score, f"{met}, {tests}, {facts.corrections} corrections")


def productivity_of(facts: SessionFacts) -> Score:
    """Score how much of the requested work got done.

    25 if there is an answer; 20 if something was asked for; 25 for the share of turns with an outcome,
    full at two in three; 10 for files; 10 if tests passed; 10 if it was committed; minus 25 if an error or
    the fault that it began with was open at the end.
    """
    share = facts.outcomes / facts.turns if facts.turns else 0.0
    files = len(facts.files)
    score = 25.0 * bool(facts.answers) + 20 * facts.has_request + 25 * min(1.0, 1.5 * share)
    score += 10 * _saturated(files, 2) + 10 * facts.tests_passed + 10 * facts.landed
    is_open = facts.resolved < len(facts.errors) or facts.fault is FaultEnd.OPEN
    return _score(
        score - 25 * is_open,
        f"{facts.outcomes} of {facts.turns} turns tell of something done, {files} files, "
        f"{_evidence_of('tests that passed', is_said=facts.tests_passed)}, {_evidence_of('a commit', is_said=facts.landed)}, "
        f"{facts.fault}",
    )


def impact_of(facts: SessionFacts) -> Score:
    """Score how far it reaches.

    12 if something was asked for; 25 for outcomes, 25 for files, 10 for folders; 15 if something new was
    made (`feature`, `new-app`); 10 if it was committed, 12 if that was released.
    """
    files, folders, outcomes = len(facts.files), facts.folders, facts.outcomes
    is_new = category_of(facts)[0] in (Category.FEATURE, Category.NEW_APP)
    score = 25 * _saturated(outcomes, 1) + 25 * _saturated(files, 3) + 10 * _saturated(folders, 2)
    score += 12 * facts.has_request + 15 * is_new + 10 * facts.landed + 12 * facts.released
    return _score(
        score,
        f"{files} files in {folders} folders, {outcomes} outcomes, "
        f"{'something new' if is_new else 'nothing new'}, {_evidence_of('a commit', is_said=facts.landed)}, "
        f"{_evidence_of('a release', is_said=facts.released)}",
    )


def complexity_of(facts: SessionFacts) -> Score:
    """Score how hard it was.

    5 if something was asked for; 45 for turns, 25 for files, 15 for technologies, 10 for errors, 12
    for corrections by the user.
    """
    files, errors = len(facts.files), len(facts.errors)
    score = 5 * facts.has_request + 45 * _saturated(facts.turns, 5) + 25 * _saturated(files, 3)
    score += 15 * _saturated(len(facts.technologies), 3) + 10 * _saturated(errors, 1)
    return _score(
        score + 12 * _saturated(facts.corrections, 1),
        f"{facts.turns} turns, {facts.uses} uses of tools, {files} files, {len(facts.technologies)} technologies, "
        f"{errors} errors met, {facts.corrections} corrections",
    )


def _evidence_of(what: str, *, is_said: bool) -> str:
    return f"word of {what}" if is_said else f"no word of {what}"


def _saturated(count: int, half: int) -> float:
    """Return a count as a number in 0..1: 0 for none, one half for `half`, ever nearer to 1 for more."""
    return count / (count + half)


def _score(value: float, reason: str) -> Score:
    return Score(round(min(float(MOST_SCORE), max(0.0, value))), reason)
