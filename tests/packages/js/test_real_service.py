"""The package against the service itself: a server's visitors, and pages in Chromium."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import Browser

from api.app import create_app
from pipeline.settings import Settings
from tests.api.customers import Customer, a_customer
from tests.api.sdk.browser.conftest import USER_AGENT
from tests.api.sdk.browser.site import Site, a_page
from tests.api.serving import served as served_app
from tests.packages.js.installed import Installed, nodes
from tests.packages.js.test_server_client import CLIENT
from tests.truelift.client.conftest import running_experiment
from tests.waiting import wait_until


@pytest.fixture(scope="module")
def customer(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Customer]:
    settings = Settings(data_dir=tmp_path_factory.mktemp("store"), fresh_read_seconds=60)
    app = create_app(settings)
    with served_app(app, settings) as client:
        yield a_customer(client, app.state.services)


@pytest.mark.parametrize("node", nodes(), ids=lambda path: path.parent.parent.name)
def test_visitors_of_a_server_are_counted_by_the_variants_that_the_service_gives(
    package: Installed, customer: Customer, node: Path
) -> None:
    experiment = running_experiment(customer)
    options = {
        "baseUrl": experiment.url,
        "apiKey": experiment.key,
        "projectId": experiment.project_id,
        "refreshMs": 20,
    }
    script = """
      const { test_key } = given[0];
      const shown = {};
      for (let number = 0; number < 40; number++) {
        const url = "https://shop.example/";
        const visitor = client.forVisitor(`visitor-${number}`, { plan: "pro" }, { url });
        const peeked = visitor.peek(test_key);
        shown[`visitor-${number}`] = visitor.variant(test_key).name;
        visitor.variant(test_key);
        client.forVisitor(`visitor-${number}`).variant(test_key);
        if (peeked.name !== shown[`visitor-${number}`]) throw new Error(`visitor-${number}`);
        if (number % 4 === 0) visitor.track("purchase", { value: 2 });
      }
      client.forVisitor("peeks").peek(test_key);
      await end({ shown });
    """
    done = package.run(CLIENT + script, {"options": options, "test_key": experiment.test_key}, node=node)
    assert (done["failures"], done["closed"]) == ([], True)
    server = customer.with_key("sdk:write")
    for visitor_id, name in list(done["shown"].items())[:5]:
        body = {"visitor_id": visitor_id, "project_id": experiment.project_id}
        asked = server.post("/sdk/init", body).json()["assignments"][0]
        assert asked["variant_name"] == name
    names = list(done["shown"].values())
    wait_until(lambda: sum(experiment.counted().values()) == 40)
    assert experiment.counted() == {name: names.count(name) for name in set(names)}
    assert sum(experiment.counted("conversions").values()) == 10


def test_pages_are_counted_by_the_payloads_that_they_show(
    package: Installed, customer: Customer, site: Site, chromium: Browser
) -> None:
    payloads = [{"columns": 2}, {"columns": 3}]
    variants = [
        {"name": f"{one['columns']} columns", "is_control": number == 0, "payload": one}
        for number, one in enumerate(payloads)
    ]
    experiment = running_experiment(
        customer, variants=variants, public_variants=True, url=f"{site.base}/", url_match_type="starts_with"
    )
    sdk_key = customer.services.catalog.projects.find(experiment.project_id).sdk_key
    options = {"sdkKey": sdk_key, "baseUrl": experiment.url}
    site.files = {f"/js/{name}": text for name, text in package.files.items()}
    site.pages["/"] = a_page()
    shown: list[dict[str, Any]] = []
    for _ in range(4):
        context = chromium.new_context(user_agent=USER_AGENT)
        page = context.new_page()
        page.goto(f"{site.base}/")
        found = page.evaluate(
            """async ([options, key]) => {
              const { createClient } = await import("/js/index.js");
              const client = createClient(options);
              await client.ready;
              const { name, payload } = client.variant(key);
              client.track("purchase");
              return { name, payload, value: client.value(key, null), sent: await client.flush(30_000) };
            }""",
            [options, experiment.test_key],
        )
        shown.append(found)
        context.close()
    assert all(one["sent"] and one["value"] == one["payload"] for one in shown)
    assert all(one["name"] == f"{one['payload']['columns']} columns" for one in shown)
    wait_until(lambda: sum(experiment.counted().values()) == 4)
    names = [one["name"] for one in shown]
    assert {name: count for name, count in experiment.counted().items() if count} == {
        name: names.count(name) for name in set(names)
    }
    assert sum(experiment.counted("conversions").values()) == 4
