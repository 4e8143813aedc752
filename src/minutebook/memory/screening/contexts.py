"""Secrets that are recognized by their context: in URLs, headers, keys, assignments."""

import base64
import re
import tomllib
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

from minutebook.memory.screening.randomness import (
    classes_of,
    entropy,
    is_identifier,
    is_made_of_words,
    is_placeholder,
)

Judge = Callable[[re.Match[str]], bool]
"""Tells whether a match of an expression is a secret."""

_MIN_PASSWORD = 6
_MIN_SHORT_KEY = 10
_MIN_KEY = 16
_KEY_BITS = 3.0
_PASSPHRASE_WORDS = 4
_UUID = r"[0-9a-fA-F]{8}-(?:[0-9a-fA-F]{4}-){3}[0-9a-fA-F]{12}"
_CODE = r"[()\[\]{}<>\s]|::|\$\(|^[$@%&*/.~#]|^https?:|^arn:|^data:|^file:"
_MEMBER = r"[A-Za-z_]\w*(?:\.[A-Za-z_]\w*)+"
_METADATA_SUFFIX = (
    r"(?i)(?:\As|name|id|ids|file|path|url|uri|field|type|hash|hashed|length|len|count|policy|ttl|expiry|expires|"
    r"expires_in|header|env|ref|arn|digest|label|prefix|version|hint|hasher|limit|usage|budget|strength|"
    r"rotation|size|stdin|store|command|prompt|column|regex|pattern|format|min|max|validator|error|timeout|lifetime)\Z"
)


def _is_no_placeholder(match: re.Match[str]) -> bool:
    return not is_placeholder(match["secret"])


@dataclass(frozen=True, slots=True)
class SecretContext:
    """A kind of secret that is recognized by its surroundings.

    The expression is tried only where one of `words` (in small letters) stands, so that the whole text
    need not be matched against it. Its group `secret` is the secret itself. Each repetition in it is
    bounded and has no alternatives inside.
    """

    kind: str
    address: str
    words: tuple[str, ...]
    expression: str
    judge: Judge

    def matches(self, text: str, plain: str, word: str) -> Iterator[tuple[int, int]]:
        """Yield the begin and end of each secret that is found at a word; `plain` is the text in small letters."""
        match = re.compile(self.expression).match
        position = plain.find(word)
        while position >= 0:
            found = match(text, position)
            end = position + 1
            if found is not None and self.judge(found):
                yield found.span("secret")
                end = found.end("secret")
            position = plain.find(word, end)


def _is_userinfo(match: re.Match[str]) -> bool:
    secret = match["secret"]
    return not is_placeholder(secret) and not secret.startswith(("$", "%", "{", "["))


def _is_typed(match: re.Match[str]) -> bool:
    return _is_no_placeholder(match) and not match["secret"].isdigit()


def _is_credential(match: re.Match[str]) -> bool:
    secret = match["secret"]
    return _is_no_placeholder(match) and classes_of(secret) > 1 and not is_made_of_words(secret)


def _is_assigned(match: re.Match[str]) -> bool:
    """Tell whether the value assigned to a name like `password` or `api_key` is a secret."""
    value, name = match["secret"], match["name"].casefold()
    before = match.string[max(0, match.start() - _LONGEST_PREFIX) : match.start()]
    is_tag = match["tag"] is not None
    if not re.search(_TAG, before) if is_tag else before.endswith((":", "/")):
        return False
    follows_blank = match["blank"] is not None
    if follows_blank and not re.search(_TAKES_VALUE, before):
        return False
    if re.search(_METADATA_SUFFIX, match["rest"]) or not _is_plain(value):
        return False
    if name in _SHORT_NAMES and (
        match["rest"]
        or before[-1:].isalnum()
        or not (follows_blank or is_tag or re.search(_ASSIGNS, match["sign"]))
    ):
        return False
    if name == "key" and not re.search(_KEY_OF, before):
        return False
    if name == "token" and re.search(_NO_CREDENTIAL, before):
        return False
    is_prose = match["sign"].strip(" :").replace(" ", "").isalpha()
    if match["quote"] == "" and is_prose and classes_of(value) <= 2:
        return False
    if name.startswith(_PASSWORDS):
        return _is_password(value)
    return _is_key(value, is_token=name == "token" and not before.casefold().endswith("auth"))


def is_value_of(value: str, *, is_password: bool) -> bool:
    """Tell whether a value under a heading for passwords (with `is_password`) or for keys is a secret."""
    return _is_plain(value) and (
        _is_password(value) if is_password else _is_key(value, is_token=False)
    )


