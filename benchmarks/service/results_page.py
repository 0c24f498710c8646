"""Results page of an experiment with 200,000 visitors, 5 goals and 2 variants, beside a read of a project.

Processor time of the whole request, the least of some.
"""

import os
import tempfile
import time
from collections.abc import Callable
from datetime import timedelta
from itertools import count
from pathlib import Path
from typing import Any, Final
from unittest.mock import patch

from fastapi.testclient import TestClient

from api.app import create_app
from benchmarks.service.results_reads import simulate_site
from pipeline.clock import utc_now
from pipeline.settings import Settings
from tests.api.customers import a_browser

VISITORS: Final = int(os.environ.get("BENCH_PAGE_VISITORS", "200000"))
ROUNDS: Final = 15
MORE_GOALS: Final[tuple[dict[str, Any], ...]] = (
    {
        "name": "Orders",
        "goal_type": "custom_event",
        "config": {"event_name": "purchase", "measure": "count", "guardrail_margin_percent": 2},
    },
    {"name": "Refunds", "goal_type": "custom_event", "config": {"event_name": "refund"}},
)


def run() -> list[dict[str, Any]]:
    """Measure the page anew, of the next minute, and shown again."""
    with tempfile.TemporaryDirectory(prefix="truelift-bench-") as name:
        folder = Path(name)
        token, experiment = simulate_site(folder, visitors=VISITORS, more_goals=MORE_GOALS)
        with TestClient(create_app(Settings(data_dir=folder, refresh_seconds=10**6))) as client:
            project = f"/projects/{experiment.project_id}"
            path = f"{project}/experiments/{experiment.id}"
            browser = a_browser(client)
            browser.post("/sign-in", data={"key": token})
            headers = {"Authorization": f"Bearer {token}"}
            floor = _least(lambda: client.get(f"/api/v1{project}", headers=headers))
            publications = client.app.state.services.rollup.publications  # type: ignore[attr-defined] # FastAPI's
            minutes = count(1)

            def anew() -> None:
                with publications.replacing([experiment.id]):
                    pass
                browser.get(path)

            def later() -> None:
                # Everything else is as it was.
                of_page = utc_now() + timedelta(minutes=next(minutes))
                with patch("api.dashboard.computed_results.utc_now", lambda: of_page):
                    browser.get(path)

            size = len(browser.get(path).content)
            works = {
                "anew, after results were published": anew,
                "a minute later": later,
                "again": lambda: browser.get(path),
            }
            return [_row(what, _least(work), floor, size) for what, work in works.items()]


def _row(what: str, took: float, floor: float, size: int) -> dict[str, Any]:
    return {
        "page of results": what,
        "processor time": f"{1000 * took:.0f} ms",
        "read of a project": f"{1000 * floor:.1f} ms",
        "ratio": f"{took / floor:.1f}",
        "kB": f"{size / 1000:.0f}",
    }


def _least(work: Callable[[], object]) -> float:
    """Return the least processor time of some rounds, of all threads."""
    times = []
    for _ in range(ROUNDS):
        begun = time.process_time()
        work()
        times.append(time.process_time() - begun)
    return min(times)
