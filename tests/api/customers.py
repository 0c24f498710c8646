"""A customer of the service: an account, a key, and a way to call the API."""

from dataclasses import dataclass
from typing import Any

import httpx2
from fastapi.testclient import TestClient

from api.services import Services
from pipeline.store.catalog.accounts import Account
from pipeline.store.catalog.ids import new_id
from pipeline.store.catalog.keys import SCOPES
from tests.api.request_bodies import an_experiment_body
from tests.waiting import wait_until


@dataclass(frozen=True, slots=True)
class Customer:
    """An account, one of its keys, and a way to call the API with it."""

    client: httpx2.Client
    services: Services
    account: Account
    token: str

    def call(self, method: str, path: str, **arguments: Any) -> httpx2.Response:
        """Send a request with the key; `path` is relative to /api/v1."""
        headers = {"Authorization": f"Bearer {self.token}", **arguments.pop("headers", {})}
        return self.client.request(method, f"/api/v1{path}", headers=headers, **arguments)

    def get(self, path: str, **query: Any) -> httpx2.Response:
        return self.call("GET", path, params=query)

    def data_of(self, path: str) -> dict[str, Any]:
        """Read one resource."""
        data: dict[str, Any] = self.get(path).json()["data"]
        return data

    def post(self, path: str, body: object = None) -> httpx2.Response:
        return self.call("POST", path, json=body) if body is not None else self.call("POST", path)

    def patch(self, path: str, body: object) -> httpx2.Response:
        return self.call("PATCH", path, json=body)

    def with_key(self, *scopes: str, project_ids: tuple[str, ...] = ()) -> "Customer":
        """The same customer, with another key: of all scopes unless some are named."""
        holder = self.services.catalog.members.accepted(self.account.id)[0]
        _, token = self.services.catalog.keys.create(
            self.account.id, holder.id, "Another key", scopes or SCOPES, project_ids
        )
        return Customer(self.client, self.services, self.account, token)

    def as_colleague(self, name: str = "Bo") -> "Customer":
        """Add a member to the account, and return the customer with a key of that member."""
        catalog = self.services.catalog
        member = catalog.members.add(self.account.id, f"{new_id('mem')}@acme.example", name)
        _, token = catalog.keys.create(self.account.id, member.id, f"Key of {name}", SCOPES)
        return Customer(self.client, self.services, self.account, token)

    def a_reviewed_draft(self, project: str) -> str:
        """Create a draft that a colleague has changed, and asks a review for; returns its path."""
        draft, colleague = self.an_experiment(project), self.as_colleague()
        colleague.patch(draft, {"hypothesis": "Fewer steps make more visitors order."})
        colleague.post(f"{draft}/review", {"purpose": "start"})
        return draft

    def a_project(self, **fields: Any) -> str:
        """Create a project; returns its path."""
        created = self.post("/projects", {"name": "Shop", "url": "https://shop.example", **fields})
        return f"/projects/{created.json()['data']['id']}"

    def ended_run(self, project: str, run: dict[str, Any]) -> dict[str, Any]:
        """Wait for the end of a run of a project, given by its path; returns the run."""

        def find() -> dict[str, Any] | None:
            found = self.data_of(f"{project}/runs/{run['id']}")
            return found if found["ended_at"] else None

        ended = wait_until(find)
        assert ended is not None
        return ended

    def an_experiment(self, project: str, **fields: Any) -> str:
        """Create a draft that could start; returns its path."""
        created = self.post(f"{project}/experiments", an_experiment_body(**fields))
        return f"{project}/experiments/{created.json()['data']['id']}"

    def ship(self, experiment: str, **fields: Any) -> httpx2.Response:
        """Ship the second variant of an experiment, given by its path."""
        variant_id = self.data_of(experiment)["variants"][1]["id"]
        body = {"decision": "ship", "variant_id": variant_id, "note": "Better.", **fields}
        return self.post(f"{experiment}/ship", body)

    def a_group(self, project: str, name: str = "Checkout pages") -> str:
        """Create an exclusion group; returns its path."""
        created = self.post(f"{project}/groups", {"name": name})
        return f"{project}/groups/{created.json()['data']['id']}"

    def a_metric(self, project: str, **fields: Any) -> str:
        """Create a metric; returns its path."""
        sign_ups = {"name": "Sign-ups", "goal_type": "custom_event", "config": {"event_name": "sign_up"}}
        created = self.post(f"{project}/metrics", {**sign_ups, **fields})
        return f"{project}/metrics/{created.json()['data']['id']}"

    def a_holdout(self, project: str) -> str:
        """Hold 5% of the new visitors out; returns its path."""
        goals = [{"name": "Orders", "goal_type": "custom_event", "config": {"event_name": "order"}}]
        created = self.post(f"{project}/holdouts", {"name": "Spring", "percent": 5, "goals": goals})
        return f"{project}/holdouts/{created.json()['data']['id']}"

    def a_webhook(self, project: str, **fields: Any) -> str:
        """Create a webhook; returns its path."""
        created = self.post(f"{project}/webhooks", {"url": "https://shop.example/hooks", **fields})
        return f"{project}/webhooks/{created.json()['data']['webhook']['id']}"

    def a_channel(self, project: str, **fields: Any) -> str:
        """Create a notification channel of Slack; returns its path."""
        slack = {"kind": "slack", "url": "https://hooks.slack.example/services/1"}
        created = self.post(f"{project}/notification_channels", {**slack, **fields})
        return f"{project}/notification_channels/{created.json()['data']['id']}"


def a_browser(client: TestClient, **options: Any) -> TestClient:
    """Return a browser with cookies of its own, on the event loop that serves the client."""
    browser = TestClient(client.app, **{"follow_redirects": False, **options})
    # Otherwise each of its requests starts a thread with another loop, which takes as long as a small page.
    browser.portal = client.portal
    return browser


def a_customer_of(client: TestClient, name: str = "Acme") -> Customer:
    """Create an account with the scale plan in the client's service."""
    services: Services = client.app.state.services  # type: ignore[attr-defined] # typed as any ASGI app
    return a_customer(client, services, name)


def a_customer(client: httpx2.Client, services: Services, name: str = "Acme") -> Customer:
    """Create an account with the scale plan."""
    account, _, token = services.catalog.accounts.create(name, f"owner@{name.lower()}.example", "scale")
    return Customer(client, services, account, token)
