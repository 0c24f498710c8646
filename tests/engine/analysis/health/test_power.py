import pytest

from engine.analysis.evidence.evidence import Evidence
from engine.analysis.health.power import underpowered
from tests.builders import an_experiment
from tests.observations import check_input, observed


@pytest.mark.parametrize(
    ("evidence", "status"),
    [
        (observed([40_000] * 2, [2_000] * 2), "ok"),
        (observed([1_000] * 2, [50] * 2), "warning"),
    ],
)
def test_status_follows_the_evidence(evidence: Evidence, status: str) -> None:
    assert underpowered(check_input(an_experiment(weights=(1, 1)), evidence)).status == status
