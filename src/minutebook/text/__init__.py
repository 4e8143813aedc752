"""What a text says, and which candidates answer a query; whether it revises another. Pure."""
