"""Parity of redirects: the server names the address to which a browser goes."""

from collections.abc import Iterator
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from engine.design.pages import redirect_url
from engine.design.variants import Change, Variant
from engine.validation.values import is_web_address
from tests.api.sdk.browser.javascript import JavaScript, javascript
from tests.builders import a_variant, an_experiment
from tests.examples import examples

SEGMENTS = st.lists(
    st.sampled_from(
        [
            *(
                "a",
                "b",
                "",
                ".",
                "..",
                "%2e",
                ".%2E",
                "%2e%2e",
                "...",
                "~",
                "*",
                "é",
                "%zz",
                "a\\b",
                "\\",
                ";p=1",
            ),
            "😀",
            "a b",
        ]
    ),
    max_size=5,
)
PARAMETERS = st.lists(
    st.sampled_from(
        [
            *(
                "a=1",
                "a=2",
                "b=~*-._",
                "c=%7E%2A",
                "d=a+b%20c",
                "é=%C3",
                "e",
                "=",
                "",
                "f='()!",
                "g=%F0%9F%98%80",
            ),
            *("h=a%26b", "%61=1", "a%3Db=c", "i=\\..\\", "?a=1", "j=;k=1", "l=\u2028"),
        ]
    ),
    max_size=4,
)
HOSTS = st.sampled_from(
    ["shop.example", "SHOP.example:443", "other.example:8443", "u:p@shop.example", "[::1]"]
)


def after_host(segments: list[str], parameters: list[str], fragment: str) -> str:
    query = f"?{'&'.join(parameters)}" if parameters else ""
    return f"/{'/'.join(segments)}{query}{fragment}"


AFTER_HOST = st.builds(after_host, SEGMENTS, PARAMETERS, st.sampled_from(["", "#", "#top", "#/a/../b?c"]))
ADDRESSES = st.builds(
    "{}{}{}".format, st.sampled_from(["https://", "http://", "HTTPS://", "https:\\\\"]), HOSTS, AFTER_HOST
)

# As experiments may have them; with a host after a backslash only where a browser reads it.
TARGETS = (
    AFTER_HOST.filter(lambda path: path[1:2] not in {"/", "\\"})
    | ADDRESSES.filter(is_web_address)
    | st.sampled_from(["https://shop.example", "/", "/?", "/new?#", "/a/..", "/\\other.example/a"])
)


@pytest.fixture(scope="module")
def script() -> Iterator[JavaScript]:
    with javascript() as running:
        yield running


def a_redirect(target: str) -> Variant:
    return a_variant(changes=(Change(id="chg_1", selector="body", action="replace", value=target),))


def in_browser(script: JavaScript, target: str, page: str, *, relay_params: bool) -> Any:
    experiment = {"type": "redirect", "relay_params": relay_params}
    variant = {"changes": [{"selector": "body", "action": "replace", "value": target}]}
    return script.call("redirect", experiment, variant, page)


@examples(60, 1000)
@given(target=TARGETS, address=ADDRESSES.filter(is_web_address), relay_params=st.booleans())
def test_a_redirect_leads_to_one_address_on_both_sides(
    script: JavaScript, target: str, address: str, *, relay_params: bool
) -> None:
    experiment = an_experiment(type="redirect", relay_params=relay_params)
    # The address of a page is in normal form in a browser.
    for page in (address, script.call("href", address)):
        served = redirect_url(experiment, a_redirect(target), page)
        assert served is not None
        assert served == in_browser(script, target, page, relay_params=relay_params)


@pytest.mark.parametrize(
    ("target", "page", "expected"),
    [
        ("/new?b=~", "https://shop.example/?a=*", "https://shop.example/new?b=~&a=*"),
        ("/new?b=~ %20", "https://shop.example/?b=1", "https://shop.example/new?b=~%20%20"),
        (
            "/new",
            "https://shop.example/?q=a%20b&flag&t=~x&e=%E9#part",
            "https://shop.example/new?q=a%20b&flag&t=~x&e=%E9#part",
        ),
        (
            "/new?t=1#own",
            "https://shop.example/?%74=2&?t=3&=#part",
            "https://shop.example/new?t=1&?t=3&=#own",
        ),
        ("/a\\b\\..\\c", "https://shop.example/", "https://shop.example/a/c"),
        ("/a//b/../c/%2e%2E/d", "https://shop.example/", "https://shop.example/a//d"),
        ("/new", "https://shop.example/?a=\ud83d", "https://shop.example/new?a=%EF%BF%BD"),
    ],
)
def test_the_server_follows_the_url_standard(
    script: JavaScript, target: str, page: str, expected: str
) -> None:
    assert (
        redirect_url(an_experiment(type="redirect", relay_params=True), a_redirect(target), page) == expected
    )
    assert in_browser(script, target, page, relay_params=True) == script.call("href", expected)


# Parts of hosts, most of which no browser takes.
HOST_PARTS = st.sampled_from(
    [
        *("a", ".", "1", "256", "0x", "0xff", "08", "017", "%zz", "%41", "%20", "%ff", "-", "_", "~", "*"),
        *(":", ":80", ":65536", "[", "]", "[::1]", "[::1%25a]", "[1::2::3]", "@", "u:p@", "<", "|", "\\"),
        *("\u2100", "\uff11"),
    ]
)


@examples(90, 1500)
@given(parts=st.lists(HOST_PARTS, max_size=5))
def test_what_is_no_address_for_a_browser_is_none_on_the_server(script: JavaScript, parts: list[str]) -> None:
    target, page = f"https://{''.join(parts)}/", "https://shop.example/"
    experiment = an_experiment(type="redirect")
    served = redirect_url(experiment, a_redirect(target), page)
    assert (served is None) == (in_browser(script, target, page, relay_params=False) is None)


@pytest.mark.parametrize("target", ["https://a%zz/", "https://[::/", "https://shop.example:99999/"])
def test_nobody_goes_where_the_target_is_no_address(script: JavaScript, target: str) -> None:
    assert in_browser(script, target, "https://shop.example/", relay_params=True) is None
    experiment = an_experiment(type="redirect", relay_params=True)
    assert redirect_url(experiment, a_redirect(target), "https://shop.example/") is None
