"""Projects of code: indexed, watched, kept in step."""
