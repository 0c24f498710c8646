"""The operations of the contract, with their scopes."""

from dataclasses import dataclass, field
from typing import Any, Literal

from tests.api.request_bodies import an_experiment_body

# The subject of an operation: it decides which keys are refused although they have the scope.
Subject = Literal["account", "keys", "listing", "creation", "project", "nothing"]
_EXPERIMENTS = "/api/v1/projects/{project_id}/experiments"
_EXPERIMENT = f"{_EXPERIMENTS}/{{id}}"
_METRICS = "/api/v1/projects/{project_id}/metrics"
_METRIC = {"name": "Orders", "goal_type": "custom_event", "config": {"event_name": "order"}}
_GROUPS = "/api/v1/projects/{project_id}/groups"
_HOLDOUTS = "/api/v1/projects/{project_id}/holdouts"
_HOLDOUT = {"name": "Spring", "percent": 5, "goals": [_METRIC]}
_WEBHOOKS = "/api/v1/projects/{project_id}/webhooks"
_WEBHOOK = {"url": "https://shop.example/hooks"}
_CHANNELS = "/api/v1/projects/{project_id}/notification_channels"
_CHANNEL = {"kind": "slack", "url": "https://hooks.slack.example/services/1"}
_NAME = {"name": "Renamed"}
_NEW_PROJECT = {"name": "Shop", "url": "https://shop.example"}
_NEW_KEY = {"name": "CI", "scopes": ["projects:read"]}
_NEW_MEMBER = {"email_address": "cy@acme.example", "name": "Cy"}
_RUN = {"kind": "rollup"}
_IMPORT = {"source": "described"}
_DECISION = {"decision": "inconclusive", "note": "Too few visitors."}
_REVIEW = {"purpose": "start"}
_GRACE = {"grace_period_hours": 1}


@dataclass(frozen=True, slots=True)
class Operation:
    """One operation: any of `scopes` opens it, and `body` is one that it accepts."""

    method: str
    path: str
    scopes: tuple[str, ...]
    subject: Subject
    body: dict[str, Any] | None = field(default=None, hash=False)
    # The status of the experiment that it works on, where that matters.
    status: str = "draft"
    # Whether it takes a file of sums, and no JSON.
    takes_sums: bool = False
    # Scopes that it needs besides, which its description names.
    besides: tuple[str, ...] = ()

    @property
    def name(self) -> str:
        return f"{self.method} {self.path}"


def _capability(name: str) -> Operation:
    scopes = ("account:read", "experiments:read")
    return Operation("GET", f"/api/v1/capabilities/{name}", scopes, "account")


def _transition(trigger: str, status: str) -> Operation:
    scopes = ("experiments:write",)
    return Operation("POST", f"{_EXPERIMENT}/{trigger}", scopes, "project", status=status)


