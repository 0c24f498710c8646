"""Weight epochs and their order."""

from datetime import timedelta

import pytest

from engine.design.weight_epochs import HEAVIEST, WeightEpoch, in_order
from engine.errors import InvalidDesignError
from tests.builders import NOW


def test_an_epoch_has_a_valid_weight_for_each_variant() -> None:
    epoch = WeightEpoch(started_at=NOW, weights={"var_a": 1.0, "var_b": 0.0})
    assert epoch.weights == {"var_a": 1.0, "var_b": 0.0}
    with pytest.raises(InvalidDesignError) as error:
        WeightEpoch(started_at=NOW.replace(tzinfo=None), weights={"var_a": -1.0, "var_b": 2.0 * HEAVIEST})
    fields = [problem.field for problem in error.value.problems]
    assert fields == ["started_at", "weights.var_a", "weights.var_b"]


def test_epochs_begin_one_after_the_other() -> None:
    earlier, later = {"started_at": NOW - timedelta(days=1)}, {"started_at": NOW}
    assert list(in_order([earlier, later, later])) == []
    assert [problem.field for problem in in_order([later, earlier])] == ["[1].started_at"]
    assert list(in_order([later, {}, earlier])) == []
