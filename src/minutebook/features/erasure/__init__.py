"""Records removed so that no byte of them is left."""
