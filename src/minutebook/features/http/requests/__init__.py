"""The checks of each request before it is answered: host names, turns, size, caller, limits."""
