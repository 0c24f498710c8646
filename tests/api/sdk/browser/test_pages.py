"""Parity of pages: the browser finds an experiment on the pages where the server finds it."""

from collections.abc import Iterator, Sequence
from typing import cast

import pytest
from hypothesis import given
from hypothesis import strategies as st

from engine.design.experiment import UrlRule
from engine.design.pages import covers_page
from engine.validation.patterns import url_pattern_problem
from engine.vocabulary import UrlMatchType, words
from pipeline.assignment.browser_config import browser_config
from tests.api.sdk.browser.javascript import JavaScript, javascript
from tests.builders import a_project, an_experiment

ORIGINS = (
    "",
    "https://shop.example",
    "HTTPS://Shop.Example:443",
    "http://shop.example:80",
    "http://shop.example:443",
)
PATHS = (
    *(
        "",
        "/",
        "//",
        "/a",
        "/a/",
        "/A",
        "/a/b",
        "/go/HTTPS://Shop.Example:443/a",
        "/go/https://shop.example/a",
    ),
    *(
        "/café",
        "/caf%C3%A9",
        "/caf%c3%a9",
        "/caf%C3",
        "/caf%C4",
        "/a%2Fb",
        "/a+b",
        "/a%20b",
        "/a%26b",
        "/a&b",
    ),
    *(
        "/%",
        "/%zz",
        "/%25zz",
        "/😀",
        "/%F0%9F%98%80",
        "/\ufeffa",
        "/%EF%BB%BFa",
        "/İ",
        "/aa",
        "/aaa",
        "/*",
        "*",
    ),
)
PARAMETERS = (
    *("a", "a=", "a=1", "A=1", "a=b=c", "a%3Db=c", "a=b%3Dc", "a+b=1", "a%20b=1", "?a=1", "=", "=1", "a=%C3"),
    *("a=%C4", "a=%EF%BB%BF1", "a=\ufeff1", "a=%26", "b=2", "é=😀", "%C3%A9=%F0%9F%98%80", "", ";a=1", "a=;"),
)
QUERIES = st.lists(st.sampled_from(PARAMETERS), max_size=3).map(
    lambda found: f"?{'&'.join(found)}" if found else ""
)
URLS = st.builds(
    "{}{}{}{}".format,
    st.sampled_from(ORIGINS),
    st.sampled_from(PATHS),
    QUERIES,
    st.sampled_from(["", "#", "#a", "#?a=1"]),
)
MATCH_TYPES = cast("tuple[UrlMatchType, ...]", words(UrlMatchType))
PLAIN_TYPES = tuple(match_type for match_type in MATCH_TYPES if match_type != "regex")
Pattern = tuple[UrlMatchType, str]


def can_match(pattern: Pattern) -> bool:
    return bool(pattern[1]) and url_pattern_problem(*pattern) is None


SIMPLE = st.tuples(st.sampled_from(PLAIN_TYPES), URLS).filter(can_match)
RULES = st.lists(
    st.builds(
        lambda kind, pattern: UrlRule(type=kind, match_type=pattern[0], value=pattern[1]),
        st.sampled_from(["include", "exclude"]),
        SIMPLE,
    ),
    max_size=3,
)
PATTERNS = st.sampled_from(
    [r"/a\b", r"^https?://shop\.example/.*a$", r"[?&]a=[^&]*$", "caf.", "😀|é", r"(a|aa)+$"]
)


@pytest.fixture(scope="module")
def script() -> Iterator[JavaScript]:
    with javascript() as running:
        yield running


def expect_parity(
    script: JavaScript, rules: Sequence[tuple[UrlMatchType, str, Sequence[UrlRule]]], urls: Sequence[str]
) -> None:
    experiments = [
        an_experiment(
            id=f"exp_{number}", status="running", url=value, url_match_type=match_type, url_rules=more
        )
        for number, (match_type, value, more) in enumerate(rules)
    ]
    config = browser_config(a_project(), experiments, sdk_key="pk")
    assert not any(experiment["decided_by_server"] for experiment in config["experiments"])
    given_config = {"automata": config["automata"], "experiments": config["experiments"]}
    for url in urls:
        expected = [covers_page(experiment, url) for experiment in experiments]
        assert script.call("covers", given_config, url) == expected, (rules, url)


@given(pattern=URLS, urls=st.lists(URLS, min_size=1, max_size=12))
def test_a_url_matches_on_both_sides_or_on_neither(script: JavaScript, pattern: str, urls: list[str]) -> None:
    patterns: list[Pattern] = [(match_type, pattern) for match_type in PLAIN_TYPES]
    patterns.append(("wildcard", pattern.replace("a", "*")))
    rules = [(*one, ()) for one in patterns if can_match(one)]
    expect_parity(script, rules, [*urls, pattern, f"{pattern}&a=1"])


@given(pattern=PATTERNS, urls=st.lists(URLS, min_size=1, max_size=12))
def test_a_regular_expression_matches_on_both_sides_or_on_neither(
    script: JavaScript, pattern: str, urls: list[str]
) -> None:
    expect_parity(script, [("regex", pattern, ())], urls)


@given(pattern=SIMPLE, rules=RULES, urls=st.lists(URLS, min_size=1, max_size=12))
def test_rules_include_and_exclude_pages_alike(
    script: JavaScript, pattern: Pattern, rules: list[UrlRule], urls: list[str]
) -> None:
    expect_parity(script, [(*pattern, tuple(rules))], urls)


@pytest.mark.parametrize(
    ("pattern", "url", "expected"),
    [
        ("/a%C3", "/a%C4", True),
        ("/a?a=b%3Dc", "/a?a%3Db=c", False),
        ("/a?a=1", "/a??a=1", False),
        ("/go/https://shop.example", "/go/HTTPS://shop.example", False),
    ],
)
def test_an_exact_page_is_compared_with_decoded_parts(
    script: JavaScript, pattern: str, url: str, *, expected: bool
) -> None:
    experiment = an_experiment(status="running", url=pattern, url_match_type="exact")
    config = browser_config(a_project(), [experiment], sdk_key="pk")
    assert covers_page(experiment, f"https://shop.example{url}") is expected
    assert script.call("covers", config, f"https://shop.example{url}") == [expected]
