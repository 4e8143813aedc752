"""Token states as they are kept."""

from minutebook.text.late_interaction import SignedTokens, TokenStates, pack, signs_of


def packed_of(tokens: TokenStates, english: TokenStates | None = None) -> bytes:
    """Pack the tokens of a text, and those by the model of English if it is in English."""
    return pack(_signed(tokens), None if english is None else _signed(english))


def _signed(tokens: TokenStates) -> SignedTokens:
    return SignedTokens(tokens.pieces, tokens.surprise, signs_of(tokens.states))
