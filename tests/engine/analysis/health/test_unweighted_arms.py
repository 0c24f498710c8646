import pytest

from engine.analysis.evidence.evidence import Evidence
from engine.analysis.health.unweighted_arms import unweighted_arms
from tests.builders import an_experiment
from tests.observations import check_input, observed


@pytest.mark.parametrize(
    ("evidence", "status"),
    [
        (observed([1000, 1010, 0], [1, 1, 0]), "ok"),
        (observed([1000, 1010, 3], [1, 1, 0]), "alarm"),
    ],
)
def test_status_follows_the_evidence(evidence: Evidence, status: str) -> None:
    assert unweighted_arms(check_input(an_experiment(weights=(1, 1, 0)), evidence)).status == status
