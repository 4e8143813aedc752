"""Find what is not in order, suggest a change for it, make the change, take it back."""
