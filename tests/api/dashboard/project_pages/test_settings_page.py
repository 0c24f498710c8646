"""Page of a project's settings: saved as typed, effects told first, and two tabs that lose nothing."""

import pytest
from fastapi.testclient import TestClient

from engine.design.project_settings import SETTINGS
from tests.api.customers import Customer
from tests.api.dashboard.conftest import SignIn
from tests.api.dashboard.project_pages.sent_forms import fields_of, send

WHOLE = {
    "name": "Shop <b>",
    "settings.domains": "shop.example\r\n*.shop.example",
    "settings.excluded_ips": "192.0.2.0/24",
    "settings.anti_flicker_timeout_ms": "0",
    "settings.respect_gpc": "on",
    "integrations.ga4.enabled": "on",
    "integrations.ga4.measurement_id": "G-ABC",
    "environments[0].key": "staging",
    "environments[0].name": "Staging",
    "environments[0].hostnames": "staging.shop.example",
}
TOLD = {
    "reporting_timezone": "Europe/Berlin",
    "settings.revenue_currency": "EUR",
    "settings.exchange_rates": "USD 0.92\nGBP=1.17",
    "settings.retention_days": "90",
    "settings.bot_filtering": None,
}


def test_every_setting_has_a_field_but_consent(browser: TestClient, project: str) -> None:
    page = browser.get(f"{project}/settings")
    names = {name for name in SETTINGS if f'name="settings.{name}"' in page.text}
    # It is a choice of the installation.
    assert names == SETTINGS.keys() - {"require_consent", "consent_source"}
    assert 'href="' + project + '/settings" aria-current="page"' in page.text


def test_settings_are_saved_as_typed_and_shown_again(
    browser: TestClient, customer: Customer, project: str
) -> None:
    saved = send(browser, browser.get(f"{project}/settings"), dict(WHOLE))
    assert (saved.status_code, saved.headers["location"]) == (303, f"{project}/settings?saved=yes")
    found = customer.data_of(project)
    assert (found["name"], found["settings"]["domains"]) == ("Shop <b>", ["shop.example", "*.shop.example"])
    assert found["settings"]["anti_flicker_timeout_ms"] == 0
    assert found["integrations"]["ga4"] == {"enabled": True, "measurement_id": "G-ABC"}
    assert [one["key"] for one in found["environments"]] == ["staging"]
    # Settings that no field was typed into stay absent.
    assert "bot_filtering" not in found["settings"]
    page = browser.get(saved.headers["location"])
    assert "Saved." in page.text
    assert "Shop &lt;b&gt;" in page.text
    # Nothing typed, nothing changed; an emptied row is removed, and an empty field is the default again.
    assert send(browser, page, {}).status_code == 303
    assert customer.data_of(project)["updated_at"] == found["updated_at"]
    emptied: dict[str, str | None] = {name: "" for name in WHOLE if name.startswith("environments")}
    emptied |= {"settings.domains": "", "integrations.ga4.enabled": None}
    assert send(browser, page, {**emptied}).status_code == 303
    after = customer.data_of(project)
    assert (after["environments"], "domains" in after["settings"]) == ([], False)
    assert after["integrations"]["ga4"] == {"enabled": False, "measurement_id": "G-ABC"}


def test_what_a_change_does_is_told_before_it_is_saved(
    browser: TestClient, customer: Customer, project: str
) -> None:
    asked = send(browser, browser.get(f"{project}/settings"), dict(TOLD))
    assert asked.status_code == 200
    assert "The days of every experiment move" in asked.text
    assert "removes events that are older for good" in asked.text
    assert customer.data_of(project)["settings"] == {}
    # One that was not told is told, too.
    more = send(browser, asked, {"settings.keep_nights": "3"})
    assert more.status_code == 200
    assert "removes the results of nights beyond" in more.text
    assert send(browser, more, {}).status_code == 303
    found = customer.data_of(project)
    assert found["reporting_timezone"] == "Europe/Berlin"
    assert found["settings"] == {
        "revenue_currency": "EUR",
        "exchange_rates": {"USD": 0.92, "GBP": 1.17},
        "retention_days": 90,
        "keep_nights": 3,
        "bot_filtering": False,
    }


