"""A store whose files are encrypted."""
