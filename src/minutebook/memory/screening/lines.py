"""Secrets that are recognized by the form of whole lines: columns of tables, `.pgpass`, lists of codes, phrases of words."""

import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass

from minutebook.memory.screening.contexts import NAMES, is_value_of
from minutebook.memory.screening.randomness import entropy

Span = tuple[int, int]

_LONGEST_HEADER = 500
_HEADING = r"[\w .\-/#]{1,40}"
_CELL_PADDING = " \t\"'`*"
_SEPARATOR_ROW = r"[\s|:\-]+"
_DELIMITERS = ("|", "\t", ";", ",")
_COLUMN = (
    r"(?i)[\w .\-]{0,30}?(?:(?P<password>passw(?:or)?[dt]|passphrase|pwd|kennwort|contrase[nñ]a|mot de passe|"
    r"wachtwoord|hasło|senha|пароль|密码|密碼|パスワード|비밀번호)|secret|token|(?:api|access|secret|private)[ _\-]?key)"
)
_PGPASS = r"(?:/[^\s:#]{1,253}|[^\s:#/]{1,253}):(?:\d{4,5}|\*):(?!\d{1,20}:)[^\s:]{1,63}:[^\s:]{1,63}:(?P<secret>[^\s:]{4,200})[ \t\r]{0,4}"
_PORT = re.compile(r":(?:\d{4,5}|\*):")

_SEARCHED_AFTER_NAME = 1200
"""Characters after the name of codes or of a phrase that are searched for them."""

_LONGEST_GAP = 80
_LIST_MARKER = r"[-*•|]|\d{1,2}[.)]?"
_CODE = r"[A-Za-z0-9]{4,12}(?:-[A-Za-z0-9]{4,12}){1,8}|\d{8}|\d{4}|[0-9a-z]{8,16}"
_NAME_OF_CODES = re.compile(
    r"(?i:recovery|backup|scratch|wiederherstellungs|sicherungs|notfall)[ \-]?(?i:code|key|schlüssel)"
)
_NAME_OF_PHRASE = re.compile(
    r"(?i:(?:seed|recovery|secret|wiederherstellungs)[ \-]?(?:phrase|words|wörter)|mnemonic|bip-?39)"
    r"[^:=\n\"]{0,60}?[:=\n\"]"
)
_UUID = r"(?i)[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}"
_MIN_LONG_CODE = 16
_WORD = r"[a-z]{3,8}"
_PHRASES = (12, 15, 18, 21, 24)
"""The numbers of words that a phrase of BIP-39 may have."""

_TOKENS = re.compile(r"[^\s,;]+")


@dataclass(frozen=True, slots=True)
class LineForm:
    """A kind of secret that is recognized by a form of lines.

    `spans` is called with the text and the position of each of `words` (in small letters); it returns
    the secrets there, and the position from which to search on.
    """

    kind: str
    address: str
    words: tuple[str, ...]
    spans: Callable[[str, int], tuple[list[Span], int]]

    def matches(self, text: str, plain: str, word: str) -> Iterator[Span]:
        """Yield the begin and end of each secret that is found at a word; `plain` is the text in small letters."""
        at = plain.find(word)
        while at >= 0:
            found, end = self.spans(text, at)
            yield from found
            at = plain.find(word, max(end, at + 1))


def _line_of(text: str, at: int) -> Span:
    end = text.find("\n", at)
    return text.rfind("\n", 0, at) + 1, len(text) if end < 0 else end


def _cells_of(line: str, start: int, delimiter: str) -> list[Span]:
    """Return the begin and end of each cell of a line, without the padding around its value."""
    spans, at = [], start
    for cell in line.split(delimiter):
        bare = cell.strip(_CELL_PADDING + "\r")
        begin = at + (cell.find(bare) if bare else 0)
        spans.append((begin, begin + len(bare)))
        at += len(cell) + 1
    if delimiter == "|":
        # Some tables have a border, which gives an empty cell at each end.
        spans = [each for each in spans if each[0] < each[1]] or spans
    return spans


def _column_secrets(text: str, at: int) -> tuple[list[Span], int]:
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
    heads = [text[slice(*each)] for each in _cells_of(line, start, delimiter)]
    if len(heads) < 2 or not all(re.fullmatch(_HEADING, each) for each in heads):
        return [], end
    named = {n: match for n, each in enumerate(heads) if (match := re.fullmatch(_COLUMN, each))}
    if not named:
        return [], end
    found: list[Span] = []
    while end < len(text):
        start, end = end + 1, _line_of(text, end + 1)[1]
        row = text[start:end]
        if re.fullmatch(_SEPARATOR_ROW, row) and "-" in row:
            continue
        cells = _cells_of(row, start, delimiter)
        if delimiter not in row or len(cells) != len(heads):
            break
        for n, match in named.items():
            if is_value_of(text[slice(*cells[n])], is_password=match["password"] is not None):
                found.append(cells[n])
    return found, end


def _pgpass_secret(text: str, at: int) -> tuple[list[Span], int]:
    port = _PORT.search(text, at)
    if port is None:
        return [], len(text)
    start, end = _line_of(text, port.start())
    match = re.compile(_PGPASS).fullmatch(text, start, end)
    if match is None or not is_value_of(match["secret"], is_password=True):
        return [], end
    return [match.span("secret")], end


def _tokens(text: str, at: int) -> Iterator[tuple[int, str]]:
    """Yield the words after a name, each after its position, without marks of lists and quotes."""
    for each in _TOKENS.finditer(text, at, min(len(text), at + _SEARCHED_AFTER_NAME)):
        bare = each[0].strip("\"'`*.:()[]")
        if bare and not re.fullmatch(_LIST_MARKER, each[0]):
            yield each.start() + each[0].find(bare), bare


def _recovery_codes(text: str, at: int) -> tuple[list[Span], int]:
    """Return the span of the codes, several or a long one, that follow a name such as “recovery codes”."""
    if _NAME_OF_CODES.match(text, at) is None:
        return [], at + 1
    found: list[tuple[int, str]] = []
    for begin, token in _tokens(text, at):
        if _is_code(token):
            found.append((begin, token))
        elif found or begin - at > _LONGEST_GAP:
            break
    # Groups of four digits are halves of a code.
    whole = sum(0.5 if len(token) == 4 else 1 for _, token in found)
    is_long = len(found) == 1 and len(found[0][1]) >= _MIN_LONG_CODE
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


def _seed_phrase(text: str, at: int) -> tuple[list[Span], int]:
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
        _column_secrets,
    ),
    LineForm(
        "PostgreSQL password file",
        "https://www.postgresql.org/docs/current/libpq-pgpass.html",
        (":",),
        _pgpass_secret,
    ),
    LineForm(
        "recovery codes",
        "https://docs.github.com/en/authentication/securing-your-account-with-two-factor-authentication-2fa/configuring-two-factor-authentication-recovery-methods",
        ("recovery", "backup", "scratch", "wiederherstellungs", "sicherungs", "notfall"),
        _recovery_codes,
    ),
    LineForm(
        "seed phrase",
        "https://github.com/bitcoin/bips/blob/master/bip-0039.mediawiki",
        ("seed", "mnemonic", "recovery", "secret", "wiederherstellungs", "bip"),
        _seed_phrase,
    ),
)  # fmt: skip
"""The kinds of secrets that are recognized by the form of whole lines."""
