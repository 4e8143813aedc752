"""The files that browsers fetch."""

import hashlib
import re

from minutebook.features.pages.frame.rendering import static_files


def test_the_vendored_file_is_the_one_that_is_noted() -> None:
    noted = re.search(
        r"`htmx\.min\.js` \|.*`([0-9a-f]{64})`",
        (static_files()["htmx.min.js"].parent / "README.md").read_text(),
    )
    assert noted is not None
    assert hashlib.sha256(static_files()["htmx.min.js"].read_bytes()).hexdigest() == noted[1]


def test_no_file_of_ours_names_another_host() -> None:
    assert len(static_files()) > 5
    for path in static_files().values():
        if path.suffix in (".css", ".js") and path.name != "htmx.min.js":
            assert not re.search(r"(https?:)?//[a-z]", path.read_text()), path.name
