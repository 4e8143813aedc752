"""Here is a record; will it be there tomorrow? The protocol, and one folder an engine."""
