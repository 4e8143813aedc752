"""Secrets that the form of whole lines gives away: columns of tables, `.pgpass`, lists of codes, phrases of words."""

import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass

from minutebook.memory.screening.contexts import NAMES, is_value_of
from minutebook.memory.screening.randomness import entropy

Span = tuple[int, int]

_LONGEST_HEADER = 500
_LABEL = r"[\w .\-/#]{1,40}"
_AROUND = " \t\"'`*"
_RULE = r"[\s|:\-]+"
_DELIMITERS = ("|", "\t", ";", ",")
_OF_COLUMN = (
    r"(?i)[\w .\-]{0,30}?(?:(?P<password>passw(?:or)?[dt]|passphrase|pwd|kennwort|contrase[nñ]a|mot de passe|"
    r"wachtwoord|hasło|senha|пароль|密码|密碼|パスワード|비밀번호)|secret|token|(?:api|access|secret|private)[ _\-]?key)"
)
_PGPASS = r"(?:/[^\s:#]{1,253}|[^\s:#/]{1,253}):(?:\d{4,5}|\*):(?!\d{1,20}:)[^\s:]{1,63}:[^\s:]{1,63}:(?P<secret>[^\s:]{4,200})[ \t\r]{0,4}"
_PORT = re.compile(r":(?:\d{4,5}|\*):")

_AFTER_NAME = 1200
"""Characters after the name of codes or a phrase in which they are looked for."""

_LONGEST_LEAD = 80
_MARKER = r"[-*•|]|\d{1,2}[.)]?"
_CODE = r"[A-Za-z0-9]{4,12}(?:-[A-Za-z0-9]{4,12}){1,8}|\d{8}|\d{4}|[0-9a-z]{8,16}"
_NAME_OF_CODES = re.compile(
    r"(?i:recovery|backup|scratch|wiederherstellungs|sicherungs|notfall)[ \-]?(?i:code|key|schlüssel)"
)
_NAME_OF_PHRASE = re.compile(
    r"(?i:(?:seed|recovery|secret|wiederherstellungs)[ \-]?(?:phrase|words|wörter)|mnemonic|bip-?39)"
    r"[^:=\n\"]{0,60}?[:=\n\"]"
)
_UUID = r"(?i)[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}"
_LONG_CODE = 16
_WORD = r"[a-z]{3,8}"
_PHRASES = (12, 15, 18, 21, 24)
"""How many words a phrase of BIP-39 has."""

_TOKENS = re.compile(r"[^\s,;]+")


@dataclass(frozen=True, slots=True)
class LineForm:
    """A kind of secret that a form of lines gives away.

    `words` (small letters) are where it is looked for: `spans` yields the secrets of the line of a word,
    and where to look on.
    """

    kind: str
    address: str
    words: tuple[str, ...]
    spans: Callable[[str, int], tuple[list[Span], int]]

    def matches(self, text: str, plain: str, word: str) -> Iterator[Span]:
        """Yield where secrets begin and end; `plain` is the text in small letters."""
        at = plain.find(word)
        while at >= 0:
            found, end = self.spans(text, at)
            yield from found
            at = plain.find(word, max(end, at + 1))


def _line_of(text: str, at: int) -> Span:
    end = text.find("\n", at)
    return text.rfind("\n", 0, at) + 1, len(text) if end < 0 else end


def _cells(line: str, start: int, delimiter: str) -> list[Span]:
    """Return the start and end of the cells of a line, without the marks around their values."""
    spans, at = [], start
    for cell in line.split(delimiter):
        bare = cell.strip(_AROUND + "\r")
        begin = at + (cell.find(bare) if bare else 0)
        spans.append((begin, begin + len(bare)))
        at += len(cell) + 1
    if delimiter == "|":
        # The borders of a table, which some write and some do not.
        spans = [each for each in spans if each[0] < each[1]] or spans
    return spans


