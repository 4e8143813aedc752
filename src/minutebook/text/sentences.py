"""Cut a Markdown text into plain sentences that can stand alone, without code, tables, links and markup."""

import re
from collections.abc import Iterator
from typing import NamedTuple

LONGEST = 300
"""The most characters of a sentence; a longer one is cut off between words."""

LEAST_LETTERS = 8
"""The least letters of a sentence; one with fewer is left out, as it says nothing by itself."""

_FENCED = re.compile(r"^[ \t]*(```+|~~~+).*?(?:^[ \t]*\1[`~]*[ \t]*$|\Z)", re.MULTILINE | re.DOTALL)
_LINK = re.compile(r"!?\[([^\]\n]{0,300})\]\([^)\n]{0,1000}\)")
_URL = re.compile(r"<?\b(?:https?|ftp|file|git|ssh|wss?)://\S*[^\s.,;:!?]", re.IGNORECASE)
_ITEM = re.compile(r"[ \t]*(?:[-*+•]|\d{1,3}[.)]|#{1,6}|>+)[ \t]+(?:\[[ xX]\][ \t]+)?")
_MARKS = re.compile(r"(?<!\w)[*_]{1,3}(?=\S)|(?<=\S)[*_]{1,3}(?!\w)|`")
_END = re.compile(
    r"(?:(?<=[.!?…])|(?<=[.!?…][\"'”’)\]]))\s+(?=[^\sa-z]|[\w-]+[/.]\w)|(?<=[。！？])(?![”’」』）])"
)
_ABBREVIATION = re.compile(
    r"(?:^|[\s(])(?:(?<!\d\s)[A-Za-z]|e\.g|i\.e|etc|vs|cf|approx|no|fig|mr|mrs|ms|dr|st|prof|inc|ltd|al"
    r"|bzw|ca|usw|nr|evtl|ggf|std|sog|inkl|abs|art|sra?|pág|núm|aprox|máx|mín|tel|(?:am|dem|den|vom|zum|bis|der|des|ab|\w+tag,?|mittwoch,?) \d{1,2})\.$",
    re.IGNORECASE,
)
_CODE_LINE = re.compile(
    r"^\s*(?:[$>%]\s|>>>|\.\.\.|at \S+\(|File \"|[+-]{3} |@@ |[{}\[\]();,]+\s*$|\||//|/\*|\*/|import |from \S+ import "
    r"|def \w|class \w+[(:]|return\b.*[;)]$|(?:const|let|var|public|private|func|fn) \w|<[/\w!])"
)


class Piece(NamedTuple):
    """A sentence, and `lead`, the sentence with a colon before the list that it is an item of; empty if there is none."""

    text: str
    lead: str = ""


def sentences(text: str) -> Iterator[str]:
    """Yield the sentences of a text in order, each on one line and without Markdown."""
    return (piece.text for piece in pieces(text))


def pieces(text: str) -> Iterator[Piece]:
    """Yield the sentences of a text in order; those in a list with the sentence that introduces it."""
    text = _LINK.sub(r"\1", _FENCED.sub("\n\n", text))
    lead = ""
    for is_item, paragraph in _paragraphs(_URL.sub("", text)):
        for sentence in _cut(paragraph):
            if sum(map(str.isalpha, sentence)) >= LEAST_LETTERS:
                yield Piece(_shortened(sentence), lead if is_item else "")
            if not is_item:
                lead = sentence if sentence.endswith(":") else ""


def _paragraphs(text: str) -> Iterator[tuple[bool, str]]:
    """Yield the paragraphs of a text, each on one line and with whether it is an item of a list; lines of code are left out."""
    lines: list[str] = []
    is_item = False
    for line in text.splitlines():
        item = _ITEM.match(line)
        says_something = bool(line.strip()) and not _is_code(line)
        if item or not says_something:
            if lines:
                yield is_item, " ".join(lines)
            lines, is_item = [], item is not None
        if says_something:
            plain = line[item.end() :] if item else line
            lines.append(_MARKS.sub("", plain).strip())
    if lines:
        yield is_item, " ".join(lines)


def _cut(paragraph: str) -> Iterator[str]:
    """Yield the sentences of a paragraph; the full stop of an abbreviation ends none."""
    sentence = ""
    for piece in _END.split(paragraph):
        sentence = f"{sentence} {piece}" if sentence else piece
        if not _ABBREVIATION.search(sentence):
            yield sentence.strip()
            sentence = ""
    if sentence:
        yield sentence.strip()


def _is_code(line: str) -> bool:
    """Tell whether a line is of code or a log: by how it begins or ends, or because under 60 % of it are letters."""
    if _CODE_LINE.match(line) or line.rstrip().endswith((";", "{", "=>")):
        return True
    text = "".join(line.replace("`", "").split())
    return len(text) > 20 and sum(map(str.isalpha, text)) < 0.6 * len(text)


def _shortened(sentence: str) -> str:
    """Return a sentence, cut off between words and with an ellipsis if it has more than LONGEST characters."""
    if len(sentence) <= LONGEST:
        return sentence
    kept = sentence[:LONGEST].rstrip()
    whole = kept.rsplit(" ", 1)[0] if " " in kept[LONGEST // 2 :] else kept
    return f"{whole.rstrip(',;:')}…"
