"""The built-in summarizer: a summary of a session by its own sentences. Pure."""
