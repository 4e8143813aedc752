"""Which parts of a text are secrets, and which read as instructions. Pure."""
