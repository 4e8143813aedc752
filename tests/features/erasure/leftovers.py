"""What is left of texts in a folder, found without the code that erases: every file, read whole."""

import tarfile
import zlib
from collections.abc import Iterator, Sequence
from pathlib import Path


def leftovers(folder: Path, words: Sequence[str]) -> set[tuple[str, str]]:
    """Each word that a file holds, in any form, with the name of the file."""
    forms = {
        word: [word.encode(), word.encode("utf-16-le"), word.encode("unicode_escape")]
        for word in words
    }
    return {
        (path.name, word)
        for path in folder.rglob("*")
        if path.is_file()
        for data in _contents(path)
        for word, written in forms.items()
        if any(form in data for form in written)
    }


def _contents(path: Path) -> Iterator[bytes]:
    data = path.read_bytes()
    yield data
    if data[:1] == b"\x78":
        yield zlib.decompress(data)
    if path.suffix == ".tar":
        with tarfile.open(path) as tar:
            for member in tar:
                inner = tar.extractfile(member)
                content = b"" if inner is None else inner.read()
                if content[:1] == b"\x78":
                    yield zlib.decompress(content)