OPERATIONS = (
    Operation("GET", "/api/v1/account", ("account:read",), "account"),
    Operation("GET", "/api/v1/account/api_keys", ("api_keys:write",), "keys"),
    Operation("POST", "/api/v1/account/api_keys", ("api_keys:write",), "keys", _NEW_KEY),
    Operation("POST", "/api/v1/account/api_keys/{id}/revoke", ("api_keys:write",), "keys"),
    Operation("GET", "/api/v1/account/members", ("account:read",), "account"),
    Operation("GET", "/api/v1/account/usage", ("account:read",), "account"),
    _capability("experiment_types"),
    _capability("goal_types"),
    _capability("lifecycle"),
    _capability("targeting_fields"),
    _capability("visual_change_actions"),
    Operation("GET", "/api/v1/projects", ("projects:read",), "listing"),
    Operation("POST", "/api/v1/projects", ("projects:write",), "creation", _NEW_PROJECT),
    Operation("DELETE", "/api/v1/projects/{id}", ("projects:write",), "project"),
    Operation("GET", "/api/v1/projects/{id}", ("projects:read",), "project"),
    Operation("PATCH", "/api/v1/projects/{id}", ("projects:write",), "project", _NAME),
    Operation("GET", "/api/v1/projects/{id}/installation", ("projects:read",), "project"),
    Operation("GET", "/api/v1/projects/{id}/stats", ("projects:read",), "project"),
    Operation("GET", _EXPERIMENTS, ("experiments:read",), "project"),
    Operation("POST", _EXPERIMENTS, ("experiments:write",), "project", an_experiment_body()),
    Operation("DELETE", _EXPERIMENT, ("experiments:write",), "project"),
    Operation("GET", _EXPERIMENT, ("experiments:read",), "project"),
    Operation("PATCH", _EXPERIMENT, ("experiments:write",), "project", _NAME),
    _transition("archive", "completed"),
    _transition("complete", "running"),
    _transition("pause", "running"),
    Operation("GET", f"{_EXPERIMENT}/results", ("results:read",), "project"),
    Operation("GET", f"{_EXPERIMENT}/results/summary", ("results:read",), "project"),
    Operation("GET", f"{_EXPERIMENT}/results/timeseries", ("results:read",), "project"),
    _transition("resume", "paused"),
    _transition("start", "draft"),
    Operation("GET", "/openapi.json", (), "nothing"),
)
# What the service offers beside them, by the same rules.
MORE_OPERATIONS = (
    Operation("POST", "/api/v1/account/members", ("api_keys:write",), "keys", _NEW_MEMBER),
    Operation("PATCH", "/api/v1/account/members/{id}", ("api_keys:write",), "keys", _NAME),
    Operation("DELETE", "/api/v1/account/members/{id}", ("api_keys:write",), "keys"),
    Operation("GET", "/api/v1/account/audit", ("account:read",), "keys"),
    Operation("POST", f"{_EXPERIMENT}/ship", ("experiments:write",), "project", _DECISION, "running"),
    _transition("rollout/end", "shipped"),
    Operation("POST", f"{_EXPERIMENT}/review", ("experiments:write",), "project", _REVIEW),
    Operation("POST", f"{_EXPERIMENT}/approve", ("experiments:write",), "project", _REVIEW, "reviewed"),
    Operation(
        "POST", f"{_EXPERIMENT}/review/withdraw", ("experiments:write",), "project", _REVIEW, "reviewed"
    ),
    Operation(
        "POST",
        f"{_EXPERIMENT}/share_links",
        ("experiments:write",),
        "project",
        {"days": 7},
        besides=("results:read",),
    ),
    Operation("GET", f"{_EXPERIMENT}/share_links", ("experiments:read",), "project"),
    Operation("DELETE", f"{_EXPERIMENT}/share_links/{{link_id}}", ("experiments:write",), "project"),
    Operation("GET", "/api/v1/account/share_links", ("account:read",), "keys"),
    Operation("DELETE", "/api/v1/account/share_links", ("api_keys:write",), "keys"),
    Operation("GET", f"{_EXPERIMENT}/results/export", ("results:read",), "project"),
    Operation("GET", f"{_EXPERIMENT}/results/segments", ("results:read",), "project"),
    Operation("GET", "/api/v1/projects/{id}/sdk_keys", ("projects:read",), "project"),
    Operation("POST", "/api/v1/projects/{id}/rotate_sdk_key", ("projects:write",), "project", _GRACE),
    Operation("POST", "/api/v1/projects/{id}/expire_sdk_keys", ("projects:write",), "project"),
    Operation("GET", _METRICS, ("experiments:read",), "project"),
    Operation("POST", _METRICS, ("experiments:write",), "project", _METRIC),
    Operation("GET", f"{_METRICS}/{{id}}", ("experiments:read",), "project"),
    Operation("PATCH", f"{_METRICS}/{{id}}", ("experiments:write",), "project", _NAME),
    Operation("DELETE", f"{_METRICS}/{{id}}", ("experiments:write",), "project"),
    Operation("GET", _GROUPS, ("experiments:read",), "project"),
    Operation("POST", _GROUPS, ("experiments:write",), "project", {"name": "Checkout"}),
    Operation("GET", f"{_GROUPS}/{{id}}", ("experiments:read",), "project"),
    Operation("PATCH", f"{_GROUPS}/{{id}}", ("experiments:write",), "project", _NAME),
    Operation("DELETE", f"{_GROUPS}/{{id}}", ("experiments:write",), "project"),
    Operation("GET", _HOLDOUTS, ("experiments:read",), "project"),
    Operation("POST", _HOLDOUTS, ("experiments:write",), "project", _HOLDOUT),
    Operation("GET", f"{_HOLDOUTS}/{{id}}", ("experiments:read",), "project"),
    Operation("PATCH", f"{_HOLDOUTS}/{{id}}", ("experiments:write",), "project", _NAME),
    Operation("DELETE", f"{_HOLDOUTS}/{{id}}", ("experiments:write",), "project"),
    Operation("GET", f"{_HOLDOUTS}/{{id}}/results", ("results:read",), "project"),
    Operation("GET", "/api/v1/projects/{project_id}/programme", ("results:read",), "project"),
    Operation("GET", "/api/v1/projects/{project_id}/verdicts", ("results:read",), "project"),
    Operation("GET", "/api/v1/account/verdicts", ("results:read",), "listing"),
    Operation("POST", f"{_EXPERIMENT}/copy", ("experiments:write",), "project", _NAME),
    Operation("GET", _WEBHOOKS, ("projects:read",), "project"),
    Operation("POST", _WEBHOOKS, ("projects:write",), "project", _WEBHOOK),
    Operation("GET", f"{_WEBHOOKS}/{{id}}", ("projects:read",), "project"),
    Operation("PATCH", f"{_WEBHOOKS}/{{id}}", ("projects:write",), "project", _WEBHOOK),
    Operation("DELETE", f"{_WEBHOOKS}/{{id}}", ("projects:write",), "project"),
    Operation("POST", f"{_WEBHOOKS}/{{id}}/rotate_secret", ("projects:write",), "project", _GRACE),
    Operation("GET", f"{_WEBHOOKS}/{{id}}/deliveries", ("projects:read",), "project"),
    Operation("POST", f"{_WEBHOOKS}/{{id}}/test", ("projects:write",), "project"),
    Operation("GET", _CHANNELS, ("projects:read",), "project"),
    Operation("POST", _CHANNELS, ("projects:write",), "project", _CHANNEL),
    Operation("GET", f"{_CHANNELS}/{{id}}", ("projects:read",), "project"),
    Operation("PATCH", f"{_CHANNELS}/{{id}}", ("projects:write",), "project", _CHANNEL),
    Operation("DELETE", f"{_CHANNELS}/{{id}}", ("projects:write",), "project"),
    Operation("GET", f"{_CHANNELS}/{{id}}/deliveries", ("projects:read",), "project"),
    Operation("POST", f"{_CHANNELS}/{{id}}/test", ("projects:write",), "project"),
    Operation("GET", "/api/v1/projects/{project_id}/runs", ("results:read",), "project"),
    Operation("GET", "/api/v1/projects/{project_id}/runs/{id}", ("results:read",), "project"),
    Operation("POST", "/api/v1/projects/{project_id}/runs", ("projects:write",), "project", _RUN),
    Operation(
        "DELETE", "/api/v1/projects/{project_id}/visitors/{visitor_id}", ("projects:write",), "project"
    ),
    Operation("POST", "/api/v1/projects/{project_id}/imports", ("projects:write",), "project", _IMPORT),
    Operation("GET", f"{_EXPERIMENT}/sums", ("projects:read",), "project"),
    Operation(
        "POST", f"{_EXPERIMENT}/sums", ("projects:write",), "project", status="running", takes_sums=True
    ),
)
STEPS: dict[str, tuple[str, ...]] = {
    "draft": (),
    "running": ("start",),
    "paused": ("start", "pause"),
    "completed": ("start", "complete"),
    "shipped": ("start", "ship"),
    # By how the experiment is made.
    "reviewed": (),
}
