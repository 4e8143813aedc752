"""The register of this feature."""

from minutebook.feature import Feature

FEATURE = Feature(
    name="undo",
    tables=".rows:TABLES",
    operations=".operations:OPERATIONS",
    on_act=".images:keep",
    jobs=".undo:jobs",
    today=".today:last_acts",
    commands={"Begin": {".cli": ("undo",)}},
    page_acts={"/undo/{name}": ".undo:take_back"},
)
