"""The trail signed and proved."""
