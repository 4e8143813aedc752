"""Hostile files at the doors that read files: refused in our words or left out, nothing read or written elsewhere."""

import io
import json
import tarfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from minutebook.record.filters import Filter
from minutebook.record.records import Memory
from tests.faults.campaign import report
from tests.faults.hostile.exits import STEERS, STYLE
from tests.faults.hostile.house import Answer, House, house
from tests.faults.hostile.items import HERE

DEFAULT = Filter(organization="default")

CANARY = "canary that stands outside"


@dataclass(frozen=True)
class Outside:
    """What stands beside what may be read: a file and a folder, each of which holds the canary."""

    file: Path
    folder: Path

    def target(self, link: str) -> str:
        return {"OUTSIDE": str(self.file), "OUTSIDE_FOLDER": str(self.folder)}.get(link, link)


def text_of(file: Mapping[str, Any]) -> bytes:
    """Return the content of a file; a list has pieces, each with how often it is repeated."""
    text = file.get("text", "")
    whole = text if isinstance(text, str) else "".join(piece * times for piece, times in text)
    return whole.encode()


def packed(path: Path, files: Sequence[Mapping[str, Any]], outside: Outside) -> Path:
    """Write files into an archive as they are named."""
    with tarfile.open(path, "w") as archive:
        for each in files:
            member = tarfile.TarInfo(each["name"])
            if "link" in each or "hard" in each:
                member.type = tarfile.SYMTYPE if "link" in each else tarfile.LNKTYPE
                member.linkname = outside.target(each.get("link", each.get("hard")))
            content = b"" if member.issym() or member.islnk() else text_of(each)
            member.size = len(content)
            archive.addfile(member, io.BytesIO(content))
    return path


def laid(folder: Path, files: Sequence[Mapping[str, Any]], outside: Outside) -> Path:
    """Write files into a folder."""
    for each in files:
        path = folder / each["name"]
        path.parent.mkdir(parents=True, exist_ok=True)
        if "link" in each:
            path.symlink_to(outside.target(each["link"]))
        else:
            path.write_bytes(text_of(each))
    return folder


def let_in(at: House, door: str, files: Sequence[Mapping[str, Any]], outside: Outside) -> Answer:
    """Have a door read files."""
    folder = at.folder / "given"
    folder.mkdir()
    if door == "restore":
        # Into a directory that nobody has open.
        fresh = ("--home", str(at.folder / "home" / "fresh"))
        return at.command("restore", str(packed(folder / "a.tar", files, outside)), *fresh)
    laid(folder, files, outside)
    match door.split():
        case ["import", "archive"]:
            return at.command("import", str(folder / "a.jsonl"))
        case ["import", source]:
            return at.command("import", source, str(folder))
        case _:
            return at.command(door, str(folder))


LINES = [json.loads(line) for line in (HERE / "files.jsonl").read_text("utf-8").splitlines()]


@pytest.mark.parametrize("door", dict.fromkeys(each["door"] for each in LINES))
def test_hostile_files(door: str, tmp_path: Path) -> None:
    counts, wrong = {"items": 0, "refused": 0}, list[str]()
    outside = Outside(tmp_path / "outside.txt", tmp_path / "outside")
    outside.file.write_text(CANARY)
    outside.folder.mkdir()
    (outside.folder / "note.md").write_text(CANARY)
    for item in (each for each in LINES if each["door"] == door):
        folder = tmp_path / item["id"].replace(" ", "-")
        folder.mkdir()
        with house(folder) as one:
            beside = set(tmp_path.rglob("*"))
            answer = let_in(one, door, item["files"], outside)
            counts["items"] += 1
            counts["refused"] += answer.refused
            new = {each for each in set(tmp_path.rglob("*")) - beside if not each.is_relative_to(folder)}  # fmt: skip
            told = STYLE.sub("", answer.text)
            if item["must"] == "refused" and not answer.refused:
                wrong.append(f"{item['id']}: it is not refused: {told[:300]}")
            if item["must"] == "left out" and one.app.infrastructure.store.count(Memory, DEFAULT):
                wrong.append(f"{item['id']}: it was kept: {told[:300]}")
            if new or any(each.name.startswith("owned") for each in folder.rglob("*")):
                wrong.append(f"{item['id']}: it wrote {new}")
            if "Traceback" in told or STEERS.search(told):
                wrong.append(f"{item['id']}: {told[-600:]!r}")
            held = [each for each in one.settings.home.rglob("*") if each.is_file()]
            if CANARY in told or any(CANARY.encode() in each.read_bytes() for each in held):
                wrong.append(f"{item['id']}: it read what stands outside: {told[:300]}")
    report("hostile content", f"files: {door}", **counts, wrong=len(wrong))
    assert not wrong, "\n".join(wrong)
