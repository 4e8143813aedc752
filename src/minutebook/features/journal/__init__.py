"""The published contract `journal`."""
