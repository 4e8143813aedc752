"""Compare statements: whether a later one revises an earlier one. Pure."""
