"""Stored replies: request fingerprints, and encrypted answers to replay."""

import hashlib
import json
from collections.abc import Mapping
from typing import Final
from urllib.parse import parse_qsl

import msgspec
from cryptography.fernet import Fernet, InvalidToken
from fastapi import Request, Response

from api.bodies.json_body import MalformedJsonError, TooManyValuesError, read_json
from api.errors import ApiError
from pipeline.store.catalog.keys import ApiKey

# A caller without a key, over its limit, with an old ETag, or met by a fault of the service has to be able to
# try again.
NOT_STORED: Final = frozenset({401, 412, 429})
NO_STORE: Final = "no-store"
UNREADABLE: Final = (
    "this request was carried out before, and its answer can no longer be read: the service's secrets key "
    "has changed. Look at what is there, and use a new Idempotency-Key"
)


def is_stored(status: int) -> bool:
    """Return whether an answer of this status is stored and replayed."""
    return status < 500 and status not in NOT_STORED


class StoredReply(msgspec.Struct, frozen=True):
    """An answer with the id of its request, and the scopes of the key that received it."""

    status: int
    headers: Mapping[str, str]
    body: bytes
    request_id: str
    scopes: tuple[str, ...]

    @classmethod
    def of(cls, answer: Response, request_id: str, key: ApiKey) -> "StoredReply":
        """Take from an answer what is stored of it."""
        headers = {name: value for name, value in answer.headers.items() if name != "content-length"}
        return cls(answer.status_code, headers, bytes(answer.body), request_id, key.scopes)

    @classmethod
    def decrypt(cls, encrypted: bytes, cipher: Fernet) -> "StoredReply":
        """Decrypt a reply; ApiError `idempotency_key_reused` where it was encrypted with another key."""
        try:
            return _decode(cipher.decrypt(encrypted))
        except InvalidToken:
            raise ApiError("idempotency_key_reused", UNREADABLE) from None

    def encrypt(self, cipher: Fernet) -> bytes:
        """Encrypt the reply, to be stored on disk."""
        return cipher.encrypt(msgspec.msgpack.encode(self))

    def require_access(self, key: ApiKey) -> None:
        """Require all scopes of the first key where the answer holds a secret; ApiError `forbidden`."""
        missing = set(self.scopes) - set(key.scopes)
        if missing and NO_STORE in self.headers.get("cache-control", ""):
            raise ApiError("forbidden", f"this answer holds a secret; this key lacks {', '.join(missing)}")


def fingerprint_of(request: Request, body: bytes) -> str:
    """Digest method, path, query and body: SHA-256 in hex.

    The order of query parameters and of members in a JSON object makes no difference.
    """
    query = sorted(parse_qsl(request.url.query, keep_blank_values=True, encoding="latin-1"))
    digest = hashlib.sha256(json.dumps([request.method, request.url.path, query]).encode())
    digest.update(_canonical(body))
    return digest.hexdigest()


def _canonical(body: bytes) -> bytes:
    try:
        return json.dumps(read_json(body), sort_keys=True).encode()
    except (MalformedJsonError, TooManyValuesError):
        # An operation that takes no body accepts any bytes; then each of them counts.
        return body


_decode: Final = msgspec.msgpack.Decoder(StoredReply).decode
