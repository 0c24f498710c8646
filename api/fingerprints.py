"""Whether two requests ask for the same: a digest of everything that a request asks for."""

import hashlib
import json
from urllib.parse import parse_qsl

from fastapi import Request

from api.strict_json import MalformedJsonError, read_json


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
