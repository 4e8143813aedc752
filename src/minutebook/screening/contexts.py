"""Secrets that only their context gives away: in URLs, headers, keys, assignments."""

import base64
import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass

from minutebook.screening.randomness import (
    classes_of,
    entropy,
    is_identifier,
    is_made_of_words,
    is_placeholder,
)

Judge = Callable[[re.Match[str]], bool]
"""Tells whether what an expression found is a secret."""

_LEAST_PASSWORD = 6
_LEAST_SHORT_KEY = 10
_LEAST_KEY = 16
_KEY_BITS = 3.0
_PASSPHRASE_WORDS = 4
_UUID = r"[0-9a-fA-F]{8}-(?:[0-9a-fA-F]{4}-){3}[0-9a-fA-F]{12}"
_CODE = r"[()\[\]{}<>\s]|::|\$\(|^[$@%&*/.~#]|^https?:|^arn:|^data:|^file:"
_MEMBER = r"[A-Za-z_]\w*(?:\.[A-Za-z_]\w*)+"
_IS_ABOUT_IT = (
    r"(?i)(?:\As|name|id|ids|file|path|url|uri|field|type|hash|hashed|length|len|count|policy|ttl|expiry|expires|"
    r"expires_in|header|env|ref|arn|digest|label|prefix|version|hint|hasher|limit|usage|budget|strength|"
    r"rotation|size|stdin|store|command|prompt|column|regex|pattern|format|min|max|validator|error|timeout|lifetime)\Z"
)


def _may_be(match: re.Match[str]) -> bool:
    return not is_placeholder(match["secret"])


@dataclass(frozen=True, slots=True)
class SecretContext:
    """A kind of secret that its surroundings give away.

    `words` (small letters) are where the expression is tried, so that it needs no search of its own.
    The group `secret` is the secret itself. Each repetition has a bound, and no choice inside.
    """

    kind: str
    address: str
    words: tuple[str, ...]
    expression: str
    judge: Judge = _may_be

    def matches(self, text: str, plain: str, word: str) -> Iterator[tuple[int, int]]:
        """Yield where secrets begin and end that follow a word; `plain` is the text in small letters."""
        match = re.compile(self.expression).match
        at = plain.find(word)
        while at >= 0:
            found = match(text, at)
            end = at + 1
            if found is not None and self.judge(found):
                yield found.span("secret")
                end = found.end("secret")
            at = plain.find(word, end)


def _is_userinfo(match: re.Match[str]) -> bool:
    secret = match["secret"]
    return not is_placeholder(secret) and not secret.startswith(("$", "%", "{", "["))


def _is_typed(match: re.Match[str]) -> bool:
    return _may_be(match) and not match["secret"].isdigit()


def _is_credential(match: re.Match[str]) -> bool:
    secret = match["secret"]
    return _may_be(match) and classes_of(secret) > 1 and not is_made_of_words(secret)


def _is_assigned(match: re.Match[str]) -> bool:
    """Tell whether the value that a name like `password` or `api_key` gets is a secret."""
    value, name = match["secret"], match["name"].casefold()
    before = match.string[max(0, match.start() - _LONGEST_PREFIX) : match.start()]
    is_tag = match["tag"] is not None
    if not re.search(_TAG, before) if is_tag else before.endswith((":", "/")):
        return False
    is_given = match["blank"] is not None
    if is_given and not re.search(_TAKES_VALUE, before):
        return False
    if re.search(_IS_ABOUT_IT, match["rest"]) or not _is_plain(value):
        return False
    if name in _SHORT_NAMES and (
        match["rest"]
        or before[-1:].isalnum()
        or not (is_given or is_tag or re.search(_ASSIGNS, match["sign"]))
    ):
        return False
    if name == "key" and not re.search(_KEY_OF, before):
        return False
    if name == "token" and re.search(_NO_CREDENTIAL, before):
        return False
    is_said = match["sign"].strip(" :").replace(" ", "").isalpha()
    if match["quote"] == "" and is_said and classes_of(value) <= 2:
        return False
    if name.startswith(_PASSWORDS):
        return _is_password(value)
    return _is_key(value, is_token=name == "token" and not before.casefold().endswith("auth"))


def is_value_of(value: str, *, is_password: bool) -> bool:
    """Tell whether the value of a column that is named for passwords, or for keys, is a secret."""
    return _is_plain(value) and (
        _is_password(value) if is_password else _is_key(value, is_token=False)
    )


def _is_plain(value: str) -> bool:
    """Tell whether a value stands for itself: neither a placeholder, nor code or a name in it."""
    return not (is_placeholder(value) or re.search(_CODE, value) or re.fullmatch(_MEMBER, value))


def _is_basic(match: re.Match[str]) -> bool:
    """Tell whether a text is a user and a password in base 64."""
    try:
        user, sign, password = (
            base64.b64decode(match["secret"], validate=True).decode().partition(":")
        )
    except ValueError:
        return False
    return bool(user and sign) and len(password) >= 3 and f"{user}{password}".isprintable()


