"""Given candidates and one question, which ten, and why? Pure: no store, no clock."""
