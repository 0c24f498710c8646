"""Addresses that webhooks may reach."""

from ipaddress import ip_address, ip_network

import pytest

from pipeline.webhooks.endpoint_addresses import is_of, is_permitted, url_problems

TEN = (ip_network("10.0.0.0/8"),)


@pytest.mark.parametrize("address", ["8.8.8.8", "1.1.1.1", "2606:4700:4700::1111", "::ffff:8.8.8.8"])
def test_public_addresses_are_permitted(address: str) -> None:
    assert is_permitted(ip_address(address), ())


@pytest.mark.parametrize(
    "address",
    [
        *("127.0.0.1", "0.0.0.0", "10.1.2.3", "172.16.0.1", "192.168.1.1", "169.254.169.254", "100.64.0.1"),  # noqa: S104 - not to be reached
        *("224.0.0.1", "239.255.255.255", "255.255.255.255", "192.0.2.1", "198.18.0.1", "240.0.0.1"),
        *("::1", "::", "fe80::1", "fe80::1%eth0", "fc00::1", "fd12:3456::1", "ff02::1", "2001:db8::1"),
        # Those of an IPv4 network, in other clothes: mapped, NAT64, 6to4, Teredo, IPv4-compatible.
        *("::ffff:127.0.0.1", "::ffff:169.254.169.254", "64:ff9b::7f00:1", "64:ff9b::a9fe:a9fe"),
        *("64:ff9b:1::7f00:1", "2002:7f00:1::", "2002:a9fe:a9fe::", "2001:0:53aa:64c::1", "::7f00:1"),
        # Of one site, and what a translator makes an IPv4 address of.
        *("fec0::1", "feff:ffff::1", "::ffff:0:10.1.2.3", "::ffff:0:8.8.8.8"),
    ],
)
def test_every_other_address_is_refused(address: str) -> None:
    assert not is_permitted(ip_address(address), ())
    assert not is_permitted(ip_address(address), (ip_network("203.0.113.0/24"),))


@pytest.mark.parametrize("address", ["10.1.2.3", "::ffff:10.1.2.3"])
def test_a_network_of_the_settings_is_permitted(address: str) -> None:
    assert is_permitted(ip_address(address), TEN)
    assert is_of(ip_address(address), TEN)
    assert not is_of(ip_address("8.8.8.8"), TEN)
    assert not is_permitted(ip_address("127.0.0.1"), TEN)
    assert is_permitted(ip_address("fec0::1"), (ip_network("fec0::/10"),))


@pytest.mark.parametrize(
    ("url", "problem"),
    [
        ("http://shop.example/hooks", "must be an https address"),
        ("https://ada:secret@shop.example/", "holds a user name"),
        ("https://shop.example/#part", "has a fragment"),
        ("https://bücher.example/", "Punycode"),
        ("https://localhost/", "own machine"),
        ("https://api.localhost:8080/", "own machine"),
        ("https://127.0.0.1/", "127.0.0.1 is not a public address"),
        ("https://[::1]/", "::1 is not a public address"),
        ("https://[::ffff:10.0.0.1]:8443/", "is not a public address"),
        ("https://[fec0::1]/", "fec0::1 is not a public address"),
        ("https://[::ffff:0:808:808]/", "is not a public address"),
    ],
)
def test_what_is_wrong_with_a_url_is_said_before_its_name_is_resolved(url: str, problem: str) -> None:
    (found,) = url_problems(url, ())
    assert problem in found


def test_good_urls_have_no_problem() -> None:
    assert not [*url_problems("https://shop.example:8443/hooks?team=1", ())]
    assert not [*url_problems("http://10.0.0.1/", TEN)]
    assert not [*url_problems("http://localhost/", (ip_network("127.0.0.0/8"),))]
