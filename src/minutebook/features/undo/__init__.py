"""Acts taken back."""
