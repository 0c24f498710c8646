import pytest

from pipeline.assignment.snippet import is_own_page, verified
from tests.builders import NOW, a_project

PROJECT = a_project(
    settings={"domains": ["checkout.example"]},
    environments=({"key": "test", "name": "Test", "hostnames": ["*.staging.example"]},),
)


@pytest.mark.parametrize(
    ("page", "is_own"),
    [
        ("https://shop.example", True),
        ("https://SHOP.example:8443/cart", True),
        ("https://checkout.example", True),
        ("https://one.staging.example", True),
        ("https://evil-shop.example", False),
        ("https://shop.example.evil.example", False),
        ("null", False),
        ("http://[broken", False),
        (None, False),
    ],
)
def test_a_page_is_the_projects_own_by_its_host(page: str | None, *, is_own: bool) -> None:
    assert is_own_page(PROJECT, page) is is_own


def test_a_verified_project_stays_as_it_is() -> None:
    first = verified(PROJECT, now=NOW)
    assert (first.snippet_verified, first.updated_at) == (True, NOW)
    assert verified(first, now=NOW) is first
