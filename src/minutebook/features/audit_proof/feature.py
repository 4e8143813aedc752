"""The register of this feature."""

from minutebook.feature import Feature

FEATURE = Feature(
    name="audit_proof",
    settings=".settings:ProofSettings",
    services=".services:ProofServices",
    operations=".operations:OPERATIONS",
    jobs=".services:jobs",
    checks=".checks:checks",
    commands={"Trust": {".cli": ("audit",)}},
)
