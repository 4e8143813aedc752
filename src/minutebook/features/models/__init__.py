"""The models: the built-in one, one in a folder, one behind a service."""
