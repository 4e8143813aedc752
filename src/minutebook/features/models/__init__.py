"""The models: the one in the box, one of a folder, one behind a service."""
