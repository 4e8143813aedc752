"""Synchronization of the stores of several machines."""
