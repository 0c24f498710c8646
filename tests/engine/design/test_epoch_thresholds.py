"""Epochs of weights: the variant of a first visit at any time, and the visitors on whom epochs disagree."""

from datetime import timedelta

from hypothesis import given
from hypothesis import strategies as st

from engine.design.assignment import bucket_variant, unit_hash
from engine.design.epoch_thresholds import epoch_thresholds, unsettled_ranges, variant_first_seen
from engine.design.experiment import Experiment
from engine.design.reweighting import reweight
from tests.builders import STARTED, an_experiment

HOUR = timedelta(hours=1)
weights_of_three = st.lists(st.integers(0, 5), min_size=3, max_size=3).filter(any)


def changed(*weights: list[int]) -> Experiment:
    """Build a running experiment whose weights changed once an hour."""
    experiment = an_experiment(status="running", weights=weights[0])
    for hours, later in enumerate(weights[1:], 1):
        experiment = reweight(experiment, later, now=STARTED + hours * HOUR)
    return experiment


def test_weights_that_never_changed_have_no_epochs() -> None:
    experiment = an_experiment(status="running")
    assert epoch_thresholds(experiment) == ()
    assert unsettled_ranges(experiment) == ()


def test_a_larger_share_unsettles_the_hashes_that_it_takes() -> None:
    # A quarter of all hashes: from the half to three quarters.
    assert unsettled_ranges(changed([1, 1], [3, 1])) == ((2**31, 3 * 2**30),)


def test_weights_that_come_back_leave_the_range_between_unsettled() -> None:
    assert unsettled_ranges(changed([1, 1], [1, 3], [1, 1])) == ((2**30, 2**31),)


@given(st.lists(weights_of_three, min_size=2, max_size=4), st.integers(0, 50))
def test_a_first_visit_has_the_variant_of_the_weights_of_its_time(weights: list[list[int]], n: int) -> None:
    visitor = f"visitor-{n}"
    experiment = changed(*weights)
    for hours, share in enumerate(weights):
        was = bucket_variant(an_experiment(weights=share), visitor)
        at = STARTED + hours * HOUR
        assert variant_first_seen(experiment, visitor, at) == was
        assert variant_first_seen(experiment, visitor, at + HOUR / 2) == was
    assert variant_first_seen(experiment, visitor, STARTED - HOUR) == bucket_variant(
        an_experiment(weights=weights[0]), visitor
    )


@given(st.lists(weights_of_three, min_size=2, max_size=4), st.integers(0, 50))
def test_a_hash_is_unsettled_exactly_where_two_epochs_disagree(weights: list[list[int]], n: int) -> None:
    visitor = f"visitor-{n}"
    experiment = changed(*weights)
    seen = {bucket_variant(an_experiment(weights=share), visitor) for share in weights}
    own = unit_hash(experiment, "v", visitor)
    assert any(first <= own < beyond for first, beyond in unsettled_ranges(experiment)) == (len(seen) > 1)


def test_nobody_outside_the_traffic_has_a_variant_at_any_time() -> None:
    experiment = reweight(an_experiment(status="running", traffic_allocation=0), [1, 3], now=STARTED + HOUR)
    assert variant_first_seen(experiment, "visitor", STARTED) is None
