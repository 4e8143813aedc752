"""The built-in summarizer: a session told by its own sentences. Pure."""
