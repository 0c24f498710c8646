"""Entity tags, If-Match and If-None-Match as RFC 9110 has them (8.8.3.2, 13.1.1, 13.1.2)."""

import pytest

from api.results.entity_tags import is_match, is_none_match, strong_tag, weak_tag

TAG = 'W/"67ab43"'


@pytest.mark.parametrize(
    "header",
    [
        'W/"67ab43"',
        # Two tags match weakly whether or not either is weak.
        '"67ab43"',
        '"xyzzy", "67ab43"',
        'W/"xyzzy", W/"67ab43" , "c3piozzzz"',
        ',"67ab43",',
        '"a,b","67ab43"',
        "*",
        " * ",
    ],
)
def test_a_tag_that_is_named_matches(header: str) -> None:
    assert not is_none_match(TAG, header)


@pytest.mark.parametrize(
    "header",
    [
        "",
        '"67ab4"',
        '"67ab43 "',
        "67ab43",
        'W/"xyzzy"',
        '"a,67ab43,b"',
        # In a list, a star is no tag, and means nothing.
        '*, "xyzzy"',
    ],
)
def test_a_tag_that_is_not_named_does_not_match(header: str) -> None:
    assert is_none_match(TAG, header)


def test_equal_contents_have_one_tag_and_others_have_another() -> None:
    assert weak_tag(b"a") == weak_tag(b"a") != weak_tag(b"b")
    assert not is_none_match(weak_tag(b"a"), weak_tag(b"a"))


@pytest.mark.parametrize(
    # The examples of RFC 9110, 13.1.1; two tags match strongly where neither is weak (8.8.3.2).
    "header",
    ['"xyzzy"', '"xyzzy", "r2d2xxxx", "c3piozzzz"', "*", 'W/"r2d2xxxx", "xyzzy"'],
)
def test_a_strong_tag_that_is_named_matches(header: str) -> None:
    assert is_match('"xyzzy"', header)


@pytest.mark.parametrize("header", ['W/"xyzzy"', '"XYZZY"', "xyzzy", ""])
def test_a_weak_tag_or_another_does_not_match_strongly(header: str) -> None:
    assert not is_match('"xyzzy"', header)


def test_a_weak_tag_never_matches_strongly() -> None:
    tag = weak_tag(b"a")
    assert not is_match(tag, tag)
    assert is_match(strong_tag(b"a"), tag.removeprefix("W/"))
