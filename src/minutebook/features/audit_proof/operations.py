"""Prove the audit trail."""

from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

from minutebook.domain.caller import Caller
from minutebook.domain.errors import InvalidInput
from minutebook.domain.records import Head
from minutebook.features.audit_proof.trail_proof import Proof
from minutebook.operations.operation import is_at_keyboard, operation

if TYPE_CHECKING:
    from minutebook.app import App
    from minutebook.features.audit_proof.services import ProofServices


@operation("governance")
def prove(app: "App", caller: Caller, noted: Sequence[Head], key: str | None) -> list[Proof]:
    """Prove each trail against ends that were noted; one without an organization is of the caller's.

    For somebody at this machine, what its key signed last must be there, too.
    """
    ends = [_of_caller(caller, each) for each in noted]
    if is_at_keyboard(caller):
        ends += _services(app).signing.last_signed().values()
        key = key or _services(app).signing.public_key()
    return _services(app).proving.prove(caller, ends, key)


def _of_caller(caller: Caller, noted: Head) -> Head:
    if noted.organization:
        return noted
    if caller.organization is None:
        raise InvalidInput("--noted", "needs --organization: whose trail it is the end of")
    return replace(noted, organization=caller.organization)


def _services(app: "App") -> "ProofServices":
    # A command that only asks for operations need not import what does them.
    from minutebook.features.audit_proof.services import ProofServices

    return app.get(ProofServices)


OPERATIONS = (prove,)
