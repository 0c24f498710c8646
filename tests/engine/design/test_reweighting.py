from dataclasses import replace
from datetime import timedelta

import msgspec
import pytest

from engine.design.assignment import assign
from engine.design.drafting import revise_experiment
from engine.design.experiment import Experiment
from engine.design.reweighting import epochs_of, reweight
from engine.design.weight_epochs import WeightEpoch
from engine.errors import InvalidDesignError
from tests.builders import NOW, STARTED, an_experiment

LATER = NOW + timedelta(hours=1)


def weights_of(experiment: Experiment) -> list[list[float]]:
    return [list(epoch.weights.values()) for epoch in experiment.weight_epochs]


def edited(experiment: Experiment, *weights: float) -> Experiment:
    variants = [
        {"id": variant.id, "weight": weight}
        for variant, weight in zip(experiment.variants, weights, strict=True)
    ]
    return revise_experiment(experiment, {"variants": variants}, now=NOW, new_id=lambda kind: kind)


def test_a_change_of_weights_ends_one_epoch_and_begins_another() -> None:
    moved = reweight(an_experiment(status="running", weights=(2, 1)), (0.3, 0.7), now=NOW)
    assert [variant.weight for variant in moved.variants] == [0.3, 0.7]
    assert [epoch.started_at for epoch in moved.weight_epochs] == [STARTED, NOW]
    assert weights_of(moved) == [[2, 1], [0.3, 0.7]]
    again = reweight(moved, (0.6, 0.4), now=LATER)
    assert weights_of(again) == [[2, 1], [0.3, 0.7], [0.6, 0.4]]
    assert again.updated_at == LATER


def test_only_a_started_experiment_has_epochs() -> None:
    assert epochs_of(an_experiment()) == ()
    assert reweight(an_experiment(), (3, 1), now=NOW).weight_epochs == ()
    (only,) = epochs_of(an_experiment(status="running"))
    assert (only.started_at, dict(only.weights)) == (STARTED, {"var_0": 1.0, "var_1": 1.0})


def test_weights_that_split_the_same_begin_nothing() -> None:
    assert reweight(an_experiment(status="running"), (50, 50), now=NOW).weight_epochs == ()


@pytest.mark.parametrize("strategy", ["fixed", "bandit"])
def test_an_edit_of_a_paused_experiment_begins_an_epoch(strategy: str) -> None:
    paused = an_experiment(status="paused", traffic_strategy=strategy)
    assert weights_of(edited(paused, 3, 1)) == [[1, 1], [3, 1]]
    assert edited(paused, 1, 1).weight_epochs == ()


def test_an_edit_of_a_draft_begins_none() -> None:
    assert edited(an_experiment(), 3, 1).weight_epochs == ()


def test_visitors_keep_their_variant_and_new_ones_follow_the_new_weights() -> None:
    before = an_experiment(status="running", weights=(1, 0))
    after = reweight(before, (0, 1), now=NOW)
    assert (after.salt, after.bucketing_version) == (before.salt, before.bucketing_version)
    for visitor in map(str, range(50)):
        first = assign(before, visitor).variant
        assert first is not None
        kept = assign(after, visitor, stored_variant_id=first.id)
        assert (kept.variant, kept.status) == (replace(first, weight=0), "existing")
        assert assign(after, visitor).variant == after.variants[1]


def test_a_clock_that_is_set_back_keeps_the_order() -> None:
    moved = reweight(an_experiment(status="running"), (3, 1), now=NOW)
    back = reweight(moved, (1, 3), now=NOW - timedelta(hours=2))
    assert [epoch.started_at for epoch in back.weight_epochs] == [STARTED, NOW, NOW]


def test_epochs_survive_being_saved_and_read() -> None:
    moved = reweight(an_experiment(status="running", weights=[1] * 20), [0.05] * 19 + [0.06], now=NOW)
    assert msgspec.convert(msgspec.json.decode(msgspec.json.encode(moved)), Experiment) == moved


def test_epochs_out_of_order_or_of_impossible_weights_are_refused() -> None:
    late, early = (WeightEpoch(started_at=at, weights={"var_0": 1}) for at in (LATER, NOW))
    with pytest.raises(InvalidDesignError, match="weight_epochs"):
        an_experiment(status="running", weight_epochs=(late, early))
    with pytest.raises(InvalidDesignError, match=r"weights\.var_0"):
        WeightEpoch(started_at=NOW, weights={"var_0": -1})


def test_a_caller_does_not_write_epochs() -> None:
    with pytest.raises(InvalidDesignError, match="weight_epochs"):
        revise_experiment(an_experiment(), {"weight_epochs": []}, now=NOW, new_id=lambda kind: kind)
