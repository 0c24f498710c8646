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


def test_each_content_is_compressed_once_for_each_coding(monkeypatch: pytest.MonkeyPatch) -> None:
    compressed: list[Coding] = []
    compress = encoded_bodies._compress  # noqa: SLF001 - counted here

    def counted(content: bytes, coding: Coding, is_shared: bool) -> bytes:  # noqa: FBT001 - called by place
        compressed.append(coding)
        return compress(content, coding, is_shared)

    async def ask() -> None:
        bodies = EncodedBodies()
        for content in (TEXT, b"another " + TEXT, TEXT):
            await bodies.encoded(content, "gzip")
            await bodies.encoded(content, "br", is_shared=False)

    monkeypatch.setattr(encoded_bodies, "_compress", counted)
    asyncio.run(ask())
    assert compressed == ["gzip", "br", "gzip", "br"]
