"""The key by which spellings of one target of decisions are recognized."""

import re
import unicodedata

_RUNS = re.compile(r"[\s_-]+")


def target_key(target: str) -> str:
    """Return the key that all spellings of a target share.

    It ignores case, compatibility forms (NFKC), invisible characters and blanks at
    the ends; a run of blanks, `-` and `_` becomes one `-`. The order of steps is that of
    NFKC_Casefold in the Unicode standard, section 3.13.
    """
    seen = "".join(each for each in target if unicodedata.category(each) != "Cf")
    folded = unicodedata.normalize("NFD", seen).casefold()
    folded = unicodedata.normalize("NFKC", folded).casefold()
    return _RUNS.sub("-", unicodedata.normalize("NFKC", folded).strip())
