"""Valid request bodies, and checks of the error envelope."""

from typing import Any

import httpx2

CONTROL = {"name": "Control", "is_control": True, "weight": 1}
TREATMENT = {
    "name": "Treatment",
    "weight": 1,
    "changes": [{"selector": "h1", "action": "modify_text", "value": "Buy now"}],
}
PURCHASE = {
    "name": "Purchase",
    "goal_type": "custom_event",
    "is_primary": True,
    "config": {"event_name": "purchase"},
}


def an_experiment_body(**fields: Any) -> dict[str, Any]:
    """Return a draft of two variants and one goal, ready to start."""
    return {"name": "Checkout button", "variants": [CONTROL, TREATMENT], "goals": [PURCHASE], **fields}


def error_of(answer: httpx2.Response, status: int, code: str) -> dict[str, Any]:
    """Return the error of an answer, checked for its status, code and envelope."""
    assert answer.status_code == status, answer.text
    assert list(answer.json()) == ["error"]
    error: dict[str, Any] = answer.json()["error"]
    assert error["code"] == code
    assert error["message"]
    assert error["request_id"] == answer.headers["X-Request-Id"]
    assert set(error) <= {"code", "message", "details", "request_id"}
    return error


def fields_of(error: dict[str, Any]) -> list[str]:
    """Return the fields that an error's details name."""
    return [detail["field"] for detail in error["details"]]
