"""Keyed hashes of network addresses."""

import hashlib

from pipeline.events.address_keys import address_keys

KEY_OF = address_keys(b"secret")


def test_one_address_has_one_key_and_others_have_others() -> None:
    assert KEY_OF("192.0.2.1") == address_keys(b"secret")("192.0.2.1")
    assert KEY_OF("192.0.2.1") != KEY_OF("192.0.2.2")


def test_a_64_of_ipv6_has_one_key() -> None:
    assert KEY_OF("2001:db8::1") == KEY_OF("2001:db8:0:0:ffff::9")
    assert KEY_OF("2001:db8::1") != KEY_OF("2001:db8:0:1::1")


def test_without_the_secret_the_key_cannot_be_computed() -> None:
    key = KEY_OF("192.0.2.1")
    assert key != address_keys(b"another")("192.0.2.1")
    unkeyed = hashlib.blake2b(bytes([192, 0, 2, 1]), digest_size=8).digest()
    assert key != int.from_bytes(unkeyed, "big")


def test_what_is_no_address_has_no_key() -> None:
    assert KEY_OF(None) is None
    assert KEY_OF("testclient") is None


def test_the_machine_itself_has_no_key() -> None:
    assert KEY_OF("127.0.0.1") is None
    assert KEY_OF("::1") is None
