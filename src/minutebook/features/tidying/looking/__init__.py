"""The look for disorder: changed records, compared and examined, and the state of the look."""
