"""Composes the proof and the signing of the trail."""

import logging
from collections.abc import Iterable
from typing import TYPE_CHECKING

from minutebook.app import App, FeatureServices
from minutebook.composing import service
from minutebook.domain.caller import Caller
from minutebook.features.audit_proof.settings import ProofSettings
from minutebook.services.jobs import Job

if TYPE_CHECKING:
    from minutebook.features.audit_proof.audit_proof import TrailProving
    from minutebook.features.audit_proof.signing import HeadSigning

log = logging.getLogger(__name__)


class ProofServices(FeatureServices):
    """Proofs and signatures of trails."""

    @service
    def proving(self) -> "TrailProving":
        """Prove trails."""
        from minutebook.features.audit_proof.audit_proof import TrailProving

        return TrailProving(self.infrastructure.store)

    @service
    def signing(self) -> "HeadSigning":
        """Sign where trails end."""
        from minutebook.features.audit_proof.signing import HeadSigning

        return HeadSigning(
            self.infrastructure.store, self.app.trail, self.settings.of(ProofSettings).audit_key
        )


def jobs(app: App) -> Iterable[Job]:
    """Yield the job that signs the trails that have grown, if a key is set."""
    signing = app.get(ProofServices).signing

    def sign(caller: Caller) -> None:
        for each in signing.sign(caller):
            broken = f"entry {each.broken.number}: {each.broken.reason}"
            if (each.organization, broken) not in warned:
                warned.add((each.organization, broken))
                log.warning("the trail of %s is not signed any more: %s", each.organization, broken)

    warned: set[tuple[str, str]] = set()
    if signing.is_on:
        yield Job("signatures", sign, "the trail cannot be signed")
