"""Sizes at which the indices change their method; measured by `benchmarks/store.py`, smaller in tests."""

PAGE = 1 << 16
"""Changes that are read at once."""

TEXT_PAGE = 1 << 13
"""Changes that are read at once for an index of words: analysing their texts takes some 0.4 s."""

MANY_TEXTS = 4_096
"""The least records with an index of words beside the database; words of fewer are searched in the database."""

BEHIND = 1000
"""The most unread changes that a search reads itself, some 50 ms; more are read in the background."""

ANALYSED = 256
"""Bytes of text still to be analysed that count as one more unread change."""

CODED = 256
"""The least vectors of a block with binary codes."""

EXACT = 1024
"""The most selected vectors that are compared in full; of more the nearest by code are chosen first."""

WIDE = 4096
"""The most vectors of a block that are kept in float32, too, once they were compared: 6 MB."""

RESCORED = 600
"""The least vectors, the nearest by code, that are compared in full."""

GROWTH = 4
"""A block in memory is merged with the one before it unless that is this many times larger."""

LARGEST_IN_MEMORY = 1 << 14
"""The most records of a block that is merged in memory."""

LARGEST = 1 << 18
"""The most records of one file, so that memory is bounded while one is made."""

LEAST_SAVED = 4096
"""The least unsaved changes that are saved."""

SAVED_SHARE = 8
"""Changes are saved once there is one for this many saved records, or MOST_UNSAVED."""

MOST_UNSAVED = 1 << 14
"""The most changes that stay unsaved: the next process to open the index has to read them, some 100 µs for a text."""

MOST_NAMED = 2048
"""The most records that a statement names; with more it is quicker to read rows in order."""

SPARE = 32
"""Records that are named beyond those asked for, since some may change before they are read."""
