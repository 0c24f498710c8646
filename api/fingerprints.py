"""Whether two requests ask for the same: a digest of everything that a request asks for."""

import hashlib
import json
from urllib.parse import parse_qsl

import msgspec
from fastapi import Request


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
        return json.dumps(msgspec.json.decode(body), sort_keys=True).encode()
    except (msgspec.DecodeError, RecursionError, ValueError):
        # No JSON, or none that can be put in order: then every byte counts.
        return body
