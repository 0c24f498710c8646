import base64
import hashlib
import json
import shutil
import subprocess
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import pytest

from api.installation import (
    async_snippet_html,
    content_security_policy,
    snippet_html,
    storefront_pixel_code,
    stub_hash,
    tracking_snippet,
)
from api.services import Services
from pipeline.store.catalog.ids import new_sdk_key
from tests.api.customers import Customer
from tests.api.request_bodies import error_of
from tests.builders import a_project

BASE = "https://ab.example"


class Scripts(HTMLParser):
    """The script elements of a page, with their sources and contents."""

    def __init__(self, html: str) -> None:
        super().__init__()
        self.sources: list[str | None] = []
        self.code = ""
        self.feed(html)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        assert tag == "script"
        self.sources.append(dict(attrs).get("src"))

    def handle_data(self, data: str) -> None:
        self.code += data


def test_installation_has_every_field(customer: Customer, services: Services) -> None:
    project = customer.a_project(installation_guide="gtm")
    data = customer.get(f"{project}/installation").json()["data"]
    sdk_key = services.catalog.projects.find(project.rpartition("/")[2]).sdk_key
    assert set(data) == {
        "platform",
        "installation_guide",
        "snippet_verified",
        "snippet_html",
        "async_snippet_html",
        "script_sha256",
        "content_security_policy",
        "api_key",
        "tracking_snippet",
        "storefront_pixel_code",
    }
    assert (data["platform"], data["installation_guide"]) == ("custom_js", "gtm")
    assert (data["api_key"], data["snippet_verified"]) == (sdk_key, False)
    assert data["storefront_pixel_code"] is None
    source = f"{services.settings.base_url}/sdk/v1/{sdk_key}.js"
    assert Scripts(data["snippet_html"]).sources == [source, None]
    assert Scripts(data["async_snippet_html"]).sources == [source]


def test_snippet_loads_what_the_service_serves(customer: Customer, project: str, services: Services) -> None:
    data = customer.data_of(f"{project}/installation")
    (source, _) = Scripts(data["snippet_html"]).sources
    assert source is not None
    assert customer.client.get(source.removeprefix(services.settings.base_url)).status_code == 200


def test_public_key_is_shown_to_readers_of_the_project_only(customer: Customer, project: str) -> None:
    assert customer.with_key("projects:read").get(f"{project}/installation").status_code == 200
    other = customer.with_key("projects:write", "experiments:read", "sdk:write")
    error_of(other.get(f"{project}/installation"), 403, "forbidden")


@pytest.mark.parametrize("base_url", [BASE, f"{BASE}/", f"{BASE}/under"])
def test_snippet_refers_to_its_script(base_url: str) -> None:
    expected = f"{base_url.rstrip('/')}/sdk/v1/pk_shop.js"
    assert Scripts(snippet_html(a_project(), base_url)).sources == [expected, None]
    assert Scripts(async_snippet_html(a_project(), base_url)).sources == [expected]


def test_page_waits_as_long_as_the_project_says() -> None:
    html = snippet_html(a_project(settings={"anti_flicker_timeout_ms": 250}), BASE)
    assert 'async blocking="render"' in html
    assert 'data-timeout="250"' in html
    assert 'data-timeout="1000"' in snippet_html(a_project(), BASE)


def test_page_that_waits_for_nothing_has_one_tag() -> None:
    project = a_project(settings={"anti_flicker_timeout_ms": 0})
    assert snippet_html(project, BASE) == async_snippet_html(project, BASE)


def test_policy_names_the_inline_script_by_its_hash_whatever_the_project() -> None:
    pages = [
        Scripts(snippet_html(a_project(**fields), BASE)).code.strip()
        for fields in ({}, {"sdk_key": "pk_other", "settings": {"anti_flicker_timeout_ms": 5}})
    ]
    assert len(set(pages)) == 1
    digest = base64.b64encode(hashlib.sha256(pages[0].encode()).digest()).decode()
    assert stub_hash() == f"sha256-{digest}"
    policy = content_security_policy(f"{BASE}:8443/under/")
    assert policy == f"script-src {BASE}:8443 'sha256-{digest}'; connect-src {BASE}:8443"


