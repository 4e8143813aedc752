"""The pages of the core's records."""
