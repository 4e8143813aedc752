"""At which sizes the index changes its ways; measured by `benchmarks/store.py`, smaller in tests."""

PAGE = 1 << 16
"""Changes read at once."""

TEXT_PAGE = 1 << 13
"""Changes read at once for an index of words: analysing their texts takes some 0.4 s."""

MANY_TEXTS = 4_096
"""From so many records on, words are sought in an index beside the database, not in it."""

BEHIND = 1000
"""How many units of unread changes a search reads itself, some 50 ms; more is read in the background. A change is one."""

ANALYSED = 256
"""How many bytes of a text that has to be analysed are one more unit."""

CODED = 256
"""From so many vectors on, a block has codes; fewer are compared as they are."""

EXACT = 1024
"""Up to so many vectors in question are all compared as they are, beyond it by their codes."""

WIDE = 4096
"""A block of so many vectors at most keeps them in float32, too, once they are compared: 6 MB."""

RESCORED = 600
"""How many vectors nearest by code are compared as they are."""

GROWTH = 4
"""A block in memory is joined with the one before it unless that is so many times larger."""

LARGEST_IN_MEMORY = 1 << 14
"""The most records of a block that was joined in memory."""

LARGEST = 1 << 18
"""The most records of one file, so that memory is bounded while one is made."""

LEAST_SAVED = 4096
"""From so many unsaved changes on they are saved, provided that they are"""

SAVED_SHARE = 8
"""at least one for so many saved records, or"""

MOST_UNSAVED = 1 << 14
"""so many: whoever opens the index next has to read them, some 100 µs a text."""

MOST_NAMED = 2048
"""So many records are named in a statement at most; of more it is quicker to look at those that come first."""

SPARE = 32
"""So many records more than are asked for are named, since some may change before they are read."""
