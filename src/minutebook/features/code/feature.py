"""The register of this feature."""

from minutebook.feature import Feature

FEATURE = Feature(
    name="code",
    services=".services:CodeServices",
    jobs=".services:jobs",
    lists=".services:listed_source",
    on_reset=".services:removed",
)
