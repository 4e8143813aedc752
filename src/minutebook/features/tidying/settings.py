"""The kinds of findings, how often they are looked for, and which are applied unasked."""

from dataclasses import dataclass
from typing import Any, ClassVar

from minutebook.config import Settings
from minutebook.config.kinds import SettingKind, at_least, separated, setting
from minutebook.features.tidying.findings import parse_rules
from minutebook.record.errors import InvalidInput
from minutebook.record.reason import Reason

_COMMAS = separated(",", Reason(""))


def _rules(value: Any, folder: str) -> tuple[str, ...]:
    named: tuple[str, ...] = _COMMAS.parse(value, folder)
    try:
        parse_rules(named)
    except InvalidInput as error:
        raise ValueError(value) from error
    return named


@dataclass(frozen=True, kw_only=True)
class TidyingSettings(Settings):
    """How often tidying looks for disorder, and which suggestions it applies unasked."""

    FORMER: ClassVar[tuple[str, ...]] = ("tidy_kinds",)

    tidy_every: float = setting(
        0.0,
        at_least(0.0),
        "Hours from one look for what is to be tidied to the next that the daemon or server takes by "
        "itself; 0: none. `minutebook tidy` looks at once.",
        is_common=True,
    )
    tidy_rules: tuple[str, ...] = setting(
        (),
        SettingKind(_rules, Reason("a list such as duplicate=0.95,expired=0.9")),
        "What a suggestion of a kind is applied by, unasked: the least certainty, such as "
        "`duplicate=0.95,expired=0.9`. None named: nothing without a person.",
    )
