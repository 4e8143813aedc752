"""What is measured beside Minutebook, in pinned versions, installed outside the project."""

import base64
import hashlib
import json
import shutil
import subprocess
import sys
import tarfile
import tempfile
from collections.abc import Callable, Sequence
from pathlib import Path

from benchmarks.measure import DATA, NotThere

HERE = Path(__file__).parent
CHROMA_LOCK = HERE / "requirements.lock"
COMPARTMENT_LOCK = HERE / "compartment.lock"
NODE_LOCK = HERE / "package-lock.json"
MEMORY_SERVER = "@modelcontextprotocol/server-memory"
LIBSQL_SERVER = "mcp-memory-libsql"


def chroma(*, install: bool) -> Path:
    """Return a Python interpreter that has chromadb. Raises NotThere if it cannot be had."""

    return _python(_in_python("chromadb", CHROMA_LOCK, install=install))


def compartment(*, install: bool) -> Path:
    """Return the command `compartment`. Raises NotThere if it cannot be had."""
    return _python(_in_python("compartment", COMPARTMENT_LOCK, install=install)).with_name(
        "compartment"
    )


def _in_python(name: str, lock: Path, *, install: bool) -> Path:
    def make(folder: Path) -> None:
        _run([sys.executable, "-m", "venv", folder])
        options = ["-m", "pip", "install", "--quiet", "--require-hashes", "--requirement"]
        _run([_python(folder), *options, lock])

    return _installed(name, lock, make, install=install)


def memory_server(*, install: bool) -> list[str | Path]:
    """Return the command that serves `@modelcontextprotocol/server-memory` over stdio. Raises NotThere if there is none."""
    return _on_node(MEMORY_SERVER, install=install)


def libsql_server(*, install: bool) -> list[str | Path]:
    """Return the command that serves `mcp-memory-libsql` over stdio. Raises NotThere if there is none."""
    return _on_node(LIBSQL_SERVER, install=install)


def _on_node(package: str, *, install: bool) -> list[str | Path]:
    node, npm = shutil.which("node"), shutil.which("npm")
    if node is None or npm is None:
        raise NotThere(f"{package}: node and npm are not on the path")

    def make(folder: Path) -> None:
        folder.mkdir(parents=True)
        for name in ("package.json", "package-lock.json"):
            shutil.copy(HERE / name, folder)
        _run([npm, "ci", "--no-audit", "--no-fund", "--ignore-scripts"], folder)

    folder = _installed(package, NODE_LOCK, make, install=install)
    return [node, folder / "node_modules" / package / "dist" / "index.js"]


def npm_package(name: str, version: str, sha512: str, *, install: bool) -> Path:
    """Unpack an npm package; check its digest (base64). Raises NotThere if it cannot be had."""
    npm = shutil.which("npm")
    folder = DATA / "packages" / f"{name}-{version}"
    if folder.exists():
        return folder / "package"
    if npm is None:
        raise NotThere(f"{name}: npm is not on the path")
    if not install:
        raise NotThere(f"{name} is not here yet; a run without --quick fetches it")
    with tempfile.TemporaryDirectory() as scratch:
        try:
            _run([npm, "pack", f"{name}@{version}", "--pack-destination", scratch])
        except subprocess.CalledProcessError as error:
            raise NotThere(f"{name} cannot be fetched: {error.stderr.strip()[-200:]}") from error
        archive = next(Path(scratch).glob("*.tgz"))
        digest = base64.b64encode(hashlib.sha512(archive.read_bytes()).digest()).decode()
        if digest != sha512:
            raise NotThere(f"{archive.name} is not the pinned one: its sha512 is {digest}")
        with tarfile.open(archive) as packed:
            packed.extractall(Path(scratch) / "whole", filter="data")
        folder.parent.mkdir(parents=True, exist_ok=True)
        shutil.move(Path(scratch) / "whole", folder)
    return folder / "package"


def versions() -> str:
    """Name the peers as they are pinned."""
    packages = json.loads(NODE_LOCK.read_text(encoding="utf-8"))["packages"]
    served = (
        f"{name} {packages[f'node_modules/{name}']['version']}"
        for name in (MEMORY_SERVER, LIBSQL_SERVER)
    )
    pinned = (
        next(
            line.split()[0].replace("==", " ")
            for line in lock.read_text("utf-8").splitlines()
            if line.startswith(f"{name}==")
        )
        for name, lock in (("chromadb", CHROMA_LOCK), ("compartment", COMPARTMENT_LOCK))
    )
    return ", ".join((*pinned, *served))


def _installed(name: str, lock: Path, make: Callable[[Path], None], *, install: bool) -> Path:
    digest = hashlib.sha256(lock.read_bytes()).hexdigest()[:8]
    folder = DATA / "peers" / f"{lock.stem}-{digest}"
    whole = folder / ".whole"
    if whole.exists():
        return folder
    if not install:
        raise NotThere(f"{name} is not installed yet; a run without --quick installs it")
    shutil.rmtree(folder, ignore_errors=True)
    folder.parent.mkdir(parents=True, exist_ok=True)
    try:
        make(folder)
    except subprocess.CalledProcessError as error:
        last = (error.stderr or "").strip().splitlines()[-1:] or [str(error)]
        raise NotThere(f"{name} cannot be installed: {last[0]}") from error
    whole.touch()
    return folder


def _python(folder: Path) -> Path:
    return folder / ("Scripts/python.exe" if sys.platform == "win32" else "bin/python")


def _run(command: Sequence[str | Path], cwd: Path | None = None) -> None:
    subprocess.run(command, check=True, cwd=cwd, capture_output=True, text=True)
