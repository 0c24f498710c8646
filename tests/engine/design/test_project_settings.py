"""Checks of project settings."""

from typing import Any

import pytest

from engine.design import project_settings


@pytest.mark.parametrize("value", ["shop.example", "*.shop.example", "localhost", "SHOP.example"])
def test_a_hostname_may_have_a_wildcard_in_front(value: str) -> None:
    assert list(project_settings.hostname(value)) == []


@pytest.mark.parametrize("value", ["https://shop.example", "shop.example/x", "a b", "", "*.*.example", 7])
def test_a_hostname_is_no_url(value: object) -> None:
    assert list(project_settings.hostname(value))


@pytest.mark.parametrize(
    ("integrations", "fields"),
    [
        ({"ga4": {"enabled": True, "measurement_id": "G-1"}, "gtm": {"enabled": False}}, []),
        ({"ga4": {"enabled": False}, "gtm": None}, []),
        ({"ga4": {"enabled": True}}, ["ga4.measurement_id"]),
        ({"gtm": {}}, ["gtm.enabled"]),
    ],
)
def test_an_enabled_integration_has_its_id(integrations: dict[str, Any], fields: list[str]) -> None:
    assert [problem.field for problem in project_settings.integrations(integrations)] == fields


def test_environments_have_keys_that_differ() -> None:
    environment = {"key": "live", "name": "Live"}
    problems = project_settings.environments([environment, environment])
    assert [problem.field for problem in problems] == ["[1].key"]
