"""Texts for the tests of chunks: the samples of each language, and what mutation makes of them."""

from dataclasses import dataclass
from pathlib import Path

from hypothesis import strategies as st

FIXTURES = Path(__file__).parent / "fixtures"


@dataclass(frozen=True)
class Sample:
    """A file of one language, and what its chunks are."""

    name: str
    text: str
    outline: list[str]

    def __repr__(self) -> str:
        return self.name


def _sample(path: Path) -> Sample:
    with path.open(encoding="utf-8", newline="") as file:
        text = file.read()
    outline = path.parent / "outline.txt"
    return Sample(path.stem, text, outline.read_text(encoding="utf-8").splitlines())


SAMPLES = [_sample(path) for path in sorted(FIXTURES.glob("*/*.sample"))]

_INSERTED = st.one_of(
    st.text(max_size=20),
    st.sampled_from(
        [
            "\r",
            "\r\n",
            "\n",
            "\0",
            "{",
            "}",
            "(",
            '"',
            '"""',
            "/*",
            "`",
            "<<A\n",
            "  ",
            "\t",
            "#",
            "'",
        ]
    ),
    st.sampled_from(["(\n" * 40, "x" * 3000, "if a:\n " * 30, "{\n" * 70, "\n" * 130, "a\r" * 90]),
)
_ENDINGS = st.sampled_from(["\n", "\r\n", "\r"])


@st.composite
def mutated(draw: st.DrawFn) -> tuple[str, str]:
    """Draw the name of a sample and its text with some parts cut out, doubled or put in."""
    sample = draw(st.sampled_from(SAMPLES))
    text = sample.text
    for _ in range(draw(st.integers(0, 4))):
        start = draw(st.integers(0, len(text)))
        end = min(len(text), start + draw(st.integers(0, 40)))
        inserted = draw(st.one_of(_INSERTED, st.just(text[start:end] * 2), st.just("")))
        text = text[:start] + inserted + text[end:]
    return sample.name, text.replace("\n", draw(_ENDINGS))
