"""Visits of a React shop over a bad network, in several tabs: results equal what its pages did."""

import random
import subprocess
from collections import Counter
from contextlib import ExitStack, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from api.app import create_app
from api.installation import snippet_html
from pipeline.settings import Settings
from tests.api.customers import Customer, a_customer
from tests.api.sdk.browser.conftest import chromium_path, open_chromium
from tests.api.sdk.browser.firefox import opened_firefox
from tests.api.sdk.browser.shop import Network, ShopServer, served_shop
from tests.api.sdk.browser.shop_deeds import TEXTS, Deeds
from tests.api.sdk.browser.shop_visits import visited
from tests.api.sdk.browser.test_build import NODE
from tests.api.sdk.browser.test_frameworks import FRAMEWORKS
from tests.api.sdk.browser.visitors import visitors_of_chromium, visitors_of_firefox
from tests.api.serving import served as served_app
from tests.waiting import wait_until

CHANGES = [
    {"selector": ".delivery", "action": "modify_text", "value": TEXTS[1]},
    {"selector": ".price", "action": "modify_html", "value": "<s>Sale</s>"},
]
GOALS = [
    {"name": name, "goal_type": "custom_event", "config": {"event_name": name}}
    for name in ("view_product", "add_to_cart")
] + [
    {
        "name": "purchase",
        "goal_type": "revenue",
        "is_primary": True,
        "config": {"event_name": "purchase"},
    }
]
TESTS: dict[str, dict[str, Any]] = {
    "delivery": {"url": "/product/", "url_match_type": "starts_with", "changes": CHANGES},
    # The page's code asks for it.
    "free-shipping": {"url": "/cart", "url_match_type": "exact", "trigger": "manual", "changes": []},
}
VARIANTS = ("control", "changed")


@dataclass(frozen=True, slots=True)
class Shop:
    """A project with a test of texts on products, and one of a feature that the cart asks for."""

    customer: Customer
    server: ShopServer
    base: str
    experiments: dict[str, str]

    def counted(self) -> Counter[tuple[str, str, int]]:
        """Read the results of both tests."""
        counts: Counter[tuple[str, str, int]] = Counter()
        for test, path in self.experiments.items():
            data = self.customer.data_of(f"{path}/results")
            goals = {goal["id"]: goal["name"] for goal in self.customer.data_of(path)["goals"]}
            for goal, variants in data["variants"].items():
                for one in variants:
                    index = VARIANTS.index(one["variant_name"])
                    counts[test, goals[goal], index] = one["conversions"]
                    counts[test, "visitors", index] = one["visitors"]
                    if goals[goal] == "purchase":
                        counts[test, "cents", index] = one["revenue_cents"]
        return counts


@pytest.fixture(scope="module")
def script(tmp_path_factory: pytest.TempPathFactory) -> str:
    output = tmp_path_factory.mktemp("shop")
    subprocess.run([NODE, FRAMEWORKS / "build.mjs", output, "shop"], check=True, timeout=120)
    return (output / "shop.js").read_text()


def opened_shop(
    stack: ExitStack, folder: Path, script: str, *, slowest_seconds: float, **settings: Any
) -> Shop:
    """Start a service, a project with two running experiments, and its shop."""
    given = Settings(data_dir=folder, fresh_read_seconds=60)
    app = create_app(given)
    client = stack.enter_context(served_app(app, given))
    customer = a_customer(client, app.state.services)
    customer.services.catalog.accounts.update(customer.account.id, rate_limit=10**6)
    network = Network(random.Random(1), slowest_seconds)  # noqa: S311 - not secret
    server = stack.enter_context(served_shop(script, network, client))
    base, service = (f"http://{host}:{server.server_port}" for host in ("localhost", "127.0.0.1"))
    # A busy machine is not late.
    project = customer.a_project(url=f"{base}/", settings={"anti_flicker_timeout_ms": 10_000, **settings})
    found = customer.services.catalog.projects.find(project.rpartition("/")[2])
    experiments = {test: started(customer, project, test) for test in TESTS}
    server.head = snippet_html(found, service)
    return Shop(customer, server, base, experiments)


def started(customer: Customer, project: str, test: str) -> str:
    """Start an experiment of the shop; returns its path."""
    fields = dict(TESTS[test])
    variants = [
        {"name": VARIANTS[0], "is_control": True, "weight": 1},
        {"name": VARIANTS[1], "weight": 1, "changes": fields.pop("changes")},
    ]
    path = customer.an_experiment(project, name=test, test_key=test, variants=variants, goals=GOALS, **fields)
    assert customer.post(f"{path}/start").status_code == 200
    return path


@pytest.mark.parametrize(
    ("browser", "visits", "seed"),
    [
        ("chromium", 4, 0),
        *[pytest.param("chromium", 100, seed, marks=pytest.mark.long(seconds=80)) for seed in range(1, 3)],
        *[pytest.param("firefox", 50, seed, marks=pytest.mark.long(seconds=60)) for seed in range(1, 11)],
    ],
)
def test_results_are_what_the_shop_did(
    tmp_path: Path, script: str, browser: str, visits: int, seed: int
) -> None:
    with ExitStack() as stack:
        is_firefox = browser == "firefox"
        if is_firefox:
            new_visitor = visitors_of_firefox(stack.enter_context(opened_firefox()))
        else:
            new_visitor = visitors_of_chromium(open_chromium(chromium_path()))
        # A browser that is steered says so, and is a bot.
        shop = opened_shop(
            stack, tmp_path, script, slowest_seconds=2 if seed else 0.2, bot_filtering=not is_firefox
        )
        deeds = Deeds()
        for logs in visited(new_visitor, shop.server, shop.base, seed=seed, number=visits):
            deeds.add(logs)
        assert deeds.wrong == []
        with suppress(TimeoutError):
            wait_until(lambda: shop.counted() == deeds.counts, within=20)
        assert shop.counted() == deeds.counts
