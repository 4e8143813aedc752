"""Which folders may be indexed."""

from dataclasses import dataclass

from minutebook.config import Settings
from minutebook.config.kinds import ROOTS, setting
from minutebook.record.rights.roots import NamedRoots


@dataclass(frozen=True, kw_only=True)
class CodeSettings(Settings):
    """Which folders may be indexed."""

    index_roots: NamedRoots = setting(
        (),
        ROOTS,
        "Folders that may be indexed, with all below them; none named: all that can be read but "
        "places for secrets, and over HTTP nothing. A list is for callers without a token and for "
        '`organization` (or the default one); a table names others: `acme = ["/srv/acme"]`, or of a '
        'repository only `acme = { api = ["/srv/api"] }`. In the environment: the table as JSON.',
    )
