"""The pages of decisions."""
