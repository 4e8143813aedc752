"""The published contract `catalog`."""
