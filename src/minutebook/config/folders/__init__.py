"""The project of a folder: by the Git repository around it, its remote, and `.minutebook.toml`."""
