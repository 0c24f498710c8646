"""Seals: digests at the end of small files, by which a changed bit is found; files without one are older."""

import hashlib
from typing import Final

import msgspec

_DIGEST_BYTES: Final = 16
_LINE: Final = b"\nblake2b "
_MEMBER: Final = b',"blake2b":"'


class BrokenSealError(ValueError):
    """The content of a file is not as it was written."""


def seal(content: bytes) -> bytes:
    """Return content with its digest in a line of its own."""
    return content + _LINE + _digest(content) + b"\n"


def unseal(sealed: bytes) -> bytes:
    """Return the content without the line of its digest; BrokenSealError."""
    content, found, digest = sealed.rpartition(_LINE)
    if not found:
        return sealed
    return _compared(content, digest.removesuffix(b"\n"))


def seal_object(document: bytes) -> bytes:
    """Return a compact JSON object with its digest as a last member."""
    return document[:-1] + _MEMBER + _digest(document) + b'"}'


def require_seal(document: bytes) -> None:
    """Compare the digest of a JSON object, whose layout is free; BrokenSealError, msgspec.DecodeError."""
    content, found, digest = msgspec.json.format(document, indent=-1).rpartition(_MEMBER)
    if found:
        _compared(content + b"}", digest.removesuffix(b'"}'))


def _compared(content: bytes, digest: bytes) -> bytes:
    if _digest(content) != digest:
        raise BrokenSealError("the content is not as it was written")
    return content


def _digest(content: bytes) -> bytes:
    return hashlib.blake2b(content, digest_size=_DIGEST_BYTES).hexdigest().encode()
