"""Names of acts on the trail that several parts of the program use."""

from minutebook.record.trust.trail import ERASE

RESET = "reset"
"""The act that removes all that the caller may remove."""

MASK = "mask"

FINAL = frozenset({ERASE, RESET, MASK})
"""Acts after which no copy of the records that they changed may be left."""

CONFIRM = "confirm"
"""The act by which somebody confirms, without changing a record, that it still holds."""

REFUSE = "refuse"
"""The act that refuses a suggestion; its subject is the record that it would have changed."""

RELATE = "relate"
"""The act that writes a relation of two entities, or gives it another weight."""

TAKE_IN = "take_in"
"""The act of one record that came from elsewhere: from an archive, another program or machine, or Git."""

TAKE_IN_PERSONS = "take_in_persons"
"""The act that takes in a memory that a person wrote or confirmed on another machine of theirs."""

IMPORT_OWN = "import_own"
"""The act that takes in an archive of the importer's own store: its claims about persons and its trail are believed."""

EACH = "each memory has an entry of its own"
"""The end of the reason in the one entry for an act on many memories."""
