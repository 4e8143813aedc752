"""The maker of a commit: the proof by which a store knows its own, and signatures that a person trusts."""

import hashlib
import hmac
import json
import subprocess
from collections.abc import Collection, Iterable, Mapping
from pathlib import Path
from tempfile import TemporaryDirectory

from minutebook.features.ledger.git import markdown
from minutebook.record.records import Decision

KEY_BYTES = 32
"""Random bytes of the key with which a store proves its own commits."""

_SECONDS = 60
_TRUSTED = ("fully", "ultimate")
_FORMAT = "%H%x00%G?%x00%GT%x00%GS"


def proof_of(key: bytes, organization: str, act: str, written: Iterable[Decision]) -> str:
    """Return the HMAC-SHA-256 of an act's id and of every decision that its commit writes, in hexadecimal.

    It covers no parent and no path, so it holds after a rebase.
    """
    files = sorted(hashlib.sha256(markdown.render(each)).hexdigest() for each in written)
    return hmac.digest(key, json.dumps([organization, act, files]).encode(), "sha256").hex()


def is_proved(
    key: bytes, organization: str, trailers: Mapping[str, str], written: Iterable[Decision]
) -> bool:
    """Tell whether the store with this key made the commit that has these trailers and writes these decisions."""
    if not {"Act", "Proof"} <= trailers.keys():
        return False
    expected = proof_of(key, organization, trailers["Act"], written)
    return hmac.compare_digest(expected.encode(), trailers["Proof"].encode())


def signers(objects: Path, commits: Collection[str]) -> dict[str, str]:
    """Return the signers of commits, by commit: for signatures that Git calls good, by a key of full trust.

    The person's own Git settings say which keys these are (`gpg.ssh.allowedSignersFile`, GnuPG's keyring).
    Those of the repository are not read: whoever sends one could name keys and programs there. Empty
    where there is no Git program or it does not answer.
    """
    if not commits:
        return {}
    with TemporaryDirectory(prefix="minutebook-") as name:
        folder = Path(name)
        (folder / "objects" / "info").mkdir(parents=True)
        (folder / "refs").mkdir()
        (folder / "HEAD").write_text("ref: refs/heads/main\n", encoding="ascii")
        (folder / "objects" / "info" / "alternates").write_text(f"{objects}\n", encoding="utf-8")
        command = ["git", f"--git-dir={folder}", "log", "--no-walk=unsorted", "--stdin"]
        try:
            done = subprocess.run(  # noqa: S603 - the person's own Git
                [*command, f"--format={_FORMAT}"],
                input="\n".join(sorted(commits)).encode(),
                cwd=folder,
                capture_output=True,
                timeout=_SECONDS,
                check=False,
            )
        except (OSError, subprocess.TimeoutExpired):
            return {}
    lines = done.stdout.decode("utf-8", "replace").splitlines()
    parts = [line.split("\0") for line in lines if line.count("\0") == 3]
    return {
        commit: signer
        for commit, verdict, trust, signer in parts
        if verdict == "G" and trust in _TRUSTED
    }
