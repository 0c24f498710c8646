"""Seals: every changed bit of a sealed file is found, and files from before seals are read."""

import msgspec
import pytest

from pipeline.store.sealed_files import require_seal, seal, seal_object, unseal

CONTENT = msgspec.json.encode({"name": "Größe", "seq": 71, "rows": [1, 2, 3]})


def flipped(content: bytes) -> list[bytes]:
    """Return the content with each one of its bits changed."""
    return [
        content[: bit // 8] + bytes([content[bit // 8] ^ 1 << bit % 8]) + content[bit // 8 + 1 :]
        for bit in range(8 * len(content))
    ]


def test_each_changed_bit_of_a_sealed_file_is_found_or_is_content_that_cannot_be_read() -> None:
    assert unseal(seal(CONTENT)) == unseal(CONTENT) == CONTENT
    for changed in flipped(seal(CONTENT)):
        with pytest.raises((ValueError, msgspec.DecodeError)):
            assert msgspec.json.decode(unseal(changed)) != msgspec.json.decode(CONTENT)


def test_each_changed_bit_of_a_sealed_object_is_found_or_leaves_its_members_as_they_were() -> None:
    document = msgspec.json.format(seal_object(CONTENT), indent=2)
    require_seal(document)
    require_seal(CONTENT)
    members, unfound = msgspec.json.decode(CONTENT), list[bytes]()
    for changed in flipped(document):
        try:
            found = msgspec.json.decode(changed)
            require_seal(changed)
        except (ValueError, msgspec.DecodeError):
            continue
        unfound.append(changed)
        assert {name: found[name] for name in members} == members
    # In the name of the digest itself.
    assert len(unfound) <= 8 * len("blake2b")
