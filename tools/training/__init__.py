"""Train small changes of the built-in model, and tell whether strangers gain by them: see README.md here."""
