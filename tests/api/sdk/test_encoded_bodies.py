import asyncio
import gzip

import brotli
import pytest

from api.sdk import encoded_bodies
from api.sdk.encoded_bodies import Coding, EncodedBodies, chosen_coding

TEXT = b"a text that repeats itself, " * 100


@pytest.mark.parametrize(
    ("accepted", "coding"),
    [
        ("", "identity"),
        ("gzip", "gzip"),
        ("gzip, deflate, br, zstd", "br"),
        ("BR", "br"),
        ("br;q=0, gzip;q=0.5", "gzip"),
        ("br; Q = 0.0, *", "gzip"),
        ("*", "br"),
        ("*;q=0", "identity"),
        ("gzip;q=nonsense", "identity"),
        (";;,=,br;;", "br"),
        # Browsers name fewer than twenty.
        ("x," * 20 + "br", "identity"),
    ],
)
def test_coding_is_the_best_that_the_client_takes(accepted: str, coding: Coding) -> None:
    assert chosen_coding(accepted) == coding


def test_a_content_can_be_read_again() -> None:
    async def encode() -> list[bytes]:
        bodies = EncodedBodies()
        encoded = [await bodies.encoded(TEXT, coding) for coding in ("gzip", "br", "identity")]
        return [*encoded, await bodies.encoded(TEXT, "br", is_shared=False)]

    zipped, compressed, plain, quick = asyncio.run(encode())
    assert (gzip.decompress(zipped), brotli.decompress(compressed), plain) == (TEXT, TEXT, TEXT)
    assert brotli.decompress(quick) == TEXT
    assert max(len(zipped), len(compressed)) < len(TEXT)


def test_requests_at_once_and_later_ones_share_one_compression(monkeypatch: pytest.MonkeyPatch) -> None:
    compressed: list[Coding] = []
    compress = encoded_bodies._compress  # noqa: SLF001 - counted here

    def counted(content: bytes, coding: Coding, is_shared: bool) -> bytes:  # noqa: FBT001 - called by place
        compressed.append(coding)
        return compress(content, coding, is_shared)

    async def ask() -> None:
        bodies = EncodedBodies()
        await asyncio.gather(*(bodies.encoded(TEXT, "gzip") for _ in range(5)))
        await bodies.encoded(TEXT, "gzip")

    monkeypatch.setattr(encoded_bodies, "_compress", counted)
    asyncio.run(ask())
    assert compressed == ["gzip"]


def test_a_request_that_ends_early_leaves_the_work_to_the_others() -> None:
    async def ask() -> bytes:
        bodies = EncodedBodies()
        first = asyncio.create_task(bodies.encoded(TEXT, "br"))
        second = asyncio.create_task(bodies.encoded(TEXT, "br"))
        await asyncio.sleep(0)
        first.cancel()
        return await second

    assert brotli.decompress(asyncio.run(ask())) == TEXT


def test_memory_is_bounded_and_what_was_asked_for_last_is_kept() -> None:
    async def fill() -> EncodedBodies:
        bodies = EncodedBodies(max_bytes=200)
        for number in range(50):
            await bodies.encoded(b"%d" % number + TEXT, "gzip")
        return bodies

    kept = asyncio.run(fill())._kept  # noqa: SLF001 - the memory in question
    assert 0 < sum(map(len, kept.values())) <= 200
    assert [gzip.decompress(body)[:2] for body in kept.values()][-1] == b"49"