def _is_password(value: str) -> bool:
    if len(value) < _LEAST_PASSWORD:
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
    if len(value) < _LEAST_KEY:
        return len(value) >= _LEAST_SHORT_KEY and classes > 2 and entropy(value) >= _KEY_BITS
    return classes > 1 and any(c.isdigit() for c in value) and entropy(value) >= _KEY_BITS


_PASSWORDS = (
    "pass", "pw",  "kennwort", "contrase", "mot de passe", "wachtwoord", "hasło", "senha",
    "пароль", "密码", "密碼", "パスワード", "비밀번호",
)  # fmt: skip
_LONGEST_PREFIX = 48
_TAG = r"<(?:[\w\-.]{1,20}:|)[\w\-.]{0,30}\Z"
"""What stands before a name that is a tag's."""
_TAKES_VALUE = r"(?:(?:^|\s)--[\w\-]{0,30}|\b(?:setx|setenv|SetEnv|ENV|set -[a-zA-Z]{1,3})\s{1,3}[\"']?\w{0,30})\Z"
"""What stands before a name whose value follows after a blank: an option, a command that sets a variable."""
_ASSIGNS = r"[=:：]"
_SHORT_NAMES = ("pass", "pw", "pwd")
"""Those that are parts of other words."""
_KEY_OF = r"(?i:api|access|secret|private|auth|signing|encryption|account|master|service|license|app)[_\- ]?\Z"
_NO_CREDENTIAL = r"(?i:page|next|continuation|sync|cursor|csrf|xsrf|cancellation|pad|eos|bos|stop|special|design)[_\- ]?\Z"
_ASSIGNED = (
    r"(?i:(?P<name>passw(?:or)?[dt]|passphrase|pass|pwd|pw|kennwort|contrase[nñ]a|mot de passe|wachtwoord|"
    r"hasło|senha|пароль|密码|密碼|パスワード|비밀번호|secret|token|key)(?P<rest>[\w\-]{0,20}?)"
    r"""(?P<sign>["']?,?\s{1,30}["']?value["']?\s{0,2}[:=]\s{0,2}|</(?:key|name)>\s{0,30}<(?:string|value)>|"""
    r"""[\\"'\]`]{0,3}:\s{0,3}[|>][+\-]?\d?[ \t\r]{0,3}\n {1,20}|(?P<tag>(?:\s[^<>\n]{0,80}|)>\s{0,20})|"""
    r"""[\\"'\]`*]{0,3}\s{0,3}(?:=>|:=|==|[:=：])(?:\*\*|)\s{0,3}|\s{0,2}[是为は]\s{0,2}|\s(?=["'`])|"""
    r"\s(?:(?:for|of|to|für|para|pour)\s[\w \-]{1,40}\s|)(?:is|was|to|ist|lautet|est|es|är)[\s:]{1,2}|(?P<blank>[ \t]{1,3})))"
    r"""(?P<quote>[\\"'`*]{0,3})(?P<secret>[^\s"'`\\,;，；。]{4,300}?)"""
    r"""(?=[\])}]{0,3}(?:[\s"'`\\,;，；。]|\*\*|</|\Z)|\Z)"""
)
_PRIVATE_KEY = (
    r"(?:-----BEGIN (?:RSA |EC |DSA |OPENSSH |ENCRYPTED |PGP |)PRIVATE KEY(?: BLOCK|)-----"
    r"(?:[^-]|-(?!----)){16,20000}(?:-----END [A-Z ]{0,30}-----|))"
)
_VALUE = r"[A-Za-z0-9._~+/=\-]"
_NAME_ENDS = (
    "password",
    "passwd",
    "passwort",
    "passphrase",
    "pwd",
    "kennwort",
    "secret",
    "token",
    "apikey",
    "api_key",
    "api-key",
)

NAMES = (
    "pass", "pw", "mot de passe", "secret", "token", "key", "kennwort", "contrase", "wachtwoord", "hasło",
    "senha", "пароль", "密码", "密碼", "パスワード", "비밀번호",
)  # fmt: skip
"""What the names of passwords and keys begin with or have in them, in small letters."""

