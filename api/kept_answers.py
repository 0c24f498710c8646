"""Which answers are kept to be given again, in what form, and to whom."""

from collections.abc import Mapping
from typing import Final

import msgspec
from cryptography.fernet import Fernet, InvalidToken
from fastapi import Response

from api.errors import ApiError
from pipeline.store.catalog import ApiKey

# Who has no key, or too many requests, or met a fault of ours, is to try again.
NOT_KEPT: Final = frozenset({401, 429})
NOT_FOR_CACHES: Final = "no-store"
UNREADABLE: Final = (
    "this request was carried out before, and its answer can no longer be read: the service's secrets key "
    "has changed. Look at what is there, and use a new Idempotency-Key"
)


def is_kept(status: int) -> bool:
    """Whether an answer of that status is given again to who repeats the request."""
    return status < 500 and status not in NOT_KEPT


class KeptAnswer(msgspec.Struct, frozen=True):
    """An answer with the id of its request, and the scopes of the key that got it."""

    status: int
    headers: Mapping[str, str]
    body: bytes
    request_id: str
    scopes: tuple[str, ...]

    @classmethod
    def of(cls, answer: Response, request_id: str, key: ApiKey) -> "KeptAnswer":
        """What is kept of an answer."""
        headers = {name: value for name, value in answer.headers.items() if name != "content-length"}
        return cls(answer.status_code, headers, bytes(answer.body), request_id, key.scopes)

    @classmethod
    def opened(cls, sealed: bytes, seal: Fernet) -> "KeptAnswer":
        """The answer again; ApiError where it was sealed with another key."""
        try:
            return msgspec.msgpack.decode(seal.decrypt(sealed), type=cls)
        except InvalidToken:
            raise ApiError("idempotency_key_reused", UNREADABLE) from None

    def sealed_by(self, seal: Fernet) -> bytes:
        """The answer as it may lie on a disk."""
        return seal.encrypt(msgspec.msgpack.encode(self))

    def require_right(self, key: ApiKey) -> None:
        """ApiError `forbidden` for a secret that `key` might not have been given had it asked first."""
        missing = set(self.scopes) - set(key.scopes)
        if missing and NOT_FOR_CACHES in self.headers.get("cache-control", ""):
            raise ApiError("forbidden", f"this answer holds a secret; this key lacks {', '.join(missing)}")
