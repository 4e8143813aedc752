"""The register of this feature."""

from minutebook.feature import Event, Feature, WebPages

FEATURE = Feature(
    name="undo",
    tables=".rows:TABLES",
    commands={"Begin": {".cli": ("undo",)}},
    operations=".operations:OPERATIONS",
    today=".operations:acts_of_day",
    pages=WebPages(acts={"/undo/{name}": ".undo:take_back"}),
    jobs=".undo:jobs",
    on={Event.ACT: ".images:keep_images"},
)
