"""Find instructions to the reader inside a text: orders, role tags, hidden characters."""

import hashlib
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cache

from minutebook.screening.disguises import as_read

REACH = 150
"""How many characters before and after one of its words a match of a pattern may reach."""


@dataclass(frozen=True, slots=True)
class Mark:
    """A way in which a text reads as instructions; tried around `words`, in small letters, as the text is, too.

    Each match of the pattern must hold one of the words, and go on for no more than `reach` before and after it.
    """

    name: str
    words: tuple[str, ...]
    pattern: str
    reach: int = REACH

    def is_in(self, text: "_Lowered") -> bool:
        """Tell whether a text has it."""
        words = [word for hint, word in _hinted(self.words) if hint in text.vocabulary]
        if not words:
            return False
        pattern = re.compile(self.pattern)
        return any(
            pattern.search(window)
            for form in text.forms
            for window in _windows(words, form, self.reach)
        )


class _Lowered:
    """A text in small letters: on one line, and as it is where that differs."""

    def __init__(self, text: str) -> None:
        lowered = text.lower()
        words = lowered.split()
        line = " ".join(words)
        self.forms = (line,) if line == lowered else (line, lowered)
        # Each word once: a long text repeats most of its words, and this is searched several times as quickly.
        self.vocabulary = f" {' '.join(set(words))} "


@cache
def _hinted(words: tuple[str, ...]) -> list[tuple[str, str]]:
    """Return each of the words with a hint that stands in the vocabulary of every text that holds it: of several, the longest."""
    return [(max(each.split(), key=len) if " " in each.strip() else each, each) for each in words]


def _windows(words: Sequence[str], text: str, reach: int) -> Iterator[str]:
    """Yield the windows of a text around these words, `reach` characters to each side; windows that meet are one."""
    places = sorted(
        (found.start(), found.end())
        for word in words
        for found in re.finditer(re.escape(word), text)
    )
    start, end = 0, -1
    for first, last in places:
        if first - reach > end:
            if end > 0:
                yield text[start:end]
            start = max(0, first - reach)
        end = max(end, last + reach)
    if end > 0:
        yield text[start:end]


_EARLIER = r"(?:previous|prior|above|earlier|preceding|existing|foregoing|initial|system|safety)"
_ORDERS = r"(?:instructions?|prompts?|rules|messages?|directives?|guidelines|commands|context|guardrails|guidance)"

