"""Late visits: their share of all visits, and what to do about it."""

from datetime import date

import pytest

from engine.analysis.health.late_visits import late_visits
from tests.builders import an_experiment
from tests.engine.analysis.health.test_senders import input_of
from tests.observations import check_input, observed

DAY = date(2026, 3, 7)


# Beside 900 visitors in browsers, and 4,000 of a server that has no pages.
@pytest.mark.parametrize(
    ("late", "part", "status"), [(47, 47 / 947, "ok"), (48, 48 / 948, "warning"), (0, 0.0, "ok")]
)
def test_one_in_twenty_late_visits_is_a_warning(late: int, part: float, status: str) -> None:
    visitors = {"browser": 800, "browser and server": 100, "server": 4_000}
    found = late_visits(input_of(visitors=visitors, late_visits=late, last_late_day=DAY if late else None))
    assert found.status == status
    assert found.details["share"] == pytest.approx(part)
    assert (f"{late} visits" in found.message) == (late > 0)
    assert ("start of the head" in found.message) == (status == "warning")


def test_an_experiment_whose_visits_are_all_late_says_so() -> None:
    found = late_visits(input_of(visitors={}, late_visits=1_234, last_late_day=DAY))
    assert found.status == "warning"
    assert found.message.startswith("1,234 visits (100%) saw the page")
    assert "The last was on 2026-03-07." in found.message


def test_data_without_senders_have_no_late_visits() -> None:
    unknown = check_input(an_experiment(), observed([100] * 2, [5] * 2))
    assert late_visits(unknown).status == "not_applicable"