def test_what_is_wrong_is_said_beside_its_field_and_nothing_is_lost(
    browser: TestClient, customer: Customer, project: str
) -> None:
    wrong = {
        **WHOLE,
        "url": "nowhere",
        "settings.domains": "good.example\nno host",
        "environments[0].key": "",
        "told": "settings.exchange_rates reporting_timezone",
        "reporting_timezone": "Mars/Base",
        "settings.exchange_rates": "EUR much",
    }
    refused = send(browser, browser.get(f"{project}/settings"), dict(wrong))
    assert refused.status_code == 422
    for field in (
        *("url", "settings.domains", "settings.exchange_rates", "reporting_timezone"),
        "environments[0].key",
    ):
        assert f'id="problem-{field}"' in refused.text, field
    kept = fields_of(refused)
    assert kept["settings.domains"] == "good.example\nno host"
    assert kept["environments[0].hostnames"] == "staging.shop.example"
    assert kept["settings.respect_gpc"] == "on"
    assert customer.data_of(project)["name"] == "Shop"


def test_two_tabs_lose_nothing(browser: TestClient, customer: Customer, project: str) -> None:
    first, second, third = (browser.get(f"{project}/settings") for _ in range(3))
    assert send(browser, first, {"name": "First", "settings.respect_dnt": "on"}).status_code == 303
    told = send(browser, second, {"name": "Second", "settings.cookie_domain": "shop.example"})
    assert told.status_code == 412
    assert "somebody has saved a change" in told.text
    kept = fields_of(told)
    assert (kept["name"], kept["settings.respect_dnt"]) == ("Second", "on")
    assert customer.data_of(project)["name"] == "First"
    assert send(browser, told, {}).status_code == 303
    found = customer.data_of(project)
    assert (found["name"], found["settings"]) == (
        "Second",
        {"respect_dnt": True, "cookie_domain": "shop.example"},
    )
    # What is not of the form, such as a new public key, is no conflict.
    again = browser.get(f"{project}/settings")
    assert customer.post(f"{project}/rotate_sdk_key").status_code == 200
    assert send(browser, again, {"name": "Third"}).status_code == 303
    assert send(browser, third, {"name": "First"}).status_code == 412


def test_what_was_typed_outlives_the_session(browser: TestClient, customer: Customer, project: str) -> None:
    page = browser.get(f"{project}/settings")
    browser.post("/sign-out", data={"form_token": fields_of(page)["form_token"]})
    assert send(browser, page, {"name": "Typed"}).status_code == 303
    browser.post("/sign-in", data={"key": customer.token})
    shown = browser.get(f"{project}/settings")
    assert fields_of(shown)["name"] == "Typed"
    assert "your session had ended" in shown.text
    assert customer.data_of(project)["name"] == "Shop"


@pytest.mark.parametrize(
    ("scopes", "status"), [(("projects:read",), 403), (("projects:read", "projects:write"), 200)]
)
def test_only_a_key_that_changes_projects_sees_the_form(
    scopes: tuple[str, ...], status: int, customer: Customer, project: str, sign_in: SignIn
) -> None:
    assert sign_in(customer.with_key(*scopes).token).get(f"{project}/settings").status_code == status


def test_numbers_of_rows_that_no_page_has_are_compacted(
    browser: TestClient, customer: Customer, project: str
) -> None:
    page = browser.get(f"{project}/settings")
    far = {"environments[999].key": "far", "environments[999].name": "Far", "environments[0x].key": "no"}
    assert send(browser, page, {**far}).status_code == 303
    assert [one["key"] for one in customer.data_of(project)["environments"]] == ["far"]
