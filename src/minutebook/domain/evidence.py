"""What the turns of a session show of its work: files, errors and their ends, what was done.

Signs are words, looked for in prompt, thought and response; each rule is told where it stands, and the
scores that follow from them explain themselves. The words are English; of a session in another language
files, technologies, errors and length still speak.
"""

import re
from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import PurePosixPath

from minutebook.domain import technologies
from minutebook.domain.accounts import MAX_TECHNOLOGIES
from minutebook.domain.records import Category, Turn

READ_AT_MOST = 20_000
"""Characters that are read of a prompt, thought or response: three parts its beginning, one its end."""

MAX_ERRORS = 50
"""Errors that are told apart."""


@dataclass(frozen=True, slots=True)
class ErrorMet:
    """An error as it was first told, and whether it was gone at the end."""

    told: str
    resolved: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class Evidence:
    """What was counted in a session.

    `files` and `technologies` are those named most first. `outcomes` counts the turns whose response
    tells of something done, `corrections` the prompts that say it was not right. `cues` weighs the
    words for each category.
    """

    turns: int
    files: tuple[str, ...]
    folders: int
    technologies: tuple[str, ...]
    errors: tuple[ErrorMet, ...]
    outcomes: int
    corrections: int
    tests_passed: bool
    landed: bool
    cues: Mapping[Category, int]
    requests: int

    @property
    def resolved(self) -> int:
        """How many errors were gone at the end."""
        return sum(error.resolved for error in self.errors)

    @property
    def is_technical(self) -> bool:
        """Whether anything in it is of the work on software."""
        return bool(self.files or self.technologies or self.errors)


@dataclass(frozen=True, slots=True)
class Score:
    """A number in 0..100, and the rule by which it came about, with its figures."""

    value: int
    reason: str


_VERBS: Mapping[Category, tuple[int, str]] = {
    Category.BUGFIX: (4, "fix|debug|repair|solve|resolve|hotfix|patch"),
    Category.NEW_APP: (4, "bootstrap|scaffold"),
    Category.REFACTORING: (
        4,
        "refactor|rename|extract|simplify|restructure|reorgani[sz]e|split|inline|deduplicate|tidy|"
        "clean up|moderni[sz]e|decouple",
    ),
    Category.DOCUMENTATION: (4, "document"),
    Category.ANALYSIS: (
        4,
        "analy[sz]e|investigate|explain|compare|review|profile|benchmark|measure|evaluate|audit|"
        "research|find out|look into|check (?:why|whether|if)|figure out|estimate|assess",
    ),
    Category.FEATURE: (
        2,
        "add|implement|support|introduce|extend|enable|integrate|build|create|write|make|allow|expose",
    ),
}
_NOUNS: Mapping[Category, str] = {
    Category.BUGFIX: "bugs?|throws|crash(?:es|ed|ing)?|traceback|stack ?trace|regressions?|broken|fail(?:s|ed|ing)|"
    "failures?|memory leak|deadlocks?|race condition|flaky|wrong result|exceptions?|doesn't work|"
    "does not work",
    Category.NEW_APP: r"new (?:\w+ )?(?:app|application|project|site|website|service|game|cli|library|"
    r"package|repository|repo)|from scratch|boilerplate|starter|cargo new|npm init|npm create|"
    r"startproject|create-react-app",
    Category.REFACTORING: "refactor(?:ing|ed)?|technical debt|duplicat(?:ion|ed code)|clean-?up|dead code|"
    "no (?:change in behaviou?r|behaviou?r change)",
    Category.DOCUMENTATION: "docs?|documentation|readme|docstrings?|changelog|tutorial|user guide|typos?",
    Category.ANALYSIS: "analysis|comparison|benchmarks?|investigation|findings|profiling|trade-?offs?|"
    "root cause|bottlenecks?|pros and cons",
    Category.FEATURE: "features?|endpoints?|functionality|support for|option|command|button|dialog|form",
}
_POLITE = (
    r"(?:(?:ok(?:ay)?|so|now|then|next|also|and|hi|hey|hello|great|thanks|please|kindly|first|finally)[,!.:]? )*"
    r"(?:(?:can|could|would|will) (?:you|we) (?:please )?(?:also )?|please |i(?:'d| would) like (?:you )?to |"
    r"i (?:want|need) (?:you )?to |we (?:need|have|should|want)(?: to)? |let'?s |help me (?:to )?|try to )?(?:please )?"
)
_IS_POLITE = re.compile(rf"\A{_POLITE}", re.IGNORECASE)
_SENTENCES = re.compile(r"(?<=[.!?;:])\s+|\n+")
_REQUESTS = {
    category: (weight, re.compile(rf"{_POLITE}(?:{verbs})\b", re.IGNORECASE))
    for category, (weight, verbs) in _VERBS.items()
}
_ABOUT = {
    category: re.compile(rf"\b(?:{nouns})(?!\w)", re.IGNORECASE)
    for category, nouns in _NOUNS.items()
}
_REQUEST = re.compile(
    rf"{_POLITE}(?:{'|'.join(verbs for _, verbs in _VERBS.values())}"
    r"|update|change|remove|delete|run|test|use|move|replace|check|show|set|deploy|release|install|configure|"
    r"upgrade|convert|migrate|translate|summari[sz]e|give|list|find|design|plan|improve|optimi[sz]e)\b",
    re.IGNORECASE,
)