def test_address_cannot_leave_its_attribute() -> None:
    html = snippet_html(a_project(), 'https://x.example/"><script>alert(1)</script>')
    assert len(Scripts(html).sources) == 2


def test_order_is_reported_in_the_projects_currency() -> None:
    code = Scripts(tracking_snippet(a_project(settings={"revenue_currency": "EUR"}))).code
    assert 'currency: "EUR"' in code
    assert "49.99 EUR" in code
    assert "$" not in code


@pytest.mark.parametrize("platform", ["custom_js", "woocommerce", "gtm", "nextjs"])
def test_no_other_platform_has_a_pixel(platform: str) -> None:
    assert storefront_pixel_code(a_project(platform=platform), BASE) is None


def test_pixel_of_a_shopify_store_reports_to_its_own_project() -> None:
    code = storefront_pixel_code(a_project(platform="shopify"), BASE)
    assert code is not None
    assert json.dumps(f"{BASE}/api/v1/sdk/convert?key=pk_shop&consent=granted") in code
    assert "checkout_completed" in code


# What a store's sandbox offers a pixel: the visitor's cookie, and events of the checkout.
SANDBOX = """
const requests = [];
const browser = {{ cookie: {{ get: async (name) => name === "truelift_visitor" ? {visitor} : "" }} }};
globalThis.fetch = async (address, options) => {{ requests.push({{ address, ...options }}); }};
const analytics = {{ subscribe: (name, tell) => {{ analytics[name] = tell; }} }};
{pixel}
analytics.checkout_completed({{ id: "evt-1", data: {{ checkout: {checkout} }} }})
  .then(() => console.log(JSON.stringify(requests)));
"""
CHECKOUT = {"totalPrice": {"amount": 19.99}, "currencyCode": "USD", "order": {"id": "o-1"}, "token": "t-1"}


def requests_of_pixel(folder: Path, pixel: str, visitor: str = "v1", **checkout: Any) -> list[dict[str, Any]]:
    script = folder / "pixel.js"
    told = json.dumps({**CHECKOUT, **checkout})
    script.write_text(SANDBOX.format(pixel=pixel, visitor=json.dumps(visitor), checkout=told))
    node = shutil.which("node")
    if node is None:
        pytest.skip("needs Node.js: apt-get install nodejs")
    run = subprocess.run([node, script], capture_output=True, text=True, check=True, timeout=30)
    requests: list[dict[str, Any]] = json.loads(run.stdout)
    return requests


def test_pixel_tells_the_service_an_order_that_it_accepts(
    customer: Customer, services: Services, tmp_path: Path
) -> None:
    project = customer.a_project(platform="shopify")
    pixel = customer.get(f"{project}/installation").json()["data"]["storefront_pixel_code"]
    (request,) = requests_of_pixel(tmp_path, pixel)
    address = request["address"].removeprefix(services.settings.base_url)
    answer = customer.client.post(address, content=request["body"], headers=request["headers"])
    assert answer.json()["accepted"] == 1, answer.text
    assert json.loads(request["body"])["revenue_cents"] == 1999


# ISO 4217: the yen has no minor unit, the Kuwaiti dinar a thousand of them.
@pytest.mark.parametrize(("currency", "amount", "minor"), [("JPY", 1999, 1999), ("KWD", 19.999, 19_999)])
def test_pixel_reports_minor_units_of_the_currency(
    tmp_path: Path, currency: str, amount: float, minor: int
) -> None:
    pixel = storefront_pixel_code(a_project(platform="shopify"), BASE)
    assert pixel is not None
    (request,) = requests_of_pixel(tmp_path, pixel, totalPrice={"amount": amount}, currencyCode=currency)
    assert json.loads(request["body"])["revenue_cents"] == minor


def test_pixel_is_silent_about_whom_it_does_not_know(tmp_path: Path) -> None:
    pixel = storefront_pixel_code(a_project(platform="shopify", sdk_key=new_sdk_key()), BASE)
    assert pixel is not None
    assert requests_of_pixel(tmp_path, pixel, visitor="") == []
