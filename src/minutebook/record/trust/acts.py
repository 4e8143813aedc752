"""Names of acts on the trail that several parts of the program ask for."""

from minutebook.record.trust.trail import ERASE

RESET = "reset"
"""The act that removes all that the caller may remove."""

MASK = "mask"

FINAL = frozenset({ERASE, RESET, MASK})
"""Acts after which no copy of what they changed is to be left."""

CONFIRM = "confirm"
"""The act of saying that a record which nobody changes still holds."""

REFUSE = "refuse"
"""The act that refuses a suggestion; its subject is the record that it would have changed."""

RELATE = "relate"
"""The act that joins two entities, or weighs it anew."""

TAKE_IN = "take_in"
"""The act of one record that came from elsewhere: from an archive, another program or machine, or Git."""

TAKE_IN_PERSONS = "take_in_persons"
"""The same of a memory that a person wrote or confirmed on another machine of theirs."""

IMPORT_OWN = "import_own"
"""The act that takes in an archive of a store of the importer's own, with what it says of persons and its trail."""

EACH = "each memory has an entry of its own"
"""The end of the reason of an act on many memories, each of which has an entry with its digests."""