_WISH = re.compile(r"(?:we (?:need|want)|i need) (?!to\b)\w", re.IGNORECASE)

_NAMED_ERROR = re.compile(
    r"(?<!\w)([A-Z]\w{0,60}?(?:Error|Exception|Panic|Fault|Timeout)"
    r"|(?<=errors\.)[A-Z]\w{2,60}(?=: ))\b(?:: *([^\n`]{1,160}))?"
)
_TOLD_ERROR = re.compile(
    r"(?:^|[\s\"'`(])((?:fatal|panic|error)(?:\[\w+\]| TS\d+)?: *[^\n`]{3,160}"
    r"|segmentation fault|core dumped|stack overflow|out of memory"
    r"|exit(?:ed with)? (?:code|status) [1-9]\d*|HTTP [45]\d\d|[1-9]\d* (?:tests? )?(?:failed|failing|failures))",
    re.IGNORECASE,
)
_MET = re.compile(
    r"\b(?:got|get|gets|getting|gives?|throws?|threw|raises|raised|fail(?:s|ed|ing)?|crash\w*|hit|saw|see|seeing|"
    r"traceback|caused by|because of|met|error|was|died)\b",
    re.IGNORECASE,
)
_RESOLVED = re.compile(
    r"\b(?:fixed|resolved|solved|works? (?:now|again)|now works?|pass(?:es|ed|ing)?|no longer|succeed(?:s|ed)|"
    r"is green|are green|repaired|corrected|gone|cleared)\b",
    re.IGNORECASE,
)
_NOT = re.compile(
    r"\b(?:not|n't|never|still|isn't|aren't|without being|yet to|once|until|should be|will be"
    r"|[1-9]\d* (?:tests? )?fail\w*)\b",
    re.IGNORECASE,
)
_CORRECTION = re.compile(
    r"\bstill (?:fail|broken|wrong|crash|not |doesn't|does not|the same|get|see|error)|"
    r"\b(?:that|this|it)(?:'s| is) (?:wrong|not (?:right|what|correct))|\b(?:doesn't|does not|didn't|did not) work|"
    r"\bnot working\b|\b(?:undo|revert) (?:that|this|it|your)|\byou (?:broke|forgot|missed|misunderstood)|"
    r"^no, ",
    re.IGNORECASE | re.MULTILINE,
)
_DONE = re.compile(
    r"\b(?:added|fixed|implemented|created|wrote|written|updated|removed|renamed|refactored|moved|replaced|"
    r"changed|documented|deployed|merged|committed|released|resolved|finished|completed|installed|"
    r"configured|migrated|extracted|measured|found|introduced|passes|pass|passing|done)\b",
    re.IGNORECASE,
)
_TESTS_PASS = re.compile(
    r"\b(?:all|\d+)(?: of)?(?: the)?(?: \w+)? (?:tests? )?(?:pass(?:es|ed|ing)?|are green|is green)\b|\btests? (?:now )?"
    r"pass(?:es|ed)?\b|\bsuite (?:is green|passes)\b",
    re.IGNORECASE,
)
_LANDED = re.compile(
    r"\b(?:committed|merged|pushed|released|deployed|published|shipped)\b", re.IGNORECASE
)


def read_part(text: str) -> str:
    """Give what is read of a text: all, or of a very long one its beginning and its end."""
    if len(text) <= READ_AT_MOST:
        return text
    end = READ_AT_MOST // 4
    return f"{text[: READ_AT_MOST - end]}\n…\n{text[-end:]}"