CONTEXTS: tuple[SecretContext, ...] = (
    SecretContext(
        "private key",
        "https://www.rfc-editor.org/rfc/rfc7468",
        ("-----begin ",),
        rf"(?P<secret>{_PRIVATE_KEY})",
        lambda match: entropy(match["secret"][30:]) > _KEY_BITS,
    ),
    SecretContext(
        "PuTTY private key",
        "https://the.earth.li/~sgtatham/putty/latest/htmldoc/AppendixC.html",
        ("private-lines:",),
        r"Private-Lines: \d{1,4}\s{1,4}(?P<secret>[A-Za-z0-9+/=\s]{40,8000})",
    ),
    SecretContext(
        "password in a URL",
        "https://www.rfc-editor.org/rfc/rfc3986#section-3.2.1",
        ("://",),
        r"://[^\s/:@\"'<>`]{0,100}:(?P<secret>[^\s/@\"'<>`]{3,200})@[\w\[]",
        _is_userinfo,
    ),
    SecretContext(
        "AWS secret key",
        "https://docs.aws.amazon.com/IAM/latest/UserGuide/id_credentials_access-keys.html",
        ("secret",),
        r"""(?i:secret[\w\- .]{0,24}key)["'\]`]{0,2}\s{0,3}(?:=>|[:=]|is\b)\s{0,3}"""
        r"""["'`]{0,1}(?P<secret>[A-Za-z0-9/+]{40})(?![A-Za-z0-9/+=])""",
        _is_credential,
    ),
    SecretContext(
        "Azure SAS signature",
        "https://learn.microsoft.com/azure/storage/common/storage-sas-overview",
        ("sig=",),
        r"sig=(?P<secret>[A-Za-z0-9%+/=]{40,120})",
    ),
    SecretContext(
        "signed URL",
        "https://docs.aws.amazon.com/AmazonS3/latest/userguide/ShareObjectPreSignedURL.html",
        ("x-amz-signature=", "x-goog-signature="),
        r"(?i:x-amz-signature|x-goog-signature)=(?P<secret>[0-9a-f]{64,512})",
    ),
    SecretContext(
        "authorization header",
        "https://www.rfc-editor.org/rfc/rfc9110#section-11.6.2",
        ("authorization", "bearer ", "x-api-key", "private-token", "x-auth-token"),
        r"""(?i:authorization["']{0,1}\s{0,2}[:=]\s{0,2}["']{0,1}(?:bearer|basic|token|bot|ssws|apikey)|"""
        r"""(?:x-api-key|private-token|x-auth-token)["']{0,1}\s{0,2}[:=]["']{0,1}|\bbearer)\s{0,2}["']{0,1}"""
        rf"(?P<secret>{_VALUE}{{16,4000}})",
        _is_credential,
    ),
    SecretContext(
        "password on a command line",
        "https://curl.se/docs/manpage.html#-u",
        (" -u ", " --user ", "sshpass -p", "docker login ", "mysql ", "mysqldump ", "openssl enc ", "wget "),
        r"""(?i:(?: -u | --user )["']{0,1}[^\s:"'$]{1,100}:|sshpass -p\s{0,1}["']{0,1}|"""
        r"""docker login [^\n]{0,80}?(?:-p |--password[ =])|mysql(?:dump|) [^\n]{0,80}?(?<!-)-p|"""
        r"""openssl enc [^\n]{0,80}?-k |wget [^\n]{0,80}?--(?:http-|)password=)["']{0,1}"""
        r"""(?P<secret>[^\s"'$]{3,200})""",
        _is_typed,
    ),
    SecretContext(
        "password in a call",
        "https://requests.readthedocs.io/en/latest/user/authentication/",
        ("auth=(",),
        r"""auth=\(\s{0,2}["'][^"'\n]{1,100}["'],\s{0,2}["'](?P<secret>[^"'\n]{3,200})["']""",
    ),
    SecretContext(
        "session cookie",
        "https://www.rfc-editor.org/rfc/rfc6265",
        ("cookie: ",),
        r"(?i:cookie: [^\n]{0,200}?(?:sess\w{0,20}|sid|token)=)(?P<secret>[A-Za-z0-9%._\-]{20,400})",
        _is_credential,
    ),
    SecretContext(
        "netrc password",
        "https://www.gnu.org/software/inetutils/manual/html_node/The-_002enetrc-file.html",
        ("machine ",),
        r"machine\s{1,3}\S{1,200}\s{1,3}login\s{1,3}\S{1,200}\s{1,3}password\s{1,3}(?P<secret>\S{3,200})",
    ),
    SecretContext(
        "registry credentials",
        "https://docs.docker.com/reference/cli/docker/login/#credential-stores",
        ("auth",),
        r"""auth["']{0,1}\s{0,3}[:=]\s{0,3}["']{0,1}(?P<secret>[A-Za-z0-9+/]{8,400}={0,2})(?![A-Za-z0-9+/=])""",
        _is_basic,
    ),
    SecretContext(
        "password hash of an account",
        "https://man7.org/linux/man-pages/man5/shadow.5.html",
        (":$",),
        r":(?P<secret>\$(?:[1567y]|gy|2[abxy]|sha1)\$[./A-Za-z0-9$=,]{12,200}):\d{0,6}:",
    ),
    SecretContext(
        "password or key before its name",
        "docs/guides/secrets-and-trust.md",
        ("value=",),
        r"""(?i:value=["'](?P<secret>[^"'\n]{4,200})["']\s{1,5}(?:name|key)=["'][\w.\-]{0,40}?"""
        r"""(?P<password>passw(?:or)?[dt]|passphrase|pwd|kennwort|)(?:secret|token|api[_\-]?key|)["'])""",
        lambda match: bool(match[0].rstrip("\"'").casefold().endswith(_NAME_ENDS))
        and is_value_of(match["secret"], is_password=bool(match["password"])),
    ),
    SecretContext(
        "password or key",
        "docs/guides/secrets-and-trust.md",
        NAMES,
        _ASSIGNED,
        _is_assigned,
    ),
)  # fmt: skip
"""Every kind that is found by what stands around it; the surest first."""
