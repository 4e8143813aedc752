"""Which records each question got."""
