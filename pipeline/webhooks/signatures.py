"""Signatures of messages, by the convention of Standard Webhooks 1.0 (https://www.standardwebhooks.com).

The package `standardwebhooks` verifies them in the tests: it would sign in as many lines.
"""

import base64
import hashlib
import hmac
import secrets
from collections.abc import Iterable
from datetime import datetime
from typing import Final

_PREFIX: Final = "whsec_"
_SECRET_BYTES: Final = 32


def new_secret() -> str:
    """Make a secret: `whsec_` and 32 random bytes in Base64."""
    return _PREFIX + base64.b64encode(secrets.token_bytes(_SECRET_BYTES)).decode()


def headers_of(message_id: str, content: bytes, signing: Iterable[str], *, now: datetime) -> dict[str, str]:
    """Return the headers that sign a message sent now, with a signature by each of the secrets."""
    timestamp = str(int(now.timestamp()))
    signed = b".".join((message_id.encode(), timestamp.encode(), content))
    return {
        "webhook-id": message_id,
        "webhook-timestamp": timestamp,
        "webhook-signature": " ".join(f"v1,{_signature(secret, signed)}" for secret in signing),
    }


def _signature(secret: str, signed: bytes) -> str:
    key = base64.b64decode(secret.removeprefix(_PREFIX))
    return base64.b64encode(hmac.digest(key, signed, hashlib.sha256)).decode()
