"""What an API key looks like, and how one is recognised without being kept."""

import hashlib
import hmac
import secrets
from dataclasses import dataclass

SECRET_BYTES = 32
TOKEN_ID_BYTES = 8
# Stands in for the digest of a key that does not exist, so that looking for one takes as long.
NO_DIGEST = hashlib.sha256(b"").hexdigest()


@dataclass(frozen=True, slots=True)
class Token:
    """A freshly made token: `text` is shown once, only `digest` is kept."""

    token_id: str
    text: str
    digest: str

    @property
    def prefix(self) -> str:
        """What may be shown of the token ever after."""
        return self.text.rpartition("_")[0]


def new_token(environment: str) -> Token:
    """`svc_<environment>_<token id>_<secret>` with 32 random bytes of secret, in hex."""
    token_id = secrets.token_hex(TOKEN_ID_BYTES)
    text = f"svc_{environment}_{token_id}_{secrets.token_hex(SECRET_BYTES)}"
    return Token(token_id, text, digest_of(text))


def digest_of(text: str) -> str:
    """The SHA-256 of the whole token, in hex; the secret's 256 random bits need no slow hash."""
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()


def token_id_of(text: str) -> str:
    """The part that a token is looked up by; empty where `text` has not the form of a token."""
    parts = text.split("_")
    if len(parts) != 4 or parts[0] != "svc":
        return ""
    # Nothing but letters and digits reaches the database: not every one takes any character.
    return parts[2] if parts[2].isascii() and parts[2].isalnum() else ""


def matches(text: str, digest: str | None) -> bool:
    """Whether `text` is the token that `digest` was kept of, in constant time; never for None."""
    return hmac.compare_digest(digest_of(text), digest or NO_DIGEST) and digest is not None
