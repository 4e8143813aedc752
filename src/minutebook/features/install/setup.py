"""The steps of `setup` for clients: the server and hooks of each that is on this machine."""

from collections.abc import Iterator
from functools import partial
from typing import TYPE_CHECKING

from minutebook.cli.commands.setup import Offer, SetupRun, Stage
from minutebook.domain.errors import Conflict, InvalidInput
from minutebook.features.install.cli import ClientEntry, apply_plans
from minutebook.features.install.known_clients import CLIENTS, ClientFile
from minutebook.features.install.known_hooks import HOOKS
from minutebook.machine import places_here

if TYPE_CHECKING:
    from minutebook.machine import Places


def offers(run: SetupRun) -> Iterator[Offer]:
    """Yield a step for each client on this machine that has a file of its user's to edit."""
    places = places_here()
    for client in CLIENTS.values():
        if client.user is not None and _is_here(client.name, places):
            yield _offer(run.options, client)


def _is_here(client: str, places: "Places") -> bool:
    """Tell whether a file or the folder of a client is on this machine."""
    from minutebook.features.install.clients import location

    files = [each[client] for each in (CLIENTS, HOOKS) if client in each]
    paths = [location(each, "user", places) for each in files if each.user is not None]
    shared = (places.home, places.applications(), places.configuration())
    return any(
        path.exists() or (path.parent not in shared and path.parent.is_dir()) for path in paths
    )


def _offer(options: dict[str, str], client: ClientFile) -> Offer:
    entry = ClientEntry(options, client.name, (), "minutebook", "user")
    try:
        plans = entry.plans(hooks=client.name in HOOKS)
    except (InvalidInput, Conflict) as error:
        return Offer(stage=Stage.CLIENTS, subject=client.title, lines=[str(error)])
    changed = [plan for plan in plans if plan.changed]
    if not changed:
        lines = [f"has Minutebook already, in {plan.path}" for plan in plans]
        return Offer(stage=Stage.CLIENTS, subject=client.title, lines=lines)
    return Offer(
        stage=Stage.CLIENTS,
        subject=client.title,
        lines=[f"would change {plan.path}" for plan in changed],
        question="Enter the server and hooks?" if client.name in HOOKS else "Enter the server?",
        work=partial(apply_plans, changed, entry.served(), dry_run=False),
    )
