"""Projects of code: indexed, searched, watched."""