def _is_plain(value: str) -> bool:
    """Tell whether a value is literal: neither a placeholder nor code nor a dotted name."""
    return not (is_placeholder(value) or re.search(_CODE, value) or re.fullmatch(_MEMBER, value))


def _is_random_key(match: re.Match[str]) -> bool:
    return entropy(match["secret"][30:]) > _KEY_BITS


def _is_value(match: re.Match[str]) -> bool:
    is_named = match[0].rstrip("\"'").casefold().endswith(_NAME_ENDS)
    return is_named and is_value_of(match["secret"], is_password=bool(match["password"]))


def _is_basic(match: re.Match[str]) -> bool:
    """Tell whether a secret is a user and a password in base 64."""
    try:
        user, sign, password = (
            base64.b64decode(match["secret"], validate=True).decode().partition(":")
        )
    except ValueError:
        return False
    return bool(user and sign) and len(password) >= 3 and f"{user}{password}".isprintable()


def _is_password(value: str) -> bool:
    if len(value) < _MIN_PASSWORD:
        return False
    if is_made_of_words(value):
        words = re.split(r"[-. ]", value)
        has_digits = value[-1].isdigit() and not value[0].isdigit() and len(words) == 1
        return value.isdigit() or has_digits or len(words) >= _PASSPHRASE_WORDS
    return classes_of(value) > 1


def _is_key(value: str, *, is_token: bool) -> bool:
    if is_made_of_words(value) or is_identifier(value) or (is_token and re.fullmatch(_UUID, value)):
        return False
    classes = classes_of(value)
    if len(value) < _MIN_KEY:
        return len(value) >= _MIN_SHORT_KEY and classes > 2 and entropy(value) >= _KEY_BITS
    return classes > 1 and any(c.isdigit() for c in value) and entropy(value) >= _KEY_BITS


_PASSWORDS = (
    "pass", "pw",  "kennwort", "contrase", "mot de passe", "wachtwoord", "hasło", "senha",
    "пароль", "密码", "密碼", "パスワード", "비밀번호",
)  # fmt: skip
_LONGEST_PREFIX = 48
_TAG = r"<(?:[\w\-.]{1,20}:|)[\w\-.]{0,30}\Z"
"""Matches the text before a name that is a tag's."""
_TAKES_VALUE = r"(?:(?:^|\s)--[\w\-]{0,30}|\b(?:setx|setenv|SetEnv|ENV|set -[a-zA-Z]{1,3})\s{1,3}[\"']?\w{0,30})\Z"
"""Matches the text before a name whose value follows after a blank: an option, or a command that sets a variable."""
_ASSIGNS = r"[=:：]"
_SHORT_NAMES = ("pass", "pw", "pwd")
"""The names of passwords that are also parts of other words."""
_KEY_OF = r"(?i:api|access|secret|private|auth|signing|encryption|account|master|service|license|app)[_\- ]?\Z"
_NO_CREDENTIAL = r"(?i:page|next|continuation|sync|cursor|csrf|xsrf|cancellation|pad|eos|bos|stop|special|design)[_\- ]?\Z"
_NAME_ENDS = (
    *("password", "passwd", "passwort", "passphrase", "pwd", "kennwort"),
    *("secret", "token", "apikey", "api_key", "api-key"),
)

NAMES = (
    "pass", "pw", "mot de passe", "secret", "token", "key", "kennwort", "contrase", "wachtwoord", "hasło",
    "senha", "пароль", "密码", "密碼", "パスワード", "비밀번호",
)  # fmt: skip
"""Words in the names of passwords and keys, in small letters."""

_JUDGES: dict[str, Judge] = {
    "is_no_placeholder": _is_no_placeholder,
    "is_random_key": _is_random_key,
    "is_userinfo": _is_userinfo,
    "is_typed": _is_typed,
    "is_credential": _is_credential,
    "is_basic": _is_basic,
    "is_value": _is_value,
    "is_assigned": _is_assigned,
}


def _contexts() -> Iterator[SecretContext]:
    file = Path(__file__).with_name("contexts.toml").read_text(encoding="utf-8")
    for each in tomllib.loads(file)["context"]:
        yield SecretContext(
            each["kind"],
            each["address"],
            tuple(each["words"]),
            "".join(each["expression"]),
            _JUDGES[each.get("judge", "is_no_placeholder")],
        )


CONTEXTS = tuple(_contexts())
"""The kinds of secrets that are recognized by their context, as `contexts.toml` lists them; the surest first."""
