"""The gates of each request before it is answered: names, turns, sizes, callers, limits."""
