"""With which key trails are signed."""

from dataclasses import dataclass
from pathlib import Path

from minutebook.config import Settings
from minutebook.config.kinds import FILE, setting


@dataclass(frozen=True, kw_only=True)
class ProofSettings(Settings):
    """With which key trails are signed."""

    audit_key: Path | None = setting(
        None,
        FILE,
        "The private key, outside the data directory, with which a daemon or server signs each minute "
        "where the audit trails end; `minutebook audit key` makes one. None named: they are not signed.",
    )
