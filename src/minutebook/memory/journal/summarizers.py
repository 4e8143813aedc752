"""The choice of a summarizer: the client's model, else a service's, else the built-in one."""

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, replace

from minutebook.feature import entries_of
from minutebook.memory.journal.summary_draft import (
    ANSWER_TOKENS,
    INSTRUCTIONS,
    SummaryDraft,
    read_summary,
)
from minutebook.record.caller import Caller, Sample
from minutebook.record.errors import InvalidInput, Unanswered
from minutebook.record.records import Turn

BUILT_IN = "built-in extractive summarizer"
"""What the built-in summarizer calls itself."""

CLIENTS_MODEL = "the client's model"
"""What a summary says of a model that the client asked, whose name it does not tell."""

TRANSCRIPT = 24_000
"""Characters of a session that a model is shown, about."""

LEAST_OF_A_TURN = 240
"""Characters that are shown of a turn; of a session with too many turns for that, some are."""

ReadTurns = Callable[[], Iterable[Turn]]
"""Gives the turns of a session in order, each time anew."""


@dataclass(frozen=True, slots=True)
class Summarizer:
    """A model that can be asked, and its name."""

    name: str
    sample: Sample


@dataclass(frozen=True, slots=True)
class Result:
    """The summary of a session, its maker, and how many models failed before."""

    draft: SummaryDraft
    made_by: str
    failures: int = 0


class Summarizers:
    """Those at hand during one act; a model that does not answer is not asked again."""

    def __init__(self, caller: Caller, service: Summarizer | None) -> None:
        own = [] if caller.call.sample is None else [Summarizer(CLIENTS_MODEL, caller.call.sample)]
        self._models = [*own, *([] if service is None else [service])]
        self._silent: list[str] = []

    def summarise(self, read: ReadTurns, count: int) -> Result:
        """Summarise a session of `count` turns by the first that can.

        A model's answer that does not fit is repaired once. Where no model's does, the built-in
        summarizer stands in, and the reasons say so. Raises Unanswered if there is none.
        """
        failed = list(self._silent)
        transcript = "\n\n".join(_transcript(read(), count)) if self._models else ""
        for model in tuple(self._models):
            try:
                draft = _ask_model(model.sample, transcript)
            except Unanswered as error:
                failed.append(f"{model.name} gave no answer: {error.reason}")
                self._silent.append(failed[-1])
                self._models.remove(model)
            except InvalidInput as error:
                failed.append(f"{model.name} answered twice what does not fit: {error}")
            else:
                return _made(draft, model.name, failed)
        # Its patterns take a tenth of a second to compile, which most processes have no use for.
        for summarize in entries_of("models.summarizer"):
            return _made(summarize(read, count), BUILT_IN, failed)
        raise Unanswered("; ".join(failed) or "no summarizer is installed")


def _made(draft: SummaryDraft, name: str, failed: list[str]) -> Result:
    stood_in = f"; it stood in: {'; '.join(failed)}" if failed else ""
    reasons = {**draft.reasons, "made_by": name + stood_in}
    return Result(replace(draft, reasons=reasons), name, len(failed))


def _ask_model(sample: Sample, transcript: str) -> SummaryDraft:
    """Ask a model; if its answer does not fit, tell it why and ask once more."""
    answer = sample(INSTRUCTIONS, transcript, ANSWER_TOKENS)
    try:
        return read_summary(answer)
    except InvalidInput as error:
        repair = (
            f"{transcript}\n\nYour answer was:\n{answer[:TRANSCRIPT]}\n\nIt cannot be used: "
            f"{error}. Answer again with the whole JSON object."
        )
    return read_summary(sample(INSTRUCTIONS, repair, ANSWER_TOKENS))


def _transcript(turns: Iterable[Turn], count: int) -> Iterator[str]:
    """Show turns to a model, each cut to its part of the room; the last is always shown."""
    shown = min(count, TRANSCRIPT // LEAST_OF_A_TURN)
    step = -(-count // shown)
    room = TRANSCRIPT // shown
    for index, turn in enumerate(turns):
        if index % step == 0 or index == count - 1:
            parts = (
                ("User", turn.prompt, 0.4),
                ("Thought", turn.thought, 0.2),
                ("Agent", turn.response, 0.4),
            )
            lines = [
                f"{who}: {_clipped(text, int(room * share))}" for who, text, share in parts if text
            ]
            yield "\n".join((f"Turn {index + 1} of {count}", *lines))


def _clipped(text: str, room: int) -> str:
    """Cut out the middle of a text that is too long."""
    if len(text) <= room:
        return text
    return f"{text[: room * 2 // 3]} … {text[-(room // 3) :]}"
