"""Resolution of targets as the URL standard has it."""

import pytest

from engine.url_resolution import resolve, with_parameters_of

PAGE = "https://shop.example/a/b?x=1#top"


@pytest.mark.parametrize(
    ("target", "expected"),
    [
        ("c", "https://shop.example/a/c"),
        ("../c", "https://shop.example/c"),
        ("", "https://shop.example/a/b?x=1"),
        ("?y=2", "https://shop.example/a/b?y=2"),
        ("//other.example", "https://other.example/"),
        ("https:c", "https://shop.example/a/c"),
        ("http:other.example", "http://other.example/"),
        ("\\\\other.example\\c", "https://other.example/c"),
        ("/c/%2E%2e/./d/..", "https://shop.example/"),
    ],
)
def test_a_target_is_resolved_as_in_a_browser(target: str, expected: str) -> None:
    assert resolve(PAGE, target) == expected


def test_a_target_keeps_its_own_parameters() -> None:
    assert with_parameters_of(PAGE, "https://shop.example/?x=2#a") == "https://shop.example/?x=2#a"
    assert with_parameters_of(PAGE, "https://shop.example/c") == "https://shop.example/c?x=1#top"
    assert with_parameters_of(PAGE, "https://shop.example/?y=~#a") == "https://shop.example/?y=~&x=1#a"


@pytest.mark.parametrize(
    "target",
    [
        *(
            "https://a%zz/",
            "https://[::/",
            "https://a:65536/",
            "https://a b/",
            "https://",
            "https://1.2.3.256/",
        ),
        *("https://1.2.3.4.5/", "https://a.08/", "https://%ff/", "https://[::1%25a]/", "//"),
    ],
)
def test_what_no_browser_takes_is_none(target: str) -> None:
    assert resolve(PAGE, target) is None


@pytest.mark.parametrize(
    ("host", "expected"),
    [
        ("u:p@a:443", "u:p@a"),
        ("[::1]:8443", "[::1]:8443"),
        ("0x7f.1", "127.0.0.1"),
        ("017.0.0.1", "15.0.0.1"),
        ("a.", "a."),
        ("%41", "a"),
        ("é.example", "xn--9ca.example"),
        ("a_b", "a_b"),
    ],
)
def test_hosts_of_any_form_are_written_as_a_browser_writes_them(host: str, expected: str) -> None:
    assert resolve(PAGE, f"https://{host}/") == f"https://{expected}/"


@pytest.mark.parametrize("target", ["javascript:alert(1)", "mailto:a@shop.example", "ftp://shop.example/"])
def test_other_schemes_are_none(target: str) -> None:
    assert resolve(PAGE, target) is None
