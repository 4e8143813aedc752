"""The published contract `governance`."""
