"""A shop of the real service whose pages have its snippet, and the debug panel on them."""

from dataclasses import dataclass, field
from typing import Any

from playwright.sync_api import Page

from api.services import Services
from pipeline.clock import utc_now
from tests.api.customers import Customer
from tests.api.sdk.browser.site import Site, a_page
from tests.waiting import wait_until

BODY = "<h1>Original</h1><p>Price</p><a href='/next'>Next</a>"
EVERYBODY = [{"name": "Control", "is_control": True, "weight": 0}, {"name": "Treatment", "weight": 1}]


def changing(*changes: tuple[str, str, str]) -> list[dict[str, Any]]:
    made = [{"selector": one, "action": action, "value": value} for one, action, value in changes]
    return [EVERYBODY[0], {**EVERYBODY[1], "changes": made}]


@dataclass(frozen=True, slots=True)
class Shop:
    """A project whose snippet is on the pages of a site."""

    customer: Customer
    site: Site
    project: str
    ids: dict[str, str] = field(default_factory=dict)

    @property
    def services(self) -> Services:
        return self.customer.services

    def start(self, name: str, *steps: str, **fields: Any) -> str:
        """Start an experiment on every page in which everybody gets the treatment; returns its path."""
        body = {"name": name, "test_key": name.lower().replace(" ", "-"), "url": "/"}
        everywhere = {"url_match_type": "starts_with", "variants": changing()}
        path = self.customer.an_experiment(self.project, **{**body, **everywhere, **fields})
        for step in ("start", *steps):
            answer = self.customer.post(f"{path}/{step}", {} if step == "complete" else None)
            assert answer.status_code == 200, answer.text
        self.ids[name] = path.rpartition("/")[2]
        return path

    def token(self, project: str | None = None) -> str:
        key = self.services.catalog.keys.of_account(self.customer.account.id)[0]
        project_id = (project or self.project).rpartition("/")[2]
        return self.services.debug_tokens.create(key, project_id, "http://dashboard.example", now=utc_now())

    def counted(self) -> int:
        assert self.services.ingest.load()
        return int(self.customer.data_of(f"{self.project}/stats")["total_visitors"])


def a_strict_shop(customer: Customer, site: Site) -> Shop:
    """Open a shop whose pages have a strict policy."""
    # A busy machine is not late.
    project = customer.a_project(url=site.base, settings={"anti_flicker_timeout_ms": 10_000})
    installation = customer.data_of(f"{project}/installation")
    policy = installation["content_security_policy"]
    strict = f"{policy}; style-src 'none'; trusted-types truelift; require-trusted-types-for 'script'"
    site.page_headers = {"Content-Security-Policy": strict}
    for path in ("/", "/next"):
        site.pages[path] = a_page(BODY, head=installation["snippet_html"])
    return Shop(customer, site, project)


def open_panel(shop: Shop, page: Page, token: str | None, path: str = "/") -> None:
    page.goto(f"{shop.site.base}{path}" + (f"#truelift_debug={token}" if token else "?truelift_debug"))
    page.wait_for_selector("truelift-debug h2")
    if token:
        wait_until(lambda: "Asks the service" not in text_of(page))


PANEL = "document.querySelector('truelift-debug').shadowRoot.querySelector('section').innerText"


def sections(page: Page) -> dict[str, str]:
    """The text of each experiment's section, by its title."""
    return dict(
        page.evaluate(
            "[...document.querySelector('truelift-debug').shadowRoot.querySelectorAll('details')]"
            ".map((one) => [one.querySelector('summary').textContent, one.textContent])"
        )
    )


def text_of(page: Page) -> str:
    return str(page.evaluate(PANEL))


def condition(name: str, value: str) -> dict[str, Any]:
    one = {"field": name, "operator": "equals", "values": [value]}
    return {"targeting_rules": {"version": 2, "root": {"operator": "and", "children": [one]}}}
