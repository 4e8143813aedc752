"""What is not in order: suggestions, and what became of them."""
