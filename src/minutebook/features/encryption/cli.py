"""Encrypt the data directory, and turn it back."""

import click

from minutebook.cli.opening import check_begun, opened_here, settings_of
from minutebook.cli.printing import echo, warn
from minutebook.cli.progress import interruptible
from minutebook.cli.terminal import identity
from minutebook.record.errors import InvalidInput
from minutebook.record.filters import default_organization
from minutebook.record.reason import count_of
from minutebook.record.records import Kind
from minutebook.serve.logs import log_to_stderr


@click.command(short_help="Encrypt the data directory.")
@click.option("--new-key", "new_key", is_flag=True, help="Encrypt anew, with another key.")
@click.option("--off", is_flag=True, help="Turn the store back into a plain one.")
@identity
def encrypt(options: dict[str, str], new_key: bool, off: bool) -> object:  # noqa: FBT001
    """Encrypt store, indices, archives and backups in the data directory with a key that is made for it.

    The setting `key` says where the key is kept: the system's keyring, or a file. Nobody may use
    the store meanwhile. If it is cut short, nothing is lost, and the same command ends it. Ledgers, which
    are Git repositories, settings and the model stay plain.
    """
    from minutebook.features.encryption.encryption import encryption_of
    from minutebook.store.disk.keys import place_of

    if new_key and off:
        raise InvalidInput("--off", "or --new-key may be given, not both")
    settings = settings_of(options)
    check_begun(settings)
    log_to_stderr(settings)
    with interruptible("Stopped. Nothing is lost; the same command ends it."):
        work = encryption_of(settings)
        done = work.decrypt() if off else work.encrypt(with_new_key=new_key)
    with opened_here(options) as (app, caller):
        act = "encrypt" if done.key else "decrypt"
        app.trail.log(caller, default_organization(caller), act, Kind.HEAD, [done.key or "plain"])
    others = f", and {count_of(done.files, 'file')} beside it" if done.files else ""
    if done.key is None:
        echo(f"The store is plain now{others}.")
    else:
        place = place_of(settings.key).name
        echo(f"The store is encrypted with the key {done.key}{others}. The key is in {place}.")
        warn(
            "Keep a copy of the key where the data is not: without it nobody can read the store again."
        )
    if done.earlier:
        count = len(done.earlier)
        warn(
            f"The key of {count_of(count, 'backup')} is that of when it was made; leave it where it is."
        )
    if done.key is not None and done.outside:
        warn(f"Plain backups are elsewhere, such as {done.outside[0]}.")
    return done


COMMANDS = (encrypt,)
