"""Which answers are kept to be given again, in what form, and to whom.

Whether two requests ask for the same: a digest of everything that a request asks for.
"""

import hashlib
import json
from collections.abc import Mapping
from typing import Final
from urllib.parse import parse_qsl

import msgspec
from cryptography.fernet import Fernet, InvalidToken
from fastapi import Request, Response

from api.bodies.json_body import MalformedJsonError, read_json
from api.errors import ApiError
from pipeline.store.catalog.keys import ApiKey

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


class StoredReply(msgspec.Struct, frozen=True):
    """An answer with the id of its request, and the scopes of the key that got it."""

    status: int
    headers: Mapping[str, str]
    body: bytes
    request_id: str
    scopes: tuple[str, ...]

    @classmethod
    def of(cls, answer: Response, request_id: str, key: ApiKey) -> "StoredReply":
        """What is kept of an answer."""
        headers = {name: value for name, value in answer.headers.items() if name != "content-length"}
        return cls(answer.status_code, headers, bytes(answer.body), request_id, key.scopes)

    @classmethod
    def opened(cls, sealed: bytes, seal: Fernet) -> "StoredReply":
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


def fingerprint_of(request: Request, body: bytes) -> str:
    """The digest of method, path, query and body, in hex.

    Neither the order of members in a JSON object nor that of query parameters makes a difference.
    """
    query = sorted(parse_qsl(request.url.query, keep_blank_values=True, encoding="latin-1"))
    asked = [request.method, request.url.path, query]
    digest = hashlib.sha256(json.dumps(asked).encode())
    digest.update(_in_order(body))
    return digest.hexdigest()


def _in_order(body: bytes) -> bytes:
    try:
        return json.dumps(read_json(body), sort_keys=True).encode()
    except MalformedJsonError:
        # Where an operation takes no body, anything may come: then every byte counts.
        return body
