from typing import Any

import pytest

from pipeline.events.request_headers.consent import missing_consent
from tests.builders import a_project

EVERY = {"respect_dnt": True, "respect_gpc": True, "require_consent": True}


@pytest.mark.parametrize(
    ("settings", "headers", "consent", "setting"),
    [
        ({}, {"dnt": "1", "sec-gpc": "1"}, None, None),
        ({"respect_dnt": True}, {"dnt": "1"}, None, "respect_dnt"),
        ({"respect_dnt": True}, {"dnt": "0"}, None, None),
        ({"respect_dnt": True}, {"sec-gpc": "1"}, None, None),
        ({"respect_gpc": True}, {"sec-gpc": " 1 "}, None, "respect_gpc"),
        ({"respect_gpc": True}, {"dnt": "1"}, None, None),
        ({"require_consent": True}, {}, None, "require_consent"),
        ({"require_consent": True}, {}, "denied", "require_consent"),
        ({"require_consent": True}, {}, "granted", None),
        ({"consent_source": "tcf"}, {}, None, "consent_source"),
        ({"consent_source": "google_consent_mode"}, {}, "granted", None),
        (EVERY, {"dnt": "1"}, "granted", "respect_dnt"),
        (EVERY, {}, "granted", None),
    ],
)
def test_settings_decide_which_signals_hold(
    settings: dict[str, Any], headers: dict[str, str], consent: str | None, setting: str | None
) -> None:
    reason = missing_consent(a_project(settings=settings), headers, lambda: consent)
    assert (reason is None) == (setting is None)
    assert setting is None or f"({setting})" in (reason or "")
