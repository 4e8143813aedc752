"""The register of this feature."""

from minutebook.feature import Feature, WebPages

FEATURE = Feature(
    name="audit_proof",
    needs=("pages",),
    settings=".settings:ProofSettings",
    commands={"Trust": {".cli": ("audit",)}},
    operations=".operations:OPERATIONS",
    checks=".audit_proof:checks",
    pages=WebPages(own=".pages:PAGES", parts={"activity.links": {"audit_proof/link.html": ""}}),
    jobs=".signing:jobs",
)
