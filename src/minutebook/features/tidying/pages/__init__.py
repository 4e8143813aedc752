"""The page *Review*, and its items."""
