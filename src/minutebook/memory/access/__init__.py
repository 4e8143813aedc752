"""Which records a caller may see, tokens, and the audit trail."""