MARKS = (
    Mark(
        "asks to ignore earlier instructions",
        ("ignor", "disregard", "forget", "override", "bypass", "vergiss", "missacht", "olvida", "oublie", "dimentica", "esqueça",
         "игнорируй", "забудь", "忽略", "无视", "無視", "تجاهل", "무시"),
        rf"(?i)\b(?:ignore|disregard|forget|override|bypass)\s(?:\w{{1,10}}\s){{0,3}}?{_EARLIER}\s"
        rf"(?:\w{{1,12}}\s){{0,2}}?{_ORDERS}\b"
        r"|\b(?:ignore|disregard|forget|override|bypass)\s(?:all\s)?your\s(?:rules|guidelines|training|instructions|system prompt)"
        rf"|\b(?:ignore|disregard|forget)\s(?:all|any|everything)\s(?:of\s)?(?:the\s|your\s|my\s|these\s)?"
        rf"(?:{_ORDERS}|(?:you|that)\s(?:know|were|was))"
        r"|\b(?:ignorier\w{0,3}|vergiss|missachte)\s(?:\w{1,10}\s){0,3}?(?:vorherigen?|bisherigen?|obigen?|früheren?)\s"
        r"(?:\w{1,12}\s)?(?:Anweisung|Regel|Befehl|Vorgabe)"
        r"|\b(?:ignora|olvida)\w{0,3}\s(?:\w{1,10}\s){0,3}?(?:instrucciones|reglas|órdenes)"
        r"|\b(?:ignore[zr]?|oublie[zr]?)\s(?:\w{1,10}\s){0,3}?(?:instructions|consignes|règles)\s(?:précédentes|antérieures)"
        r"|\b(?:ignora\w{0,3}|dimentica\w{0,2})\s(?:\w{1,10}\s){0,3}?(?:istruzioni|regole)\b"
        r"|\b(?:ignore|esqueça)m?\s(?:\w{1,10}\s){0,3}?(?:instruções|regras)\b"
        r"|\b(?:игнорируй|забудь)\w{0,2}\s(?:\w{1,14}\s){0,3}?(?:инструкци|указани|правил)"
        r"|(?:忽略|无视|無視)[^，。\n]{0,8}?(?:之前|以前|以上|先前|前面)[^，。\n]{0,8}?(?:指令|指示|规则|規則|提示)"
        r"|(?:これまで|以前|上記|前)の[^。\n]{0,6}?(?:指示|命令|ルール)[^。\n]{0,8}?無視"
        r"|تجاهل\s(?:\w{1,10}\s){0,3}?(?:التعليمات|الأوامر|القواعد)|(?:이전|위)[^.\n]{0,8}?(?:지시|명령|규칙)[^.\n]{0,8}?무시",
    ),
    Mark(
        "has role tags",
        ("system", "assistant", "developer", "inst]", "<|", "<<sys", "user", "human", "hook_context", "_turn>", "untrusted"),
        r"(?i)</?(?:system|assistant|user|developer|human)(?:[_-](?:prompt|message|reminder|instructions?))?\s{0,2}>"
        r"|\[/?INST\]|<<SYS>>|<\|(?:im_start|im_end|system|assistant|user|endoftext|eot_id|start_header_id)\|>"
        r"|</?(?:hook_context|untrusted_(?:data|text|content)|(?:start|end)_of_turn)>|(?m:^[ >*-]{0,6}human: \S[^\n]{0,2000}\n{1,2}assistant:)"
        r"|(?m:^[ >*'\"`-]{0,10}#{1,4}\s?(?:system|assistant)(?: prompt| message|)\s?:?\s?$)|(?m:^[ >*-]{0,6}assistant\s?:\s\S)"
        r"|(?m:^[ >*'\"`-]{0,10}system\s?:\s(?:you|your|the (?:user|assistant|agent|model)|obey|ignore|do not|don't|always|never|please|new|from now|reply|answer|respond|run|call)\b)",
        reach=2_200,
    ),
    Mark(
        "has tool-call markup",
        ("tool_call", "function_call", "function_result", "invoke", "tool_use", "tool_code", "tool_result"),
        r"(?i)</?(?:\w{1,10}:)?(?:tool_calls?|function_calls?|function_results?|tool_use|tool_results?|invoke)\b[^>\n]{0,100}>"
        r"|\"(?:tool_calls|function_call|tool_use)\"\s?:|\"type\"\s?:\s?\"(?:tool_use|tool_result|function_call)\"|```tool_(?:code|call)",
    ),
    Mark(
        "asks to keep something from the user",
        ("tell", "inform", "mention", "reveal", " let", "notify", " nicht", "digas", "ne dis", "ne le dis", " ask", " wait", " prompt"),
        r"(?i)\b(?:do not|don't|never|without)\s(?:ever\s)?(?:tell|telling|inform|informing|mention(?:ing)?|reveal(?:ing)?|notify|notifying|let|letting)"
        r"\s(?:(?:this|it|that|the|any)(?:\s(?!user\b|human\b)\w{1,12})?\s|anything\s)?(?:to\s|about\s)?(?:the\s|your\s)?(?:user|human|owner|operator|person)\b"
        r"|\bsag\w{0,2}\s(?:es\s|das\s)?dem (?:Nutzer|Benutzer)\snichts?|\bno (?:le )?digas\w{0,2}\s(?:nada\s)?al usuario|\bne (?:le )?dis\s(?:rien\s)?(?:pas\s)?à l'utilisateur"
        r"|\b(?:do not|don't|never|without|no need to)\s(?:ask|asking|wait|waiting|prompt|prompting)\s(?:the (?:user|human|owner) )?(?:for|about) (?:\w{1,10} )?(?:confirmation|permission|approval|consent)\b",
    ),
    Mark(
        "gives the reader a new role",
        ("you are now", "act as", "pretend", "instruction", "developer mode", "jailbr", "du bist jetzt", "ahora eres", "from now on", " ai ", "if you are", "<!--", "coding ", "dear model", "attention model", "language model", "assistant", "agent", "llm", "recall this", "read this"),
        r"(?i)\byou are now\s(?:a|an|in|the|no longer|free|dan)\b|\b(?:new|updated|real|actual) (?:system )?instructions?\s?:|\bdeveloper mode\b|\bjailbr(?:eak|oken)"
        r"|\b(?:pretend|act as if)\s(?:that\s)?you (?:are|have|were)\b|\bfrom now on,? you (?:will|must|are|should)\b|\bdu bist jetzt (?:ein|eine|kein)|\bahora eres (?:un|una)\b"
        r"|\b(?:note|message|attention|instructions?)(?: to| for|:|,)? (?:all |any |the )?(?:ai|llm|language model|coding) (?:agent|assistant|model|reader)s?\b|\b(?:attention|dear) (?:agent|assistant|model)s?\s?[:,]"
        r"|\bif you are (?:a|an|the) (?:ai|llm|(?:large )?language model|(?:ai |coding )?(?:assistant|agent))\b|<!--\s?(?:ai|assistant|agent|model|llm|system)\s?:"
        r"|\bwhen(?:ever)? you (?:recall this|read this(?: note| memory| message)?,? (?:always|first|immediately|you must|run|call|delete|send))\b",
    ),
    Mark(
        "asks for the reader's own instructions or secrets",
        ("system prompt", "instructions", "credentials", "api key", "environment variables", "secrets", ".env", "private key", "id_rsa"),
        r"(?i)\b(?:reveal|print|repeat|show|output|send|post|upload|exfiltrate|leak|email|paste)\s(?:\w{1,10}\s){0,4}?"
        r"(?:system prompt|your (?:initial |original )?instructions|(?:api )?credentials to|api keys? to|environment variables to|secrets to|\.env\b[^\n]{0,20} to|private keys? to|id_rsa)",
    ),
)  # fmt: skip
"""The ways in which a text reads as instructions."""