def is_request(sentence: str) -> bool:
    """Tell whether a sentence asks for something to be done."""
    plain = _bare(sentence)
    return _REQUEST.match(plain) is not None or _WISH.match(plain) is not None


def without_politeness(sentence: str) -> str:
    """Leave out what only makes a request polite: `Could you please fix it` becomes `fix it`."""
    return _IS_POLITE.sub("", _bare(sentence), count=1)


def evidence_of(turns: Iterable[Turn]) -> Evidence:
    """Count what a session's turns show; they are read once, in order."""
    tally = _Tally()
    for turn in turns:
        tally.read(turn)
    return tally.evidence()


class _Tally:
    """Counts, turn by turn."""

    def __init__(self) -> None:
        self._turns = self._outcomes = self._corrections = self._requests = 0
        self._tests_passed = self._landed = False
        self._files: Counter[str] = Counter()
        self._technologies: Counter[str] = Counter()
        self._doubtful: Counter[str] = Counter()
        self._told: dict[str, str] = {}
        self._open: set[str] = set()
        self._cues: Counter[Category] = Counter()

    def read(self, turn: Turn) -> None:
        prompt, thought, response = map(read_part, (turn.prompt, turn.thought, turn.response))
        self._weigh(prompt, response)
        self._count_names("\n".join((prompt, thought, response)))
        if _CORRECTION.search(prompt):
            self._corrections += 1
            self._open |= self._told.keys()
        self._note_errors(prompt)
        if _says(_RESOLVED, prompt):
            self._open.clear()
        self._note_errors(f"{thought}\n{response}")
        if _says(_RESOLVED, response):
            self._open.clear()
        self._outcomes += _says(_DONE, response)
        self._tests_passed |= _says(_TESTS_PASS, response)
        self._landed |= _says(_LANDED, response)
        if not self._turns and self._told:
            # A session that begins with an error is about that error.
            self._cues[Category.BUGFIX] += 8
        self._turns += 1

    def evidence(self) -> Evidence:
        known = self._technologies
        if known or self._files or self._told:
            known = known + self._doubtful
        ranked = sorted(known, key=lambda name: (-known[name], name))
        files = sorted(self._files, key=lambda path: (-self._files[path], path))
        return Evidence(
            turns=self._turns,
            files=tuple(files),
            folders=len({str(PurePosixPath(path).parent) for path in files}),
            technologies=tuple(ranked[:MAX_TECHNOLOGIES]),
            errors=tuple(ErrorMet(told, key not in self._open) for key, told in self._told.items()),
            outcomes=self._outcomes,
            corrections=self._corrections,
            tests_passed=self._tests_passed,
            landed=self._landed,
            cues={category: self._cues[category] for category in Category},
            requests=self._requests,
        )

    def _weigh(self, prompt: str, response: str) -> None:
        """Weigh the words for each category: requests most, those of the first turn twice."""
        weight = 1 if self._turns else 2
        for sentence in filter(None, map(_bare, _SENTENCES.split(prompt))):
            for category, (strength, pattern) in _REQUESTS.items():
                if pattern.match(sentence):
                    self._cues[category] += weight * strength
                    self._requests += 1
            for category, about in _ABOUT.items():
                if about.search(sentence):
                    self._cues[category] += weight * 3
        for category, about in _ABOUT.items():
            if about.search(response):
                self._cues[category] += 1

    def _count_names(self, text: str) -> None:
        text = technologies.without_urls(text)
        for path in technologies.files_in(text):
            self._files[path] += 1
            if shown := technologies.technology_of(path):
                self._technologies[shown] += 1
        self._technologies.update(technologies.technologies_in(text))
        self._technologies.update(technologies.packages_in(text))
        self._doubtful.update(technologies.doubtful_technologies_in(text))

    def _note_errors(self, text: str) -> None:
        for line in text.splitlines():
            for name, told in _errors_in(line):
                key = next((known for known in self._told if known.startswith(name)), name)
                if key in self._told or len(self._told) < MAX_ERRORS:
                    self._told.setdefault(key, told)
                    self._open.add(key)


