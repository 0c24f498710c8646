"""Senders of the largest requests, and the experiment that most of them are about."""

from typing import Any, Final

import httpx2

from tests.api.dashboard.conftest import form_token
from tests.api.largest.largest_requests import LargestRequest
from tests.api.request_bodies import an_experiment_body

READING: Final = ("projects:read", "experiments:read", "results:read", "account:read")


def large_experiment(name: str, changes: int) -> dict[str, Any]:
    """An experiment with as many goals, pages and conditions as there can be."""
    change = {"selector": "h1", "action": "modify_text", "value": "x" * 10}
    condition = {"field": "custom_dimension", "key": "plan", "operator": "regex", "values": ["(a+)+$"]}
    return an_experiment_body(
        name=name,
        variants=[
            {"name": f"V{number}", "is_control": number == 0, "changes": [change] * changes}
            for number in range(20)
        ],
        goals=[
            {"name": f"G{number}", "goal_type": "custom_event", "config": {"event_name": f"e{number}"}}
            for number in range(50)
        ],
        url_rules=[{"type": "include", "match_type": "contains", "value": "/"}] * 100,
        targeting_rules={"version": 2, "root": {"operator": "or", "children": [condition] * 499}},
    )


class Senders:
    """A key, a public key, and two browsers: one that may do everything, and one that may read."""

    def __init__(self, client: httpx2.Client, *, token: str, reading_token: str) -> None:
        """Take a client that follows no redirects, and two keys."""
        self.client = client
        self.headers = {"key": {"Authorization": f"Bearer {token}"}}
        self.tokens = {"browser": token, "reader": reading_token}
        self.form_tokens = dict[str, str]()

    def created_ids(self) -> dict[str, str]:
        """Create a project with a large running experiment and a draft; return what their paths have."""
        created = self._post("/projects", {"name": "Shop", "url": "https://shop.example"})
        path = f"/projects/{created['id']}/experiments"
        # Of the first, the form would be larger than a page may be.
        running, draft = (
            self._post(path, large_experiment(f"Large {changes}", changes))["id"] for changes in (250, 50)
        )
        self._post(f"{path}/{running}/start", None)
        self.headers["page"] = {"X-SDK-Key": created["api_key"], "X-API-Key": created["api_key"]}
        places = {"name": "dashboard.css", "chart": "improvements", "theme": "light", "form": "json"}
        ids = {"project_id": created["id"], "experiment": running, "draft": draft}
        return {**ids, "sdk_key": created["api_key"], **places}

    def send(self, request: LargestRequest) -> tuple[int, bytes]:
        """Send a request, a form with the token of its session; return the status and content."""
        if request.sender in self.tokens and request.sender not in self.form_tokens:
            self._sign_in(request.sender)
        content = request.content
        if content and (token := self.form_tokens.get(request.sender)):
            content = f"form_token={token}&".encode() + content
        headers = {**request.headers, **self.headers[request.sender]}
        answer = self.client.request(request.method, request.path, headers=headers, content=content)
        self.client.cookies.clear()
        if request.path in {"/sign-in", "/sign-out"}:
            # The session may have ended.
            self.form_tokens.pop(request.sender, None)
        return answer.status_code, answer.content

    def _sign_in(self, sender: str) -> None:
        answer = self.client.post("/sign-in", data={"key": self.tokens[sender]})
        self.client.cookies.clear()
        self.headers[sender] = {"Cookie": answer.headers["set-cookie"].partition(";")[0]}
        self.form_tokens[sender] = form_token(self.client.get("/", headers=self.headers[sender]))
        assert self.form_tokens[sender]

    def _post(self, path: str, body: dict[str, Any] | None) -> dict[str, Any]:
        answer = self.client.post(f"/api/v1{path}", headers=self.headers["key"], json=body)
        assert answer.status_code < 300, answer.text
        created: dict[str, Any] = answer.json()["data"]
        return created
