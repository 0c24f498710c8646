import numpy as np
import pytest

from engine.errors import InvalidEvidenceError
from engine.stats.contingency import Tables


def test_shares_are_those_of_each_arm() -> None:
    tables = Tables.of([5, 0], [10, 0], [3], [4])
    assert tables.control_share[0] == 0.5
    assert np.isnan(tables.control_share[1])
    assert tables.share.tolist() == [0.75, 0.75]


def test_the_smallest_cell_counts_those_who_did_not_convert_too() -> None:
    assert Tables.of([98], [100], [50], [100]).smallest_cell.tolist() == [2.0]


@pytest.mark.parametrize("counts", [(11, 10, 1, 10), (1, 10, -1, 10), (1, 10, 1, float("inf"))])
def test_counts_that_nobody_can_observe_are_refused(counts: tuple[float, ...]) -> None:
    with pytest.raises(InvalidEvidenceError, match="between 0 and the visitors"):
        Tables.of(*([count] for count in counts))
