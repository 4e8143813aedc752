"""The pages of indexed projects."""
