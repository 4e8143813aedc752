"""The frame of the pages: the application, what it shows pages with, and the language they speak."""
