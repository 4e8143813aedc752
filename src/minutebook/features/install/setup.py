"""The steps of `setup` for clients on this machine: server and hooks, skill, permission."""

import shutil
from collections.abc import Iterator, Sequence
from datetime import UTC, datetime
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from minutebook.cli.commands.setup import Offer, SetupRun, Stage, Steps
from minutebook.cli.printing import echo
from minutebook.config.machine import places_here
from minutebook.features.install.cli import ClientEntry, apply_plans
from minutebook.features.install.hooks import HOOKS
from minutebook.features.install.known_clients import CLIENTS, Client
from minutebook.record.errors import Conflict, InvalidInput

if TYPE_CHECKING:
    from minutebook.config.machine import Places
    from minutebook.features.install.clients import Installation

_NAME = "minutebook"


def offers(run: SetupRun) -> Iterator[Offer]:
    """Yield the steps of each client on this machine with a user's file that can be edited."""
    from minutebook.features.install.reading_aids import plan_permission, plan_skill, reading_tools

    places = places_here()
    skill = "a skill that says when to recall and when to keep", "Enter it?", plan_skill
    tools = ", ".join(reading_tools())
    allowed = f"{tools} without being asked each time", "Allow that?", plan_permission
    seen: set[Path] = set()
    is_first = True
    for client in [each for each in CLIENTS.values() if _is_here(each, places)]:
        step = _server_step(run, client, is_first=is_first)
        is_first = is_first and step.work is None
        yield step
        if not (run.only_looks or _is_entered(client, places)):
            continue
        for subject, question, planned in (skill, allowed):
            try:
                plan = planned(client.name, places)
            except (InvalidInput, Conflict) as error:
                yield Offer(subject=f"{client.title}: {subject}", lines=[str(error)])
                continue
            if plan is None or not plan.changed or (plan.path in seen and planned is plan_skill):
                continue
            seen.add(plan.path)
            yield Offer(
                subject=f"{client.title}: {subject}",
                lines=[f"in {plan.path}"],
                question=question,
                work=partial(_apply, run, [plan]),
            )


def removals(run: SetupRun) -> Iterator[Offer]:
    """Yield a step for each client on this machine with an entry of ours, which removes all that is ours."""
    from minutebook.features.install.clients import entered_clients
    from minutebook.features.install.originals import Originals

    entered = [
        (each.client, name)
        for each in entered_clients(places_here())
        for name in each.names or (_NAME,)
    ]
    for client, name in entered:
        originals = Originals(run.settings.home)
        entry = ClientEntry(run.options, client.name, (), name, "user")
        try:
            plans = [originals.with_original(each) for each in entry.removals(is_project=False)]
        except (InvalidInput, Conflict) as error:
            yield Offer(subject=client.title, lines=[str(error)])
            continue
        changed = [str(plan.path) for plan in plans if plan.changed]
        if changed:
            yield Offer(
                subject=f"{client.title}: take Minutebook out",
                lines=[f"of {', '.join(changed)}"],
                question="Take it out?",
                work=partial(apply_plans, originals, plans, "", dry_run=False),
            )
    remaining = [path for path in Originals(run.settings.home).paths() if path.exists()]
    for path in remaining if not run.only_looks else ():
        remedy = "`minutebook install CLIENT --remove` takes it out, with --project in the folder of a project."
        yield Offer(subject=f"{path} stays", lines=[remedy])


def _is_here(client: Client, places: "Places") -> bool:
    """Tell whether a client has a user's file to edit, and its program, a file or its folder is on this machine."""
    from minutebook.features.install.clients import location

    if client.user is None:
        return False
    programs = map(partial(shutil.which, path=places.variables.get("PATH", "")), client.programs)
    files = [each[client.name] for each in (CLIENTS, HOOKS) if client.name in each]
    paths = [location(each, "user", places) for each in files if each.user is not None]
    shared = (places.home, places.applications(), places.configuration())
    return any(programs) or any(
        path.exists() or (path.parent not in shared and path.parent.is_dir()) for path in paths
    )


def _is_entered(client: Client, places: "Places") -> bool:
    from minutebook.features.install.clients import entered_clients

    return any(each.client is client and each.names for each in entered_clients(places))


def _server_step(run: SetupRun, client: Client, *, is_first: bool) -> Offer:
    from minutebook.features.install.originals import Originals

    entry = ClientEntry(run.options, client.name, (), _NAME, "user")
    try:
        plans = entry.plans(hooks=client.name in HOOKS)
    except (InvalidInput, Conflict) as error:
        return Offer(subject=client.title, lines=[str(error)])
    changed = [plan for plan in plans if plan.changed]
    subject = "the server and hooks" if client.name in HOOKS else "the server"
    paths = ", ".join(str(plan.path) for plan in changed or plans)
    if not changed:
        originals = Originals(run.settings.home)
        first = min(filter(None, map(originals.since, (plan.path for plan in plans))), default="")
        date = first and f" since {first[:10]}"
        return Offer(subject=client.title, lines=[f"has {subject}{date}, in {paths}"])
    return Offer(
        subject=f"{client.title}: {subject}",
        lines=[f"in {paths}", *(entry.folder_line() if is_first else ())],
        question="Enter them?" if client.name in HOOKS else "Enter it?",
        work=partial(_apply, run, changed),
    )


def _apply(run: SetupRun, plans: "Sequence[Installation]") -> None:
    from minutebook.features.install.originals import Originals

    originals = Originals(run.settings.home)
    for plan in plans:
        originals.apply(originals.with_original(plan), datetime.now(UTC))
    message = "Done."
    for plan in plans:
        first, _, rest = plan.note.partition("; ")
        # The notes on two files of a client both tell to restart it.
        words = rest if first.rstrip(".") in message else plan.note
        message = f"{message} {words}".rstrip()
    echo(f"  {message}")


STEPS = Steps(Stage.CLIENTS, offers, removals)
