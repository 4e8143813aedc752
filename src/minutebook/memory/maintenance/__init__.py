"""The content of the store, its checks, and its ways out and in."""
