"""A title for a memory that was given none: how its text begins."""

import re

MAX_TITLE_WORDS = 12
MAX_TITLE_CHARACTERS = 100

_MARKS = re.compile(r"^(?:#{1,6}\s+|[-*+>•]\s+|\d{1,3}[.)]\s+|\[[ xX]\]\s+)+")
_EMPHASIS = re.compile(r"\*\*|`")
_SENTENCE_END = re.compile(r"(?<=[.!?…])[\"'”’)\]*_`]*\s+(?=\S)|(?<=[。！？])")
_ABBREVIATED = re.compile(
    r"(?:^|[\s(])(?:[^\W\d_]|e\.g|i\.e|etc|vs|cf|no|dr|mr|mrs|st|z\.B|bzw|ca|nr)\.$", re.IGNORECASE
)


def title_from(text: str) -> str:
    """Return the first sentence of the first line with a word in it, without marks of Markdown.

    At most 12 words and 100 characters: of a longer one as many whole words as fit, and "…". Empty if
    there is no word.
    """
    lines = (_EMPHASIS.sub("", _MARKS.sub("", line.strip())) for line in text.splitlines())
    line = next((each for each in lines if any(map(str.isalnum, each))), "")
    return _shortened(_first_sentence(" ".join(line.split())))


def _first_sentence(line: str) -> str:
    for match in _SENTENCE_END.finditer(line):
        sentence = line[: match.start()]
        if any(map(str.isalnum, sentence)) and not _ABBREVIATED.search(sentence):
            return sentence
    return line


def _shortened(sentence: str) -> str:
    whole = sentence.rstrip(" .:;,*_`")
    words = whole.split(" ")
    if len(words) <= MAX_TITLE_WORDS and len(whole) <= MAX_TITLE_CHARACTERS:
        return whole
    kept = " ".join(words[:MAX_TITLE_WORDS])
    if len(kept) >= MAX_TITLE_CHARACTERS:
        kept = kept[:MAX_TITLE_CHARACTERS]
        # A word longer than a title is the only one that is cut.
        kept = kept.rpartition(" ")[0] or kept[: MAX_TITLE_CHARACTERS - 1]
    return f"{kept.rstrip(' .:;,')}…"
