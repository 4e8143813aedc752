"""Run the protocol's own conformance suite against a server, and read what it found."""

import json
import re
import tomllib
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

from tests.conformance.npm import ran

KNOWN = Path(__file__).parent / "known.toml"
FINE = frozenset({"SUCCESS", "INFO", "SKIPPED"})

_RESULT = re.compile(r"server-(?P<scenario>.+)-\d{4}-\d\d-\d\dT[^/]*")


@dataclass(frozen=True, slots=True, order=True)
class Check:
    """One check of a scenario, and what the suite says of it."""

    scenario: str
    id: str
    status: str
    message: str

    @property
    def is_fine(self) -> bool:
        """Tell whether nothing was found: no failure, and no warning either."""
        return self.status in FINE


def checked(url: str, revision: str, scratch: Path) -> list[Check]:
    """Run every scenario of one revision of the protocol, the optional ones too."""
    return _run(scratch, url, "--requirements", revision)


def checked_one(url: str, revision: str, scenario: str, scratch: Path) -> list[Check]:
    """Run one scenario as a revision has it."""
    return _run(scratch, url, "--scenario", scenario, "--spec-version", revision)


def checked_extension(url: str, scenario: str, scratch: Path) -> list[Check]:
    """Run one scenario of an extension, which belongs to no revision."""
    return _run(scratch, url, "--scenario", scenario)


def findings(checks: Iterable[Check]) -> dict[str, str]:
    """Return the failed checks, as `scenario:check` with the suite's message."""
    return {
        f"{each.scenario}:{each.id}": f"{each.status}: {each.message}"
        for each in sorted(checks)
        if not each.is_fine
    }


def known(revision: str) -> Mapping[str, str]:
    """Return the known findings of a revision, as a scenario or `scenario:check`, and their reasons."""
    told: dict[str, Mapping[str, str]] = tomllib.loads(KNOWN.read_text(encoding="utf-8"))
    return told.get(revision, {})


def _run(scratch: Path, url: str, *options: str) -> list[Check]:
    output = scratch / "results"
    asked = ("server", "--url", url, "--output-dir", str(output), *options)
    outcome = ran("conformance", *asked, cwd=scratch, seconds=100)
    checks = list(_read(output))
    assert checks, f"the suite ran nothing: {outcome.stdout[-2000:]}{outcome.stderr[-2000:]}"
    return checks


def _read(output: Path) -> Iterator[Check]:
    for path in output.glob("*/checks.json"):
        named = _RESULT.fullmatch(path.parent.name)
        assert named is not None, path
        for each in json.loads(path.read_text(encoding="utf-8")):
            message = each.get("errorMessage") or ""
            yield Check(named["scenario"], each["id"], each["status"], message)
