"""The web pages: their frame, and the pages of the records of the core."""
