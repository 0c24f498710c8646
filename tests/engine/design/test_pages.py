"""Which pages a pattern matches."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from engine.design.experiment import UrlRule
from engine.design.pages import covers_page, matching_urls, url_matches
from engine.vocabulary import UrlMatchType, words
from tests.builders import an_experiment

PAGE = "https://shop.example/checkout"


@pytest.mark.parametrize(
    ("pattern", "url", "expected"),
    [
        (PAGE, PAGE, True),
        (PAGE, PAGE + "/", True),
        (PAGE + "/", PAGE, True),
        (PAGE, PAGE + "#pay", True),
        (PAGE, PAGE + "/?utm_source=mail#pay", True),
        (PAGE + "?step=2", PAGE + "?utm_source=mail&step=2", True),
        (PAGE + "?step=2", PAGE, False),
        (PAGE + "?step=2", PAGE + "?step=3", False),
        (PAGE + "?a=1&b=2", PAGE + "?b=2&a=1", True),
        (PAGE + "?a=1&a=2", PAGE + "?a=1", False),
        (PAGE + "?empty=", PAGE + "?empty", True),
        (PAGE + "?q=a%20b", PAGE + "?q=a+b", True),
        (PAGE, PAGE + "/step", False),
        (PAGE, PAGE.upper(), False),
        (PAGE, "HTTPS://Shop.Example/checkout", True),
        (PAGE, "https://shop.example:443/checkout", True),
        (PAGE, "https://shop.example:8443/checkout", False),
        (PAGE, "http://shop.example/checkout", False),
        ("https://shop.example", "https://shop.example/", True),
        ("https://shop.example/café", "https://shop.example/caf%C3%A9", True),
        ("/checkout", PAGE + "?a=1", True),
        ("/checkout", "https://other.example/checkout", True),
        ("/checkout", "https://shop.example/en/checkout", False),
        ("/", "https://shop.example", True),
        ("/", "https://shop.example/checkout", False),
    ],
)
def test_exact_ignores_fragment_trailing_slash_and_further_parameters(
    pattern: str, url: str, *, expected: bool
) -> None:
    assert url_matches("exact", pattern, url) is expected


ADDRESSES = st.builds(
    str.__add__,
    st.sampled_from(["", "/", "https://shop.example", "HTTPS://Shop.example:443"]),
    st.text("aA/:%2F?", max_size=6),
)


@given(ADDRESSES, ADDRESSES)
def test_an_address_is_compared_alike_with_and_without_percent_signs(pattern: str, url: str) -> None:
    # A fragment says nothing about the page, but its percent sign has the whole address normalized.
    assert url_matches("exact", pattern, url) is url_matches("exact", pattern, f"{url}#%")


@pytest.mark.parametrize(
    ("match_type", "pattern", "url", "expected"),
    [
        ("starts_with", "https://shop.example/ch", PAGE, True),
        ("starts_with", "https://SHOP.example/ch", PAGE, True),
        ("starts_with", "https://shop.example/x", PAGE, False),
        ("starts_with", "/check", PAGE, True),
        ("starts_with", "/out", PAGE, False),
        ("ends_with", "out", PAGE, True),
        ("ends_with", "out", PAGE + "?a=1", False),
        ("contains", "example/check", PAGE, True),
        ("contains", "Check", PAGE, False),
        ("wildcard", "https://*.example/*", PAGE, True),
        ("wildcard", "https://*.example/", PAGE, False),
        ("wildcard", "*checkout", PAGE, True),
        ("wildcard", "*checkout", PAGE + "?a=1", False),
        ("wildcard", "/check*", PAGE + "?a=1", True),
        ("wildcard", "/p.html", "https://shop.example/p-html", False),
        ("wildcard", "**", "", True),
        ("regex", r"/check(out|in)$", PAGE, True),
        ("regex", r"^/checkout", PAGE, False),
    ],
)
def test_each_match_type_compares_its_own_way(
    match_type: UrlMatchType, pattern: str, url: str, *, expected: bool
) -> None:
    assert url_matches(match_type, pattern, url) is expected


@given(st.sampled_from(words(UrlMatchType)), st.text(max_size=30))
def test_no_address_is_too_strange(match_type: Any, url: str) -> None:
    for strange in (
        url,
        f"https://[{url}",
        f"https://shop.example/{url}?{url}#{url}",
        "\ud800%",
        "//%zz?&=&",
    ):
        assert url_matches(match_type, "/checkout", strange) in {True, False}


@given(st.text("abc*./", max_size=8), st.text("abc./", max_size=8))
def test_a_wildcard_matches_as_a_search_by_hand(pattern: str, url: str) -> None:
    def by_hand(wanted: str, seen: str) -> bool:
        if not wanted:
            return not seen
        if wanted[0] == "*":
            return any(by_hand(wanted[1:], seen[i:]) for i in range(len(seen) + 1))
        return bool(seen) and seen[0] == wanted[0] and by_hand(wanted[1:], seen[1:])

    # The leading `x` keeps a pattern from standing for a path.
    assert url_matches("wildcard", "x" + pattern, "x" + url) is by_hand(pattern, url)


class ScannedText(str):  # noqa: SLOT000  # it counts
    """Text that counts the characters that searches in it pass."""

    scanned = 0

    def find(self, wanted: str, start: Any = 0, end: Any = None) -> int:
        """Search as str does."""
        found = super().find(wanted, start, end)
        self.scanned += (len(self) if end is None else end) - start if found < 0 else found - start + 1
        return found


def test_a_wildcard_of_many_stars_reads_the_text_once() -> None:
    url = ScannedText("a" * 20_000)
    assert not url_matches("wildcard", "*a" * 1_000 + "*b*", url)
    assert 0 < url.scanned <= len(url)


def test_many_addresses_keep_their_order() -> None:
    assert matching_urls("contains", "a", ["a", "b", "ab"]) == [True, False, True]


def test_an_exclude_rule_wins_over_the_page_and_an_include() -> None:
    rules = (
        UrlRule(type="include", match_type="contains", value="/cart"),
        UrlRule(type="exclude", match_type="contains", value="preview=1"),
    )
    experiment = an_experiment(url=PAGE, url_rules=rules)
    assert covers_page(experiment, PAGE)
    assert covers_page(experiment, "https://shop.example/cart")
    assert not covers_page(experiment, "https://shop.example/cart?preview=1")
    assert not covers_page(experiment, PAGE + "?preview=1")
    assert not covers_page(experiment, "https://shop.example/")
