"""Archives that come out the same each time: sorted, with one time and one mode for all files."""

import zipfile
from collections.abc import Mapping
from datetime import UTC, datetime
from pathlib import Path


def write_zip(path: Path, files: Mapping[str, bytes], epoch: int) -> None:
    """Write files, by their paths within the archive, into a zip file whose bytes depend on nothing else."""
    # A zip file knows no time before 1980.
    time = max(datetime.fromtimestamp(epoch, UTC), datetime(1980, 1, 1, tzinfo=UTC))
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED, compresslevel=9) as archive:
        for name in sorted(files):
            entry = zipfile.ZipInfo(name, time.timetuple()[:6])
            entry.external_attr = 0o100644 << 16
            entry.create_system = 3
            entry.compress_type = zipfile.ZIP_DEFLATED
            archive.writestr(entry, files[name])