def _columns(text: str, at: int) -> tuple[list[Span], int]:
    """Return the values below a heading that names secrets, in the rows of a table or of CSV."""
    start, end = _line_of(text, at)
    if end - start > _LONGEST_HEADER:
        return [], end
    line = text[start:end]
    if "\n" not in text[end : end + 1] or any(each in line for each in "(=<{"):
        return [], end
    delimiter = next((each for each in _DELIMITERS if each in line), None)
    if delimiter is None:
        return [], end
    heads = [text[slice(*each)] for each in _cells(line, start, delimiter)]
    if len(heads) < 2 or not all(re.fullmatch(_LABEL, each) for each in heads):
        return [], end
    named = {n: match for n, each in enumerate(heads) if (match := re.fullmatch(_OF_COLUMN, each))}
    if not named:
        return [], end
    found: list[Span] = []
    while end < len(text):
        start, end = end + 1, _line_of(text, end + 1)[1]
        row = text[start:end]
        if re.fullmatch(_RULE, row) and "-" in row:
            continue
        cells = _cells(row, start, delimiter)
        if delimiter not in row or len(cells) != len(heads):
            break
        for n, match in named.items():
            if is_value_of(text[slice(*cells[n])], is_password=match["password"] is not None):
                found.append(cells[n])
    return found, end


def _pgpass(text: str, at: int) -> tuple[list[Span], int]:
    port = _PORT.search(text, at)
    if port is None:
        return [], len(text)
    start, end = _line_of(text, port.start())
    match = re.compile(_PGPASS).fullmatch(text, start, end)
    if match is None or not is_value_of(match["secret"], is_password=True):
        return [], end
    return [match.span("secret")], end


def _tokens(text: str, at: int) -> Iterator[tuple[int, str]]:
    """Yield the texts after a name, each with its place, without marks of lists and quotes."""
    for each in _TOKENS.finditer(text, at, min(len(text), at + _AFTER_NAME)):
        bare = each[0].strip("\"'`*.:()[]")
        if bare and not re.fullmatch(_MARKER, each[0]):
            yield each.start() + each[0].find(bare), bare


def _codes(text: str, at: int) -> tuple[list[Span], int]:
    """Return the span of the codes that follow a name such as “recovery codes”: several, or a long one."""
    if _NAME_OF_CODES.match(text, at) is None:
        return [], at + 1
    found: list[tuple[int, str]] = []
    for begin, token in _tokens(text, at):
        if _is_code(token):
            found.append((begin, token))
        elif found or begin - at > _LONGEST_LEAD:
            break
    # Groups of four digits are halves of a code.
    whole = sum(0.5 if len(token) == 4 else 1 for _, token in found)
    is_long = len(found) == 1 and len(found[0][1]) >= _LONG_CODE
    if whole < 2 and not is_long:
        return [], at + 1
    end = found[-1][0] + len(found[-1][1])
    return [(found[0][0], end)], end


def _is_code(token: str) -> bool:
    if re.fullmatch(_CODE, token) is None or re.fullmatch(_UUID, token):
        return False
    groups = {len(each) for each in token.split("-")}
    has_digit = any(each.isdigit() for each in token)
    return has_digit and len(groups) == 1 and (len(token) == 4 or entropy(token) >= 1.5)


def _phrase(text: str, at: int) -> tuple[list[Span], int]:
    """Return the span of the words that follow a name such as “seed phrase”, if they are as many as BIP-39 has."""
    lead = _NAME_OF_PHRASE.match(text, at)
    if lead is None:
        return [], at + 1
    words: list[Span] = []
    for begin, token in _tokens(text, lead.end()):
        between = text[words[-1][1] : begin] if words else ""
        if len(words) in _PHRASES and ("\n" in between or re.search(r"[.,;\"'`)]", between)):
            break
        if re.fullmatch(_WORD, token) is None or len(words) > _PHRASES[-1]:
            break
        words.append((begin, begin + len(token)))
    if len(words) not in _PHRASES:
        return [], at + 1
    return [(words[0][0], words[-1][1])], words[-1][1]


LINE_FORMS: tuple[LineForm, ...] = (
    LineForm(
        "password or key in a table",
        "https://www.rfc-editor.org/rfc/rfc4180",
        NAMES,
        _columns,
    ),
    LineForm(
        "PostgreSQL password file",
        "https://www.postgresql.org/docs/current/libpq-pgpass.html",
        (":",),
        _pgpass,
    ),
    LineForm(
        "recovery codes",
        "https://docs.github.com/en/authentication/securing-your-account-with-two-factor-authentication-2fa/configuring-two-factor-authentication-recovery-methods",
        ("recovery", "backup", "scratch", "wiederherstellungs", "sicherungs", "notfall"),
        _codes,
    ),
    LineForm(
        "seed phrase",
        "https://github.com/bitcoin/bips/blob/master/bip-0039.mediawiki",
        ("seed", "mnemonic", "recovery", "secret", "wiederherstellungs", "bip"),
        _phrase,
    ),
)  # fmt: skip
"""Every kind that is found by the form of whole lines."""
