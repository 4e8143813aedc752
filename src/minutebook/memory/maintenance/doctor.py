"""Examine records and the data derived from them; rebuild the derived data."""

import shlex
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from minutebook.memory.access.audit import EVERYTHING, Trail
from minutebook.memory.jobs import JobRun
from minutebook.memory.knowledge.mentions import Mentions
from minutebook.model.service import Embedding
from minutebook.record.caller import Caller
from minutebook.record.errors import StoreDamaged
from minutebook.record.filters import default_organization
from minutebook.record.reason import os_error_reason
from minutebook.record.records import Kind
from minutebook.store.disk.room import is_almost_full, write_obstacle_in
from minutebook.store.protocol import Tended


@dataclass(frozen=True, slots=True)
class Finding:
    """A fault and its remedy, or without `is_fault` a mere fact; with `is_damage` the database itself cannot be read."""

    finding: str
    remedy: str
    is_damage: bool = False
    is_fault: bool = True


ANALYSE = "leave Minutebook running; `minutebook doctor --repair` does it at once"


@dataclass(frozen=True, slots=True)
class Check:
    """The check of a part of the store; `part` names the part in a sentence, such as "The ledger"."""

    part: str
    examine: Callable[[], Iterable[Finding]]


class Doctor:
    """Examines a store, the model, and the parts that features check."""

    def __init__(
        self,
        store: Tended,
        trail: Trail,
        embedding: Embedding,
        mentions: Mentions,
        checks: Iterable[Check] = (),
        *,
        repair_features: Callable[[Caller], object] = lambda caller: None,
        home: Path,
        failing: Callable[[], Iterable[JobRun]] = tuple,
    ) -> None:
        self._store = store
        self._trail = trail
        self._embedding = embedding
        self._mentions = mentions
        self._repair_features = repair_features
        self._failing = failing
        self._checks = (
            Check("The store", lambda: _store_findings(store)),
            Check("The disk", lambda: _disk_findings(store, home)),
            *checks,
        )

    def examine(self) -> list[Finding]:
        """Find damage in the store and in the data of features, a model that fails to load, jobs that fail.

        A part too damaged to be read is a finding; the rest is examined all the same.
        """
        known = [finding for check in self._checks for finding in self._examined(check)]
        return [*known, *_job_findings(self._failing(), known), *_model_findings(self._embedding)]

    def repair(self, caller: Caller) -> None:
        """Rebuild every index, the mentions and the derived data of features, and add that to the audit trail.

        Raises StoreDamaged if records are damaged.
        """
        self._store.upkeep.rebuild()
        self._mentions.rebuild()
        self._repair_features(caller)
        home = default_organization(caller)
        self._trail.log(caller, home, "rebuild", Kind.HEAD, [EVERYTHING])

    def _examined(self, check: Check) -> list[Finding]:
        try:
            return list(check.examine())
        except StoreDamaged as error:
            finding = f"{check.part} cannot be read: {error.what}"
            return [Finding(finding, _repair_advice(self._store), is_damage=True)]
        except OSError as error:
            finding = f"{check.part} cannot be read: {os_error_reason(error.filename, error)}"
            return [Finding(finding, "let this user read it; the other parts were examined")]


def damage_findings(sentences: Iterable[str], backups: Sequence[Path]) -> list[Finding]:
    """Return findings on a damaged database: one for each sentence about a loss, and one on its backups."""
    findings = [Finding(sentence, "", is_damage=True) for sentence in sentences]
    if not backups:
        finding = "No backup of this store was found in its data directory or where one was made"
        remedy = (
            "`minutebook restore BACKUP --replace` brings one back that you kept elsewhere; "
            "`minutebook doctor --start-anew` puts the database aside and begins an empty store"
        )
        return [*findings, Finding(finding, remedy)]
    others = "".join(f"; an earlier one is {path}" for path in backups[1:])
    remedy = f"run `minutebook restore {shlex.quote(str(backups[0]))} --replace`{others}"
    return [*findings, Finding("A backup holds what there was when it was made", remedy)]


def _repair_advice(store: Tended) -> str:
    return f"run `minutebook doctor --repair`; if it stays, {store.database.recovery}"


def _store_findings(store: Tended) -> list[Finding]:
    repair = _repair_advice(store)
    findings = [
        Finding(sentence, repair, is_damage="is damaged" in sentence)
        for sentence in store.upkeep.check()
    ]
    waiting = store.upkeep.to_analyse()
    findings += [Finding(sentence, remedy) for sentence, remedy in store.database.file_faults()]
    if waiting:
        sentence = f"Some texts are still being analysed anew for search by words: {waiting:,}."
        findings.append(Finding(sentence, ANALYSE))
    return findings


def _disk_findings(store: Tended, home: Path) -> Iterator[Finding]:
    """Yield a finding if the store or the data directory cannot be written, or the disk is almost full."""
    remedy = "make room there, or let this user write there; until then nothing is kept"
    error = store.database.why_unwritable()
    if error is not None and not isinstance(error, StoreDamaged):
        yield Finding(f"The store cannot be written: {error}.", remedy)
    elif (cause := write_obstacle_in(home)) is not None:
        yield Finding(f"The data directory cannot be written: {home}: {cause}.", remedy)
    elif is_almost_full(home):
        yield Finding(f"The disk of {home} is almost full.", remedy)


def _job_findings(failing: Iterable[JobRun], known: Iterable[Finding]) -> Iterator[Finding]:
    """Yield a finding for each failing job, unless a known finding has the same reason."""
    for run in failing:
        if not any(run.reason.partition(": ")[2] in each.finding for each in known):
            remedy = "mend that; it is tried again by a daemon or server, whose log says more"
            yield Finding(f"At {run.failed[:16]} UTC {run.reason}.", remedy)


def _model_findings(model: Embedding) -> list[Finding]:
    if model.state == "error" and not model.is_off:
        remedy = "mend that, or name another model by the setting `embedder`"
        return [Finding(f"Search by meaning is off: {model.reason}", remedy)]
    if (damage := model.damage()) is not None:
        reason = f"Search by meaning may find the wrong records: {damage}"
        return [Finding(reason, "reinstall minutebook")]
    return []
