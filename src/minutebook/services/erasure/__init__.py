"""Remove records so that no byte of them is left, and look for what is."""
