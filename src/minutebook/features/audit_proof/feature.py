"""The register of this feature."""

from minutebook.feature import Feature

FEATURE = Feature(
    name="audit_proof",
    needs=("pages",),
    settings=".settings:ProofSettings",
    operations=".operations:OPERATIONS",
    jobs=".signing:jobs",
    checks=".checks:checks",
    pages=".pages:PAGES",
    page_parts={"activity.links": {"audit_proof/link.html": ""}},
    commands={"Trust": {".cli": ("audit",)}},
)