def _errors_in(line: str) -> Iterable[tuple[str, str]]:
    """Give the errors that a line tells of, each with what names it: not those it only speaks of."""
    named = False
    for match in _NAMED_ERROR.finditer(line):
        if match[2] or _MET.search(line):
            named = True
            told = f"{match[1]}: {match[2]}" if match[2] else match[1]
            yield _key(told), _clipped(told)
    if named:
        return
    for match in _TOLD_ERROR.finditer(line):
        yield _key(match[1]), _clipped(match[1].strip())


def _key(told: str) -> str:
    """Give what tells an error from others: its first words, whatever numbers stand in them."""
    return re.sub(r"\d+", "0", " ".join(re.findall(r"\w+", told.lower())[:5]))


def _bare(sentence: str) -> str:
    """Leave out the mark or number of an item in a list."""
    return sentence.strip().lstrip("-*•0123456789.) \t")


def _clipped(told: str) -> str:
    first = re.split(r"(?<=[.!?])\s", told, maxsplit=1)[0].strip().rstrip(".,;:")
    return first if len(first) <= 80 else f"{first[:79].rstrip()}…"


def _says(sign: re.Pattern[str], text: str) -> bool:
    """Tell whether a sentence says so, and does not deny or only hope it."""
    return any(
        sign.search(sentence) and not _NOT.search(sentence) for sentence in _SENTENCES.split(text)
    )


def category_of(evidence: Evidence) -> tuple[Category, str]:
    """Choose the category whose words weigh most, and say why; `other` where little speaks for any."""
    best = max(Category, key=lambda category: evidence.cues[category])
    weight = evidence.cues[best]
    told = ", ".join(f"{name} {said}" for name, said in evidence.cues.items() if said)
    if weight < 3 or not (evidence.is_technical or evidence.requests):
        return Category.OTHER, f"too little speaks for another ({told or 'no word for any'})"
    return best, f"weight of the words for each: {told}"


def quality_of(evidence: Evidence) -> Score:
    """Score how well it went: 60, and what speaks for it or against it.

    25 for the share of errors resolved (15 where none was met and something was done), 15 where tests
    passed; less 10 a correction by the user, at most 40, and less 15 where an error stood at the end.
    """
    errors, resolved = len(evidence.errors), evidence.resolved
    smooth = 15 if evidence.outcomes else 0
    score = 60.0 + (25 * resolved / errors if errors else smooth) + 15 * evidence.tests_passed
    score -= min(40, 10 * evidence.corrections) + 15 * (resolved < errors)
    tests = "tests passed" if evidence.tests_passed else "no word of tests that passed"
    return _score(
        score,
        f"{resolved} of {errors} errors resolved, {tests}, {evidence.corrections} corrections",
    )


def productivity_of(evidence: Evidence) -> Score:
    """Score how much came of it: 60 for the share of turns with an outcome, 40 for files touched."""
    share = evidence.outcomes / evidence.turns if evidence.turns else 0.0
    files = len(evidence.files)
    return _score(
        60 * share + 40 * _part(files, 3),
        f"{evidence.outcomes} of {evidence.turns} turns tell of something done, {files} files",
    )


def impact_of(evidence: Evidence) -> Score:
    """Score how far it reaches: 40 for files, 20 for folders, 25 for outcomes, 15 where it landed."""
    files, folders, outcomes = len(evidence.files), evidence.folders, evidence.outcomes
    score = 40 * _part(files, 4) + 20 * _part(folders, 2) + 25 * _part(outcomes, 4)
    landed = "committed or released" if evidence.landed else "no word of a commit or a release"
    return _score(
        score + 15 * evidence.landed,
        f"{files} files in {folders} folders, {outcomes} outcomes, {landed}",
    )


def complexity_of(evidence: Evidence) -> Score:
    """Score how hard it was: 35 for turns, 30 for files, 20 for technologies, 15 for errors."""
    files, errors = len(evidence.files), len(evidence.errors)
    score = 35 * _part(evidence.turns, 10) + 30 * _part(files, 5)
    score += 20 * _part(len(evidence.technologies), 4) + 15 * _part(errors, 2)
    return _score(
        score,
        f"{evidence.turns} turns, {files} files, {len(evidence.technologies)} technologies, "
        f"{errors} errors met",
    )


def _part(count: int, half: int) -> float:
    """Bring a count into 0..1: 0 of none, a half of `half`, ever nearer to 1 of more."""
    return count / (count + half)


def _score(value: float, reason: str) -> Score:
    return Score(round(min(100.0, max(0.0, value))), reason)
