"""Minutebook in the configuration of clients."""
