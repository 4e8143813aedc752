"""Build all that a release offers into dist/: `make dist`.

SOURCE_DATE_EPOCH is the time that archives say; without it the last commit's. The same sources and
lock then give the same bytes.
"""

import argparse
import hashlib
import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

from tools.packages.archives import write_zip
from tools.packages.bundle import bundle
from tools.packages.extensions import EXTENSIONS
from tools.packages.facts import Facts, facts_of
from tools.packages.materials import materials
from tools.packages.registries import formula, server_json
from tools.packages.requirements import released

ROOT = Path(__file__).resolve().parents[2]
DIGESTS = "SHA256SUMS"


def main() -> None:
    """Build, and print each file with its size."""
    parser = argparse.ArgumentParser(prog="make dist", description=__doc__)
    parser.add_argument("--out", type=Path, default=ROOT / "dist", help="replaced if it is there")
    out = parser.parse_args().out
    build(ROOT, out)
    for path in sorted(out.iterdir()):
        print(f"{path.stat().st_size:>12,}  {path.name}")


def build(root: Path, out: Path) -> None:
    """Build everything into a folder, which is emptied first.

    Raises CalledProcessError if the wheel or the sdist cannot be built, or Git cannot say the time.
    """
    facts, epoch = facts_of(root), _epoch(root)
    shutil.rmtree(out, ignore_errors=True)
    out.mkdir(parents=True)
    build_python(root, out, epoch, "sdist", "wheel")
    wheel = out / f"{facts.name}-{facts.version}-py3-none-any.whl"
    requirements = released((root / "requirements.lock").read_text(encoding="utf-8"))
    lock = out / _name(facts, "requirements.txt")
    _write(lock, "".join(each.line for each in requirements))
    _write(out / _name(facts, "cdx.json"), materials(facts, requirements, epoch))
    for client, extension in EXTENSIONS.items():
        name = f"{facts.name}-{client}-{facts.version}.zip"
        write_zip(out / name, extension.files(facts, root), epoch)
    licence = (root / "LICENSE").read_bytes()
    packed = out / f"{facts.name}-{facts.version}.mcpb"
    write_zip(packed, bundle(facts, requirements, wheel.name, wheel.read_bytes(), licence), epoch)
    described = server_json(facts, packed.name, _digest(packed))
    _write(out / "server.json", json.dumps(described, indent=2) + "\n")
    named = [(each.name, _digest(each)) for each in (wheel, lock)]
    _write(out / f"{facts.name}.rb", formula(facts, named[0], named[1]))
    lines = [f"{_digest(path)}  {path.name}\n" for path in sorted(out.iterdir())]
    _write(out / DIGESTS, "".join(lines))


def build_python(root: Path, out: Path, epoch: int, *targets: str) -> None:
    """Build a wheel, an sdist or both by the locked build backend, which fetches nothing.

    Raises CalledProcessError if that fails.
    """
    chosen = [word for target in targets for word in ("--target", target)]
    subprocess.run(
        [sys.executable, "-P", "-m", "hatchling", "build", "--directory", str(out), *chosen],
        cwd=root,
        env={**os.environ, "SOURCE_DATE_EPOCH": str(epoch)},
        check=True,
        stdout=subprocess.DEVNULL,
    )
    # The build backend leaves one beside what it builds.
    (out / ".gitignore").unlink(missing_ok=True)


def _epoch(root: Path) -> int:
    given = os.environ.get("SOURCE_DATE_EPOCH")
    if given:
        return int(given)
    command = ["git", "log", "-1", "--format=%ct"]
    return int(subprocess.run(command, cwd=root, check=True, capture_output=True).stdout)


def _name(facts: Facts, ending: str) -> str:
    separator = "-" if ending.startswith("requirements") else "."
    return f"{facts.name}-{facts.version}{separator}{ending}"


def _write(path: Path, text: str) -> None:
    path.write_text(text, encoding="utf-8", newline="\n")


def _digest(path: Path) -> str:
    return hashlib.sha256(path.read_bytes()).hexdigest()


if __name__ == "__main__":
    main()
