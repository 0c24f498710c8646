import mmh3
import pytest

from pipeline.events.hashing import hash64


def test_a_hash_is_the_first_half_of_murmur3_x64_128() -> None:
    # From the 16 bytes of the algorithm, little-endian.
    digest = mmh3.mmh3_x64_128_digest(b"visitor-1", 0)
    assert hash64("visitor-1") == int.from_bytes(digest[:8], "little")


def test_a_text_that_has_no_bytes_is_an_error_and_not_the_end_of_the_process() -> None:
    # As Python reads the byte 0xff of a command line.
    with pytest.raises(UnicodeEncodeError):
        hash64("\udcff")
