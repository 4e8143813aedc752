"""Find what in a text reads as instructions to whoever reads it: orders, role tags, hidden characters."""

import re
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Mark:
    """A way in which a text reads as instructions; tried only if one of `words` (small letters) is there."""

    name: str
    words: tuple[str, ...]
    pattern: str

    def is_in(self, text: str, plain: str) -> bool:
        """Tell whether a text has it; `plain` is the text in small letters."""
        if self.words and not any(word in plain for word in self.words):
            return False
        return re.compile(self.pattern).search(text) is not None


_EARLIER = r"(?:previous|prior|above|earlier|preceding|existing|foregoing|initial|system|safety)"
_ORDERS = (
    r"(?:instructions?|prompts?|rules|messages?|directives?|guidelines|commands|context|guardrails)"
)

MARKS = (
    Mark(
        "asks to ignore earlier instructions",
        ("ignor", "disregard", "forget", "override", "bypass", "vergiss", "olvida", "oublie"),
        rf"(?i)\b(?:ignore|disregard|forget|override|bypass)\s(?:\w{{1,10}}\s){{0,3}}?{_EARLIER}\s"
        rf"(?:\w{{1,12}}\s){{0,2}}?{_ORDERS}\b"
        r"|\b(?:ignore|disregard|forget|override|bypass)\s(?:all\s)?your\s(?:rules|guidelines|training|instructions|system prompt)"
        rf"|\b(?:ignore|disregard|forget)\s(?:all|any|everything)\s(?:of\s)?(?:the\s|your\s|my\s|these\s)?"
        rf"(?:{_ORDERS}|(?:you|that)\s(?:know|were|was))"
        r"|\b(?:ignorier\w{0,3}|vergiss|missachte)\s(?:\w{1,10}\s){0,3}?(?:vorherigen?|bisherigen?|obigen?|früheren?)\s"
        r"(?:\w{1,12}\s)?(?:Anweisung|Regel|Befehl|Vorgabe)"
        r"|\b(?:ignora|olvida)\w{0,3}\s(?:\w{1,10}\s){0,3}?(?:instrucciones|reglas|órdenes)"
        r"|\b(?:ignore[zr]?|oublie[zr]?)\s(?:\w{1,10}\s){0,3}?(?:instructions|consignes|règles)\s(?:précédentes|antérieures)",
    ),
    Mark(
        "has role tags",
        ("system", "assistant", "inst]", "<|", "user"),
        r"(?i)</?(?:system|assistant|user|developer|human)(?:[_-](?:prompt|message|reminder|instructions?))?\s{0,2}>"
        r"|\[/?INST\]|<<SYS>>|<\|(?:im_start|im_end|system|assistant|user|endoftext|eot_id|start_header_id)\|>"
        r"|(?m:^#{1,4}\s?(?:system|assistant)(?: prompt| message|)\s?:?\s?$)|(?m:^(?:system|assistant)\s?:\s\S)",
    ),
    Mark(
        "has tool-call markup",
        ("tool_call", "function_call", "invoke", "tool_use", "tool_code", "tool_result"),
        r"(?i)</?(?:\w{1,10}:)?(?:tool_calls?|function_calls?|function_results?|tool_use|tool_results?|invoke)\b[^>\n]{0,100}>"
        r"|\"(?:tool_calls|function_call|tool_use)\"\s?:|```tool_(?:code|call)",
    ),
    Mark(
        "asks to keep something from the user",
        ("tell", "inform", "mention", "reveal", " let", "notify", " nicht", "digas", "ne dis", "ne le dis"),
        r"(?i)\b(?:do not|don't|never|without)\s(?:ever\s)?(?:tell|telling|inform|informing|mention(?:ing)?|reveal(?:ing)?|notify|notifying|let|letting)"
        r"\s(?:(?:this|it|that|anything)\s)?(?:to\s|about\s)?(?:the\s|your\s)?(?:user|human|owner|operator|person)\b"
        r"|\bsag\w{0,2}\s(?:es\s|das\s)?dem (?:Nutzer|Benutzer)\snicht|\bno (?:le )?digas\w{0,2}\s(?:nada\s)?al usuario|\bne (?:le )?dis\s(?:rien\s)?(?:pas\s)?à l'utilisateur",
    ),
    Mark(
        "gives the reader a new role",
        ("you are now", "act as", "pretend", "new instructions", "developer mode", "jailbr", "du bist jetzt", "ahora eres", "from now on"),
        r"(?i)\byou are now\s(?:a|an|in|the|no longer|free|dan)\b|\b(?:new|updated|real|actual) (?:system )?instructions?\s?:|\bdeveloper mode\b|\bjailbr(?:eak|oken)"
        r"|\b(?:pretend|act as if)\s(?:that\s)?you (?:are|have|were)\b|\bfrom now on,? you (?:will|must|are|should)\b|\bdu bist jetzt (?:ein|eine|kein)|\bahora eres (?:un|una)\b",
    ),
    Mark(
        "asks for the reader's own instructions or secrets",
        ("system prompt", "your instructions", "credentials", "api key", "environment variables", "secrets", ".env", "private key", "id_rsa"),
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
)

KINDS: tuple[str, ...] = (*(each.name for each in MARKS), HIDDEN)


def marks_of(text: str) -> list[str]:
    """Return in which ways a text reads as instructions; none for nearly every text.

    It says nothing of what the text means to do: a text about such orders that quotes one has the mark too.
    """
    plain = text.lower()
    found = [each.name for each in MARKS if each.is_in(text, plain)]
    if not text.isascii() and re.search(_HIDDEN, text) and not _is_flag(text):
        found.append(HIDDEN)
    return found


def _is_flag(text: str) -> bool:
    """Tell whether the tag characters of a text are those of a regional flag, which begins with U+1F3F4."""
    rest = re.sub("\U0001f3f4[\U000e0020-\U000e007e]{1,10}\U000e007f", "", text)
    return re.search(_HIDDEN, rest) is None
