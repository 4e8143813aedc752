"""The register of this feature."""

from minutebook.feature import Feature

FEATURE = Feature(
    name="undo",
    tables=".tables:TABLES",
    operations=".operations:OPERATIONS",
    on_act=".images:keep",
    jobs=".services:jobs",
    today=".today:last_acts",
    commands={"Begin": {".cli": ("undo",)}},
    page_acts={"/undo/{name}": ".services:take_back"},
)
