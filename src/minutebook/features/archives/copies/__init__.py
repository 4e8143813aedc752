"""Backups of the whole data directory: making, scheduling and restoring them."""
