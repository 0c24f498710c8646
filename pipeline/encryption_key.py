"""Encryption key of stored replies, from the settings or the data folder, and secrets derived from it."""

import hashlib
import os
from pathlib import Path

from cryptography.fernet import Fernet

from pipeline.settings import Settings
from pipeline.store.catalog.ids import new_id
from pipeline.store.private_files import OWNERS_FILE, make_private_folder
from pipeline.store.sealed_files import BrokenSealError, seal, unseal


class SecretsKeyError(Exception):
    """The setting, or the file, does not hold a key."""


def open_cipher(settings: Settings) -> Fernet:
    """Open the cipher with the key of the settings, else with that of the data folder.

    The folder's key is created where it is absent; processes that do so at once all get the same one.
    Fernet is AES-128-CBC with an HMAC-SHA256: https://github.com/fernet/spec. Raises SecretsKeyError.
    """
    return _cipher(*_read_key(settings))


def derive_secret(settings: Settings, purpose: bytes) -> bytes:
    """Derive 32 bytes for a purpose of at most 16 bytes from that key, which they do not reveal.

    Raises SecretsKeyError.
    """
    key, source = _read_key(settings)
    # An invalid key is reported in the same words for every use of it.
    _cipher(key, source)
    return hashlib.blake2b(digest_size=32, key=key, person=purpose).digest()


def operator_token(settings: Settings) -> str:
    """Return the token of commands on the service's machine, which can read the same key; SecretsKeyError."""
    return derive_secret(settings, b"operator").hex()


def _read_key(settings: Settings) -> tuple[bytes, str]:
    """Read the key and the name of its source."""
    if settings.secrets_key is not None:
        content, source = settings.secrets_key.get_secret_value().encode(), "TRUELIFT_SECRETS_KEY"
    else:
        path = settings.secrets_key_path
        if not path.exists():
            _create_key(path)
        content, source = path.read_bytes(), str(path)
    try:
        # The setting may be the content of a file.
        return unseal(content).strip(), source
    except BrokenSealError as error:
        raise SecretsKeyError(f"{source} is damaged: put it back from a backup") from error


def _create_key(path: Path) -> None:
    make_private_folder(path.parent)
    draft = path.with_name(new_id(path.name))
    descriptor = os.open(draft, os.O_WRONLY | os.O_CREAT | os.O_EXCL, OWNERS_FILE)
    try:
        with os.fdopen(descriptor, "wb") as file:
            file.write(seal(Fernet.generate_key()))
            file.flush()
            os.fsync(file.fileno())
        # A link, since a rename would replace the key that another process has just created.
        path.hardlink_to(draft)
    except FileExistsError:
        return
    finally:
        draft.unlink()


def _cipher(key: bytes, source: str) -> Fernet:
    try:
        return Fernet(key)
    except ValueError:
        raise SecretsKeyError(
            f"{source} holds no key: 32 random bytes in URL-safe Base64 are needed, such as "
            "`python -c 'import base64, os; print(base64.urlsafe_b64encode(os.urandom(32)).decode())'` prints"
        ) from None
