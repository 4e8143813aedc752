"""Operations on the store as a whole: its state, its counts."""

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from typing import TYPE_CHECKING

from minutebook.ask.operation import operation
from minutebook.feature import entries_of
from minutebook.record.caller import Caller, FolderScope
from minutebook.record.records import Kind

if TYPE_CHECKING:
    from minutebook.app import App


@dataclass(frozen=True, slots=True)
class ModelState:
    """The model: its `state` is None until it is first used; `to_embed` counts the texts without vectors."""

    name: str
    dimensions: int
    state: str | None
    reason: str
    to_embed: int
    seconds_to_embed: float | None


@dataclass(frozen=True, slots=True)
class StoreState:
    """The state of a store: its counts, its size, its model; `home` is the data directory, `place` the database."""

    home: str
    place: str
    is_on_server: bool
    placement: Mapping[str, object] | None
    held: Mapping[Kind, int]
    policy: str
    model: ModelState
    to_analyse: int
    size: int
    token_states: Mapping[Kind, int]
    feature_lines: Mapping[str, object]
    """The lines of features in `minutebook status`, by name; a line of None is not printed."""


@operation()
def status(app: "App", caller: Caller, kinds: Sequence[Kind]) -> StoreState:
    """Return the state of the store, with the counts of some kinds of records."""
    feature_lines: dict[str, object] = {}
    for lines_of in entries_of("status"):
        feature_lines |= lines_of(app, caller)
    placement, embedding = app.database.placement(), app.embedding
    to_embed = 0 if embedding.is_off else app.overview.to_embed(caller)
    return StoreState(
        home=str(app.settings.home),
        place=app.database.place,
        is_on_server=app.settings.store is not None,
        placement=None if placement is None else asdict(placement),
        held=dict(app.overview.counts(caller, kinds)),
        policy=str(app.rules()),
        model=ModelState(
            embedding.model.name,
            embedding.model.dimensions,
            embedding.state if embedding.is_started else None,
            embedding.reason if embedding.is_started else "",
            to_embed,
            app.embeddings.remaining(to_embed),
        ),
        to_analyse=app.database.to_analyse(),
        size=app.database.size(),
        token_states=dict(app.overview.token_states(caller)),
        feature_lines=feature_lines,
    )


@dataclass(frozen=True, slots=True)
class RecordCounts:
    """Counts by kind: of records of no repository, of those shown in a folder, and of all that the caller sees."""

    of_no_repository: Mapping[Kind, int]
    shown_here: Mapping[Kind, int]
    in_all: Mapping[Kind, int]


@operation()
def kept_for(
    app: "App", caller: Caller, kinds: Sequence[Kind], folder: FolderScope
) -> RecordCounts:
    """Count the records of some kinds, as seen from a folder."""

    def count(scope: FolderScope | None) -> dict[Kind, int]:
        return dict(app.overview.counts(replace(caller, folder_scope=scope), kinds))

    return RecordCounts(count(FolderScope()), count(folder), count(caller.folder_scope))


OPERATIONS = (status, kept_for)
