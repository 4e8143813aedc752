"""Minutebook: the memory that AI agents keep on the record."""

__version__ = "0.1.0"
