"""The kinds of findings, how often they are looked for, and which are applied unasked."""

from dataclasses import dataclass
from typing import Any

from minutebook.config import Settings
from minutebook.config.kinds import SettingKind, at_least, separated, setting
from minutebook.domain.errors import InvalidInput
from minutebook.domain.reason import Reason
from minutebook.features.tidying.findings import FINDINGS, finding_of, parse_rules

_COMMAS = separated(",", Reason(""))


def _rules(value: Any, folder: str) -> tuple[str, ...]:
    named: tuple[str, ...] = _COMMAS.parse(value, folder)
    try:
        parse_rules(named)
    except InvalidInput as error:
        raise ValueError(value) from error
    return named


def _kinds(value: Any, folder: str) -> tuple[str, ...]:
    named = _COMMAS.parse(value, folder)
    return tuple(str(finding_of(each)) for each in named)


@dataclass(frozen=True, kw_only=True)
class TidyingSettings(Settings):
    """What is tidied, how often, and what of it unasked."""

    tidy_every: float = setting(
        0.0,
        at_least(0.0),
        "Hours from one look for what is to be tidied to the next that the daemon or server takes by "
        "itself; 0: none. `minutebook tidy` looks at once.",
        is_common=True,
    )
    tidy_kinds: tuple[str, ...] = setting(
        tuple(str(each) for each in FINDINGS),
        SettingKind(
            _kinds, Reason("a list of {names}, with commas between", names=", ".join(FINDINGS))
        ),
        "What is looked for.",
    )
    tidy_rules: tuple[str, ...] = setting(
        (),
        SettingKind(_rules, Reason("a list such as duplicate=0.95,expired=0.9")),
        "What a suggestion of a kind is applied by, unasked: the least certainty, such as "
        "`duplicate=0.95,expired=0.9`. None named: nothing without a person.",
    )