HIDDEN = "has hidden characters"
"""The mark of characters that a reader of the text does not see."""

# Tags (U+E0000), bidirectional controls, and zero-width characters where no script or emoji needs them.
_HIDDEN = (
    "[\U000e0000-\U000e007f\u202a-\u202e\u2066-\u2069\u2060-\u2064\u00ad]{2}"
    "|[\U000e0001-\U000e007e]|[\u202d\u202e]|(?<=.)[\u200b\ufeff]|(?<=[A-Za-z])[\u200c\u200d](?=[A-Za-z])"
    # Selectors of a variant beyond the one that a sign may have, and fillers of Hangul where no Hangul is.
    "|[\ufe00-\ufe0f\U000e0100-\U000e01ef]{2}|[A-Za-z][\ufe00-\ufe0f\U000e0100-\U000e01ef]|[\u115f\u1160\u3164\uffa0]{2}|(?<=[A-Za-z])[\u3164\uffa0]"
)

_MAY_BE_HIDDEN = "[\u00ad\u115f\u1160\u200b-\u200d\u202a-\u202e\u2060-\u2069\u3164\ufe00-\ufe0f\ufeff\uffa0\U000e0000-\U000e01ef]"
"""The characters that `_HIDDEN` is about: one class is searched much more quickly than its alternatives."""

KINDS: tuple[str, ...] = (*(each.name for each in MARKS), HIDDEN)


KEPT = 10_000
"""Texts whose marks are remembered, by their digests: what is found once is found again."""

_known: dict[bytes, tuple[str, ...]] = {}


def marks_of(text: str) -> list[str]:
    """Return in which ways a text reads as instructions; none for nearly every text.

    It says nothing of what the text means to do: a text about such orders that quotes one has the mark too.
    """
    digest = hashlib.blake2b(text.encode("utf-8", "surrogatepass"), digest_size=16).digest()
    marks = _known.get(digest)
    if marks is None:
        if len(_known) >= KEPT:
            _known.clear()
        marks = _known[digest] = tuple(_sought(text))
    return list(marks)


def _sought(text: str) -> list[str]:
    read = _Lowered(as_read(text))
    found = [each.name for each in MARKS if each.is_in(read)]
    if re.search(_MAY_BE_HIDDEN, text) and re.search(_HIDDEN, text) and not _is_flag(text):
        found.append(HIDDEN)
    return found


def _is_flag(text: str) -> bool:
    """Tell whether the tag characters of a text are those of a regional flag, which begins with U+1F3F4."""
    rest = re.sub("\U0001f3f4[\U000e0020-\U000e007e]{1,10}\U000e007f", "", text)
    return re.search(_HIDDEN, rest) is None
