"""API keys of commands: one an account and purpose, in a file of the data folder for its owner only."""

import os
import socket
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Final

import msgspec

from api.cli.console import CommandError
from engine.typed_records import record_from_json
from pipeline.clock import utc_now
from pipeline.store.catalog.ids import new_id
from pipeline.store.ownership.file_lock import FileLock, LockHeldError
from pipeline.store.private_files import OWNERS_FILE, restrict

if TYPE_CHECKING:
    from pipeline.settings import Settings
    from pipeline.store.catalog.catalog import Catalog


@dataclass(frozen=True, slots=True)
class Purpose:
    """What a key is for: `name` begins its name, and `suffix` follows the account in the file."""

    name: str
    suffix: str
    scopes: tuple[str, ...]


COMMANDS: Final = Purpose(
    "Commands", "", ("projects:read", "projects:write", "experiments:read", "results:read")
)
DASHBOARD: Final = Purpose(
    "Dashboard",
    " dashboard",
    (*COMMANDS.scopes, "experiments:write", "account:read", "api_keys:write", "sdk:write"),
)
# Another command holds the file for the time of one commit.
WAIT_SECONDS: Final = 10.0
_PAUSE_SECONDS: Final = 0.02


def command_key(
    settings: "Settings", catalog: "Catalog", account_id: str, purpose: Purpose = COMMANDS
) -> str:
    """Return the token of an account's key for a purpose, made anew where there is none that works.

    Of several commands at once one makes it. CommandError where the file cannot be used.
    """
    path = settings.command_keys_path
    try:
        with _locked(path):
            tokens = _read(path)
            entry = account_id + purpose.suffix
            token = tokens.get(entry)
            if token is None or not _works(catalog, account_id, token, purpose):
                token = _new_token(catalog, account_id, purpose)
                _write(path, {**tokens, entry: token})
    except OSError as error:
        raise CommandError(
            f"the keys of commands in {path} cannot be used: {error.strerror or error}"
        ) from error
    return token


@contextmanager
def _locked(path: Path) -> Iterator[None]:
    """Hold the lock beside the file inside the block."""
    deadline = time.monotonic() + WAIT_SECONDS
    lock = None
    while lock is None:
        try:
            lock = FileLock.take(path.with_name(f"{path.name}.lock"), b"")
        except LockHeldError:
            if time.monotonic() > deadline:
                raise CommandError(
                    f"another command has held {path} for {WAIT_SECONDS:.0f} seconds"
                ) from None
            time.sleep(_PAUSE_SECONDS)
    try:
        yield
    finally:
        lock.release()


def _read(path: Path) -> dict[str, str]:
    """Read the tokens by account; a file that is missing or damaged has none."""
    try:
        content = path.read_bytes()
    except FileNotFoundError:
        return {}
    restrict([path])
    try:
        return record_from_json(content, dict[str, str])
    except msgspec.MsgspecError:
        return {}


def _write(path: Path, tokens: dict[str, str]) -> None:
    """Replace the file as a whole."""
    draft = path.with_name(new_id(path.name))
    descriptor = os.open(draft, os.O_WRONLY | os.O_CREAT | os.O_EXCL, OWNERS_FILE)
    try:
        with os.fdopen(descriptor, "wb") as file:
            file.write(msgspec.json.encode(tokens))
            file.flush()
            os.fsync(file.fileno())
        draft.replace(path)
    except BaseException:
        draft.unlink(missing_ok=True)
        raise


def _works(catalog: "Catalog", account_id: str, token: str, purpose: Purpose) -> bool:
    from pipeline.store.catalog.keys import ApiKey

    key = catalog.keys.find_by_token(token, now=utc_now())
    return (
        isinstance(key, ApiKey)
        and key.account_id == account_id
        and key.is_account_wide
        and set(purpose.scopes) <= set(key.scopes)
    )


def _new_token(catalog: "Catalog", account_id: str, purpose: Purpose) -> str:
    owner = next((one for one in catalog.members.accepted(account_id) if one.role == "owner"), None)
    if owner is None:
        raise CommandError(
            f"the account {account_id} has no owner who has accepted, so a command can have no key"
        )
    _, token = catalog.keys.create(
        account_id, owner.id, name=f"{purpose.name} on {socket.gethostname()}", scopes=purpose.scopes
    )
    return token
