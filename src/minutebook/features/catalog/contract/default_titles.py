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
    text = sentence.rstrip(" .:;,*_`")
    words = text.split(" ")
    if len(words) <= MAX_TITLE_WORDS and len(text) <= MAX_TITLE_CHARACTERS:
        return text
    shortened = " ".join(words[:MAX_TITLE_WORDS])
    if len(shortened) >= MAX_TITLE_CHARACTERS:
        shortened = shortened[:MAX_TITLE_CHARACTERS]
        # A word longer than a title is the only one that is cut.
        shortened = shortened.rpartition(" ")[0] or shortened[: MAX_TITLE_CHARACTERS - 1]
    return f"{shortened.rstrip(' .:;,')}…"
