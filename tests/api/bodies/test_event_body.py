"""Bodies of events: media types, compression and limits."""

import gzip
import json
import random
import zlib
from collections.abc import Callable

import pytest

from tests.api.shops import Shop

TRACK = "/api/v1/sdk/track"
INIT = "/api/v1/sdk/init"


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


def padded(body: bytes, size: int, *, of_chance: int) -> bytes:
    """Fill up with white space, of which so many bytes in 64 are random and compress little."""
    choose = random.Random(1)  # noqa: S311 - no secret
    filled = bytearray(body)
    while len(filled) < size:
        filled += bytes(choose.choices(b" \t\n\r", k=of_chance)).ljust(64)
    return bytes(filled[:size])


def test_a_body_of_a_mebibyte_and_ten_decompressed_pass(shop: Shop) -> None:
    body = json.dumps({"batch": [shop.exposure()]}).encode()
    assert shop.post(TRACK, body.ljust(2**20)).status_code == 200
    full = padded(body, 10 * 2**20, of_chance=12)
    assert shop.post(TRACK, gzip.compress(full), Content_Encoding="gzip").status_code == 200


def test_a_body_may_expand_freely_to_a_mebibyte_and_twenty_times_beyond(shop: Shop) -> None:
    body = json.dumps({"batch": [shop.exposure()]}).encode()
    for size, of_chance, status in ((2**20, 0, 200), (2**20 + 1, 0, 413), (2**21, 12, 200), (2**21, 0, 413)):
        sent = gzip.compress(padded(body, size, of_chance=of_chance))
        assert (size <= max(2**20, 20 * len(sent))) is (status == 200)
        answer = shop.post(TRACK, sent, Content_Encoding="gzip")
        assert answer.status_code == status
    assert "20 times its compressed size" in answer.json()["error"]["message"]


@pytest.mark.parametrize("encoding", ["identity", "gzip"])
def test_the_body_of_a_visit_may_have_64_kib(shop: Shop, encoding: str) -> None:
    def sent(size: int) -> bytes:
        body = b'{"visitor_id":"v1"}'.ljust(size)
        return gzip.compress(body) if encoding == "gzip" else body

    assert shop.post(INIT, sent(2**16), Content_Encoding=encoding).status_code == 200
    answer = shop.post(INIT, sent(2**16 + 1), Content_Encoding=encoding)
    assert (answer.status_code, answer.json()["error"]["code"]) == (413, "payload_too_large")


@pytest.mark.parametrize(
    ("path", "body"),
    [
        (TRACK, b'{"batch":[],"batch":[]}'),
        (TRACK, b'{"batch":[],"note":1,"note":2}'),
        ("/api/v1/sdk/convert", b'{"batch":[],"sent_at":1,"sent_at":2}'),
        (INIT, b'{"visitor_id":"a","visitor_id":"b"}'),
        (INIT, b'{"attributes":{"country":"US","country":"CA"}}'),
    ],
)
def test_a_body_that_repeats_a_member_is_refused(shop: Shop, path: str, body: bytes) -> None:
    answer = shop.post(path, body)
    assert (answer.status_code, answer.json()["error"]["code"]) == (400, "invalid_json")
    assert "more than once" in answer.json()["error"]["message"]


def test_an_event_that_repeats_a_member_is_rejected_alone(shop: Shop) -> None:
    repeated = json.dumps(shop.exposure("b"))[:-1] + ',"visitor_id":"v2"}'
    body = f'{{"batch":[{json.dumps(shop.exposure("a"))},{repeated}]}}'.encode()
    first, second = shop.post(TRACK, body).json()["results"]
    assert (first["status"], second["status"], second["code"]) == ("ok", "rejected", "invalid_event")
    assert "'visitor_id' more than once" in second["message"]
    order = b'{"event_id":"c","visitor_id":"v","event_name":"x","revenue_cents":1,"revenue_cents":2}'
    assert shop.post("/api/v1/sdk/convert", order).json()["results"][0]["code"] == "invalid_event"
    assert shop.stored() == ["a"]


def test_a_large_body_is_stored_whole(shop: Shop) -> None:
    events = [shop.exposure(f"e{number}", attributes={"note": "x" * 1_000}) for number in range(500)]
    answer = shop.post(TRACK, {"batch": events}).json()
    assert (answer["accepted"], answer["rejected"]) == (500, 0)
    assert [result["event_id"] for result in answer["results"]] == shop.stored()
