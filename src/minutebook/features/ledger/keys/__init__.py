"""The secret that approves, its place, and the signatures that are trusted."""
