"""The built-in summarizer: what happened in a session, told by its own sentences. Pure."""
