"""Waiting for runs that the service carries out."""

import time
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, Final

if TYPE_CHECKING:
    from api.cli.client.running_service import ServiceClient

# Seconds between two questions: short at first, and few requests of the account's limit later.
FIRST_PAUSE: Final = 0.05
LONGEST_PAUSE: Final = 3.0
_GROWTH: Final = 1.5
_UNENDED: Final = frozenset({"queued", "running"})


def wait_for_run(
    client: "ServiceClient",
    project_id: str,
    run_id: str,
    on_progress: Callable[[dict[str, Any]], None] = lambda _run: None,
) -> dict[str, Any]:
    """Ask the service until a run has ended, and return it as the API does.

    `on_progress` gets the run after each question. ServiceGoneError where the service ends before.
    """
    pause = FIRST_PAUSE
    while True:
        run: dict[str, Any] = client.get(f"/api/v1/projects/{project_id}/runs/{run_id}")["data"]
        on_progress(run)
        if run["status"] not in _UNENDED:
            return run
        time.sleep(pause)
        pause = min(pause * _GROWTH, LONGEST_PAUSE)
