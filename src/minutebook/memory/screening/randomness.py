"""Tell a random secret from a placeholder, a name or a word."""

import math
import re
from collections import Counter

MIN_ENTROPY = 2.5
"""Bits per character below which a text in the form of a token is no token: 0000…, xxxx…, abcabc…."""

_PLACEHOLDERS = (
    r"x{4}|\*{3}|\.{3}|…|0{8}|1234567890|12345678$|abcdefgh|example|change.?me|place.?holder|redacted"
    r"|your[_\-. ]|dummy|\[secret:|insert[_\-. ]|todo|sample|fake|<|>|\$\{|\{\{|%\(|\}\}"
)
_COMMON_VALUES = frozenset(
    {
        "password", "passwd", "mypassword", "mypass", "pwd", "secret", "token", "none", "null", "nil", "true", "false",
        "undefined", "required", "optional", "string", "text", "hidden", "empty", "unset",
        "default", "hunter", "pass", "test", "user", "admin", "root", "argon2", "argon2i",
        "argon2id", "bcrypt", "scrypt", "pbkdf2", "sha1", "sha256", "sha512", "hs256", "rs256",
        "es256", "md5", "base64", "oauth", "oauth2", "utf8", "utf-8", "basic", "bearer",
        "pass123", "username", "postgres", "guest", "foobar", "secret123",
    }
)  # fmt: skip
_HUMPS = r"[A-Z]*[a-z]+|[A-Z]+|\d+"
_MEAN_HUMP = 4
"""The mean length, at least, of the parts of a name in camel case; a random text has less than two."""
_SEPARATORS = r"[_\-./: ]+"
_PIECE = r"[a-z]+|[A-Z]+|[A-Z]?[a-z]+(?:[A-Z][a-z]+)*|v?\d{1,4}|[a-z]{2,}\d{1,2}|[A-Z]{2,}\d{1,2}"


def entropy(text: str) -> float:
    """Return Shannon's entropy of a text's characters, in bits per character; 0 for an empty text."""
    size = len(text)
    return -sum(n / size * math.log2(n / size) for n in Counter(text).values()) if size else 0.0


def is_placeholder(text: str) -> bool:
    """Tell whether a text stands for a secret in documentation: `your-key`, `xxxx`, `…EXAMPLE`."""
    plain = text.casefold()
    return plain in _COMMON_VALUES or re.search(_PLACEHOLDERS, plain) is not None


def looks_random(text: str) -> bool:
    """Tell whether a token's text was drawn at random, as far as its characters tell."""
    return not is_placeholder(text) and entropy(text) >= MIN_ENTROPY


def is_made_of_words(text: str) -> bool:
    """Tell whether a text reads as a name: words and short numbers between `-`, `_`, `.`, `/`, `:`."""
    return all(re.fullmatch(_PIECE, piece) for piece in re.split(_SEPARATORS, text) if piece)


def is_identifier(text: str) -> bool:
    """Tell whether a text reads as a name in code: words in camel case, `Ed25519PrivateKey`."""
    return text.isalnum() and len(re.findall(_HUMPS, text)) <= len(text) / _MEAN_HUMP


def classes_of(text: str) -> int:
    """Count the classes of characters in a text: small letters, capitals, digits, others."""
    return sum(
        (
            any(c.islower() for c in text),
            any(c.isupper() for c in text),
            any(c.isdigit() for c in text),
            any(not c.isalnum() for c in text),
        )
    )
