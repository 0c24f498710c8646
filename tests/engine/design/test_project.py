"""What a project must be to exist, and what it answers."""

from typing import Any

import msgspec
import pytest

from engine.design.project import Project
from engine.errors import InvalidDesignError
from tests.builders import a_project


def problems_of(**overrides: Any) -> set[str]:
    with pytest.raises(InvalidDesignError) as error:
        a_project(**overrides)
    return {problem.field for problem in error.value.problems}


def test_a_project_survives_being_written_and_read_as_json() -> None:
    project = a_project(
        reporting_timezone="America/Vancouver",
        settings={"revenue_currency": "EUR", "domains": ["shop.example"]},
        environments=({"key": "live", "name": "Live", "hostnames": ["www.shop.example"]},),
    )
    assert msgspec.json.decode(msgspec.json.encode(project), type=Project) == project


@pytest.mark.parametrize("stored", [{}, {"gtm": {"enabled": False}}, {"ga4": None}])
def test_a_project_stored_without_an_integration_has_it_disabled(stored: dict[str, Any]) -> None:
    document = {**msgspec.to_builtins(a_project()), "integrations": stored}
    read = msgspec.convert(document, Project)
    assert read.integrations == {"ga4": {"enabled": False}, "gtm": {"enabled": False}}


@pytest.mark.parametrize(
    ("field", "value", "path"),
    [
        ("name", "", "name"),
        ("url", "shop.example", "url"),
        ("url", "javascript:alert(1)", "url"),
        ("url", "https://shop.example:99999", "url"),
        ("url", "https://" + "a" * 2048, "url"),
        ("platform", "geocities", "platform"),
        ("reporting_timezone", "Mars/Olympus", "reporting_timezone"),
        ("reporting_timezone", "america/vancouver", "reporting_timezone"),
        ("reporting_timezone", "../../etc/passwd", "reporting_timezone"),
        ("reporting_timezone", ["UTC"], "reporting_timezone"),
        ("settings", [], "settings"),
        ("settings", {"colour": "red"}, "settings.colour"),
        ("settings", {"revenue_currency": "DOLLAR"}, "settings.revenue_currency"),
        ("settings", {"attribution_window_days": 0}, "settings.attribution_window_days"),
        ("settings", {"retention_days": "30"}, "settings.retention_days"),
        ("settings", {"bot_filtering": 1}, "settings.bot_filtering"),
        ("settings", {"consent_source": "cookiebot"}, "settings.consent_source"),
        ("settings", {"domains": ["https://shop.example"]}, "settings.domains[0]"),
        ("settings", {"domains": ["a.example", "a.example"]}, "settings.domains[1]"),
        ("settings", {"excluded_ips": ["192.0.2.0/24", "192.0.2.300"]}, "settings.excluded_ips[1]"),
        ("settings", {"cookie_domain": "shop example"}, "settings.cookie_domain"),
        ("settings", {"anti_flicker_timeout_ms": 60_000}, "settings.anti_flicker_timeout_ms"),
        ("integrations", {"ga4": {"enabled": True}}, "integrations.ga4.measurement_id"),
        ("integrations", {"ga4": {}}, "integrations.ga4.enabled"),
        ("integrations", {"gtm": True}, "integrations.gtm"),
        ("integrations", {"fax": {}}, "integrations.fax"),
        ("environments", [{"name": "Live"}], "environments[0].key"),
        ("environments", [{"key": "a", "name": "A"}, {"key": "a", "name": "B"}], "environments[1].key"),
        ("environments", [{"key": "a", "name": "A", "hostnames": [7]}], "environments[0].hostnames[0]"),
    ],
)
def test_a_wrong_value_is_refused_where_it_stands(field: str, value: object, path: str) -> None:
    assert problems_of(**{field: value}) == {path}


@pytest.mark.parametrize(
    "settings",
    [
        {"domains": ["*.shop.example", "localhost"], "cookie_domain": ".shop.example"},
        {"excluded_ips": ["192.0.2.7", "2001:db8::/32", "10.1.2.3/8"]},
        {"attribution_window_days": None, "retention_days": 90},
        {"consent_source": "google_consent_mode"},
    ],
)
def test_sound_settings_are_taken(settings: dict[str, Any]) -> None:
    assert a_project(settings=settings).settings == settings


def test_what_is_not_set_has_a_default() -> None:
    project = a_project()
    assert (project.timezone, project.revenue_currency, project.bot_filtering) == ("UTC", "USD", True)
    assert (project.attribution_window_days, project.retention_days) == (None, None)


def test_settings_are_answered() -> None:
    settings = {"revenue_currency": "JPY", "bot_filtering": False, "attribution_window_days": 7}
    project = a_project(settings=settings, reporting_timezone="Asia/Tokyo")
    assert (project.timezone, project.revenue_currency, project.bot_filtering) == ("Asia/Tokyo", "JPY", False)
    assert project.attribution_window_days == 7


def test_hostnames_are_those_of_the_site_its_domains_and_environments() -> None:
    project = a_project(
        url="https://Shop.example:8443/start",
        settings={"domains": ["*.shop.example"]},
        environments=({"key": "t", "name": "Test", "hostnames": ["Test.example"]}, {"key": "x", "name": "X"}),
    )
    assert project.hostnames == {"shop.example", "*.shop.example", "test.example"}
