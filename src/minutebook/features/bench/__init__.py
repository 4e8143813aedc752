"""How well search finds what was asked for."""
