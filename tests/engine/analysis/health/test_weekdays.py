import pytest

from engine.analysis.evidence.evidence import Evidence
from engine.analysis.health.weekdays import day_of_week_cover
from tests.builders import an_experiment
from tests.observations import check_input, observed


@pytest.mark.parametrize(
    ("evidence", "status"),
    [
        (observed([100, 100], [1, 1], days=1), "warning"),
        (observed([0, 0], [0, 0]), "not_applicable"),
    ],
)
def test_status_follows_the_evidence(evidence: Evidence, status: str) -> None:
    assert day_of_week_cover(check_input(an_experiment(weights=(1, 1)), evidence)).status == status
