from dataclasses import replace

import numpy as np
import pytest

from engine.analysis.evidence.clusters import ClusterEvidence
from engine.analysis.health.several_units import several_units
from tests.builders import an_experiment
from tests.observations import check_input, observed

EVIDENCE = observed([5_000, 5_000], [1, 1])


@pytest.mark.parametrize(
    ("in_several", "in_none", "status"),
    [(0, 0, "ok"), (5, 5, "ok"), (40, 20, "warning"), (200, 0, "alarm"), (0, 200, "alarm")],
)
def test_visitors_of_several_units_or_of_none_alarm(in_several: int, in_none: int, status: str) -> None:
    clusters = ClusterEvidence(
        by="account",
        noun="unit",
        total=np.array([90, 95]),
        known=np.array([[90, 95]]),
        in_several=in_several,
        in_none=in_none,
    )
    evidence = replace(EVIDENCE, clusters=clusters)
    found = several_units(check_input(an_experiment(weights=(1, 1)), evidence))
    assert found.status == status
    assert "account" in found.message


def test_visitors_alone_have_no_units() -> None:
    assert several_units(check_input(an_experiment(weights=(1, 1)), EVIDENCE)).status == "not_applicable"
