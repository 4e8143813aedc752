"""The look for disorder: what changed, compared and examined, and how far it came."""
