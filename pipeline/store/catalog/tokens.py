"""Tokens of API keys: format, digest and comparison."""

import hashlib
import hmac
import secrets
from dataclasses import dataclass

SECRET_BYTES = 32
TOKEN_ID_BYTES = 8
# Compared for an unknown key, so that it takes as long as a known one.
NO_DIGEST = hashlib.sha256(b"").hexdigest()


@dataclass(frozen=True, slots=True)
class Token:
    """A new token: `text` is shown once, only `digest` is stored."""

    token_id: str
    text: str
    digest: str

    @property
    def prefix(self) -> str:
        """The part that is shown later."""
        return self.text.rpartition("_")[0]


def new_token(environment: str) -> Token:
    """Generate `svc_<environment>_<token id>_<secret>` with 32 random bytes of secret, in hex."""
    token_id = secrets.token_hex(TOKEN_ID_BYTES)
    text = f"svc_{environment}_{token_id}_{secrets.token_hex(SECRET_BYTES)}"
    return Token(token_id, text, digest_of(text))


def digest_of(text: str) -> str:
    """Compute the SHA-256 of a token, in hex; the secret's 256 random bits need no slow hash."""
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()


def token_id_of(text: str) -> str:
    """Return the id in a token; empty where `text` does not have the form of a token."""
    parts = text.split("_")
    if len(parts) != 4 or parts[0] != "svc":
        return ""
    # Only letters and digits, since not every database takes any character.
    return parts[2] if parts[2].isascii() and parts[2].isalnum() else ""


def matches(text: str, digest: str | None) -> bool:
    """Return whether `digest` is that of the token, in constant time; never for None."""
    return hmac.compare_digest(digest_of(text), digest or NO_DIGEST) and digest is not None
