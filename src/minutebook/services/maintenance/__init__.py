"""What is in the store, whether it is in order, and how it gets out and in."""
