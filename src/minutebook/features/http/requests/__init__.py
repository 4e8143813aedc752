"""What each request passes before it is answered: names, turns, sizes, callers, limits."""
