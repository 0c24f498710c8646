"""Request bodies that are valid, and what every error must look like."""

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
    """A draft of two variants and one goal: it could start."""
    return {"name": "Checkout button", "variants": [CONTROL, TREATMENT], "goals": [PURCHASE], **fields}


def error_of(answer: httpx2.Response, status: int, code: str) -> dict[str, Any]:
    """The error of an answer, checked to be of that status and code and in the envelope."""
    assert answer.status_code == status, answer.text
    assert list(answer.json()) == ["error"]
    error: dict[str, Any] = answer.json()["error"]
    assert error["code"] == code
    assert error["message"]
    assert error["request_id"] == answer.headers["X-Request-Id"]
    assert set(error) <= {"code", "message", "details", "request_id"}
    return error


def fields_of(error: dict[str, Any]) -> list[str]:
    """The fields that an error's details point at."""
    return [detail["field"] for detail in error["details"]]
