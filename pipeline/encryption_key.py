"""With which key secrets are sealed before they reach the disk, and where that key is kept."""

import os
from pathlib import Path
from typing import Final

from cryptography.fernet import Fernet

from pipeline.settings import Settings
from pipeline.store.catalog.ids import new_id

OWNER_ONLY: Final = 0o600


class SecretsKeyError(Exception):
    """The key that is set, or in the file, is none."""


def open_cipher(settings: Settings) -> Fernet:
    """What seals and opens secrets: by the key of the settings, else by the data folder's own.

    The folder's key is made where there is none; of several processes that try at once, all get the same.
    Fernet is AES-128-CBC with an HMAC-SHA256: https://github.com/fernet/spec. SecretsKeyError.
    """
    if settings.secrets_key is not None:
        return _seal(settings.secrets_key.get_secret_value(), "TRUELIFT_SECRETS_KEY")
    path = settings.secrets_key_path
    if not path.exists():
        _make(path)
    return _seal(path.read_bytes().strip(), str(path))


def _make(path: Path) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    draft = path.with_name(new_id(path.name))
    descriptor = os.open(draft, os.O_WRONLY | os.O_CREAT | os.O_EXCL, OWNER_ONLY)
    try:
        with os.fdopen(descriptor, "wb") as file:
            file.write(Fernet.generate_key() + b"\n")
            file.flush()
            os.fsync(file.fileno())
        # Whole or not there, and never in the place of another process's key: a rename would replace it.
        path.hardlink_to(draft)
    except FileExistsError:
        return
    finally:
        draft.unlink()


def _seal(key: str | bytes, source: str) -> Fernet:
    try:
        return Fernet(key)
    except ValueError:
        raise SecretsKeyError(
            f"{source} holds no key: 32 random bytes in URL-safe Base64 are needed, such as "
            "`python -c 'import base64, os; print(base64.urlsafe_b64encode(os.urandom(32)).decode())'` prints"
        ) from None
