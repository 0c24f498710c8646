"""Bodies of events: media types, compression and limits."""

import gzip
import json
import zlib
from collections.abc import Callable

import pytest

from tests.api.shops import Shop

TRACK = "/api/v1/sdk/track"


def test_text_plain_is_taken_as_json(shop: Shop) -> None:
    answer = shop.post(TRACK, {"batch": [shop.exposure()]}, Content_Type="text/plain;charset=UTF-8")
    assert answer.json()["accepted"] == 1


@pytest.mark.parametrize(
    ("encoding", "compress"),
    [
        ("gzip", gzip.compress),
        ("deflate", zlib.compress),
        ("deflate", lambda body: zlib.compress(body, wbits=-zlib.MAX_WBITS)),
    ],
)
def test_a_body_may_be_compressed(shop: Shop, encoding: str, compress: Callable[[bytes], bytes]) -> None:
    body = compress(json.dumps({"batch": [shop.exposure()]}).encode())
    assert shop.post(TRACK, body, Content_Encoding=encoding).json()["accepted"] == 1


# Each way a whole request is refused: the body, headers, and the status and code of the answer.
REFUSED: list[tuple[bytes, dict[str, str], int, str]] = [
    (b"{", {}, 400, "invalid_json"),
    (b"[]", {}, 400, "invalid_json"),
    (b"", {}, 400, "invalid_json"),
    (b'{"batch":' + b"[" * 10_000, {}, 400, "invalid_json"),
    (b"not gzip", {"Content_Encoding": "gzip"}, 400, "invalid_json"),
    (gzip.compress(b'{"batch":[]}', mtime=0)[:-4], {"Content_Encoding": "gzip"}, 400, "invalid_json"),
    (b"{}", {"Content_Type": "application/x-www-form-urlencoded"}, 415, "unsupported_media_type"),
    (b"{}", {"Content_Encoding": "br"}, 415, "unsupported_media_type"),
    (b"{}", {}, 422, "validation_error"),
    (b'{"batch":5}', {}, 422, "validation_error"),
    (b'{"batch":[],"sent_at":"noon"}', {}, 422, "validation_error"),
    (json.dumps({"batch": [{}] * 501}).encode(), {}, 413, "payload_too_large"),
    (b'{"batch":[]}' + b" " * 2**20, {}, 413, "payload_too_large"),
    (
        gzip.compress(b'{"batch":[]}' + b" " * 10 * 2**20, mtime=0),
        {"Content_Encoding": "gzip"},
        413,
        "payload_too_large",
    ),
    (gzip.compress(b"\0" * 40 * 2**20, 1, mtime=0), {"Content_Encoding": "gzip"}, 413, "payload_too_large"),
]


@pytest.mark.parametrize(("body", "headers", "status", "code"), REFUSED)
def test_a_body_that_cannot_be_read_is_refused(
    shop: Shop, body: bytes, headers: dict[str, str], status: int, code: str
) -> None:
    answer = shop.post(TRACK, body, **headers)
    assert (answer.status_code, answer.json()["error"]["code"]) == (status, code)
    assert shop.stored_count() == 0


def test_a_body_of_a_mebibyte_and_ten_decompressed_pass(shop: Shop) -> None:
    body = json.dumps({"batch": [shop.exposure()]}).encode()
    assert shop.post(TRACK, body.ljust(2**20)).status_code == 200
    assert shop.post(TRACK, gzip.compress(body.ljust(10 * 2**20)), Content_Encoding="gzip").status_code == 200
