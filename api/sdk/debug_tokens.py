"""Debug tokens: the right to read a project's names and rules on its own pages, for an hour."""

import base64
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Final

import msgspec
from cryptography.fernet import Fernet, InvalidToken

from pipeline.store.catalog.catalog import Catalog
from pipeline.store.catalog.keys import ApiKey, Scope

VALID_FOR: Final = timedelta(hours=1)
SCOPE: Final[Scope] = "experiments:read"
PURPOSE: Final = b"debug_token"


class Grant(msgspec.Struct, frozen=True):
    """The content of a token: its maker's key, the project, and the origin of the dashboard."""

    account_id: str
    key_id: str
    project_id: str
    dashboard: str


_decode: Final = msgspec.json.Decoder(Grant).decode


@dataclass(frozen=True, slots=True)
class DebugTokens:
    """Makes and reads tokens, which are stored nowhere: each is encrypted, and dated by its signature."""

    cipher: Fernet
    catalog: Catalog

    @classmethod
    def of(cls, secret: bytes, catalog: Catalog) -> "DebugTokens":
        """Take a secret of 32 bytes that is used for nothing else."""
        return cls(Fernet(base64.urlsafe_b64encode(secret)), catalog)

    def create(self, key: ApiKey, project_id: str, dashboard: str, *, now: datetime) -> str:
        """Make a token of a key that has the scope and reaches the project."""
        content = msgspec.json.encode(Grant(key.account_id, key.id, project_id, dashboard))
        return self.cipher.encrypt_at_time(content, int(now.timestamp())).decode()

    def read(self, token: str, project_id: str, *, now: datetime) -> Grant | None:
        """Return the grant of a token that holds.

        None for one that is old, forged or of another project, and where its key's right has ended.
        """
        seconds = int(VALID_FOR.total_seconds())
        try:
            content = self.cipher.decrypt_at_time(token, seconds, int(now.timestamp()))
        except (InvalidToken, ValueError):
            # The latter for what is no ASCII.
            return None
        grant = _decode(content)
        return grant if grant.project_id == project_id and self._is_held(grant) else None

    def _is_held(self, grant: Grant) -> bool:
        keys = self.catalog.keys.of_account(grant.account_id)
        return any(
            key.id == grant.key_id
            and key.revoked_at is None
            and SCOPE in key.scopes
            and key.reaches(grant.project_id)
            for key in keys
        )
