"""A store moved to another engine."""
