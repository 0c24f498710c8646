import pytest

from engine.analysis.evidence.evidence import Evidence
from engine.analysis.health.pre_period_balance import alike_before
from tests.builders import an_experiment
from tests.observations import check_input, observed


@pytest.mark.parametrize(
    ("evidence", "status"),
    [
        (observed([100, 100], [1, 1]), "not_applicable"),
        (observed([0, 0], [0, 0]), "not_applicable"),
    ],
)
def test_status_follows_the_evidence(evidence: Evidence, status: str) -> None:
    assert alike_before(check_input(an_experiment(weights=(1, 1)), evidence)).status == status
