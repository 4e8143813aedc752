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
"""The name of the built-in summarizer in a summary."""

CLIENTS_MODEL = "the client's model"
"""The name in a summary of a model that the client asked, because the client does not tell its name."""

TRANSCRIPT = 24_000
"""The number of characters of a session, roughly, that a model is shown."""

LEAST_OF_A_TURN = 240
"""The least characters that are shown of a turn; of a session with too many turns for that, some are left out."""

ReadTurns = Callable[[], Iterable[Turn]]
"""Returns the turns of a session in order, at each call anew."""


@dataclass(frozen=True, slots=True)
class Summarizer:
    """A model that can be asked, and its name."""

    name: str
    sample: Sample


@dataclass(frozen=True, slots=True)
class Result:
    """The summary of a session, the name of its summarizer, and the number of models that failed before."""

    draft: SummaryDraft
    made_by: str
    failures: int = 0


class Summarizers:
    """The summarizers of one act; a model that does not answer is not asked again."""

    def __init__(self, caller: Caller, service: Summarizer | None) -> None:
        own = [] if caller.call.sample is None else [Summarizer(CLIENTS_MODEL, caller.call.sample)]
        self._models = [*own, *([] if service is None else [service])]
        self._silent: list[str] = []

    def summarise(self, read: ReadTurns, count: int) -> Result:
        """Summarise a session of `count` turns by the first summarizer that can.

        A model whose answer does not fit is asked once more. If no model's answer fits, the built-in
        summarizer makes the summary, and its reasons say so. Raises Unanswered if none is installed.
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
        # Loaded here, because its patterns take a tenth of a second to compile.
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
    """Yield turns as texts for a model, each cut to its share of TRANSCRIPT; the last is always included."""
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
    """Return a text with its middle cut out if it has more than `room` characters."""
    if len(text) <= room:
        return text
    return f"{text[: room * 2 // 3]} … {text[-(room // 3) :]}"
