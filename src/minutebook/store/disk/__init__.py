"""Files: written whole or not at all, and locked among processes."""
