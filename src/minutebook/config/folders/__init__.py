"""To which project does a folder belong? The Git repository around it, its remote, `.minutebook.toml`."""
