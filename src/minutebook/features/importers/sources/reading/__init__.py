"""Files, texts and messages of other programs, read piece by piece and bounded."""
