"""A store with encrypted files."""
