"""The web pages; their views are in `minutebook.web`."""
