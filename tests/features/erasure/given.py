"""A store with texts to erase, each of words that stand nowhere else."""

from minutebook.record.caller import Caller, with_call
from minutebook.record.records import MemoryType, Role
from minutebook.record.writing.drafts import Draft
from tests.world import World

PERSON = with_call(Caller(name="ana", role=Role.HUMAN), reason="asked to be forgotten")


def kept(world: World, content: str, **said: object) -> str:
    """Keep a memory a second later; its id."""
    world.clock.turn()
    given = Draft(content=content, type=MemoryType.FACT, **said)  # type: ignore[arg-type]
    return world.app.memories.store(PERSON, given).id


def words_of(number: int) -> list[str]:
    """Words that only the text of a number holds."""
    letters = "".join(chr(ord("a") + int(digit)) for digit in f"{number:04}")
    return [f"zq{letters}xylophone", f"vw{letters}quixotically"]


def text_of(number: int, length: int = 1) -> str:
    """A text with those words, begun anew as often as `length` says."""
    return ". ".join([f"Then {' met '.join(words_of(number))} at the quay"] * length)
