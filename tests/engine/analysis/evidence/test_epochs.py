from dataclasses import replace
from datetime import UTC, datetime
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from engine.analysis.evidence.epochs import EpochEvidence
from engine.errors import InvalidEvidenceError
from engine.stats.moments import Moments
from engine.stats.stratification import stratify
from tests.observations import observed, observed_by_epoch

START = datetime(2026, 3, 1, tzinfo=UTC)


def epochs(**overrides: Any) -> EpochEvidence:
    found = observed_by_epoch([[1, 1], [3, 1]], [[10, 20], [30, 5]], [[1, 2], [3, 4]]).epochs
    assert found is not None
    return replace(found, **overrides)


def test_shares_are_weights_over_their_sum_and_nothing_of_nothing() -> None:
    np.testing.assert_allclose(epochs().shares, [[0.5, 0.5], [0.75, 0.25]])
    np.testing.assert_allclose(epochs(weights=np.zeros((2, 2))).shares, 0)
    assert len(epochs()) == 2


@pytest.mark.parametrize(
    ("overrides", "message"),
    [
        ({"started_at": (START,)}, "must be of 2 epochs, 1 goals and 2 variants"),
        ({"weights": np.ones((2, 3))}, "must be of 2 epochs"),
        ({"values": Moments.full((2, 1, 3), 0.0)}, "must be of 2 epochs"),
        ({"settled": np.array([[11, 0], [0, 0]])}, "settled visitors must lie between"),
        ({"settled": np.array([[-1, 0], [0, 0]])}, "settled visitors must lie between"),
        ({"conversions": np.array([[[11, 0]], [[0, 0]]])}, "conversions must lie between"),
        ({"weights": np.array([[1.0, -1.0], [1.0, 1.0]])}, "finite and not negative"),
        ({"weights": np.array([[1.0, np.nan], [1.0, 1.0]])}, "finite and not negative"),
    ],
)
def test_numbers_that_cannot_be_observed_together_are_refused(
    overrides: dict[str, Any], message: str
) -> None:
    with pytest.raises(InvalidEvidenceError, match=message):
        epochs(**overrides)


def test_epochs_that_do_not_add_up_to_the_whole_are_refused() -> None:
    with pytest.raises(InvalidEvidenceError, match="visitors of the epochs must add up"):
        observed([41, 25], [4, 6], epochs=epochs())
    with pytest.raises(InvalidEvidenceError, match="conversions of the epochs must add up"):
        observed([40, 25], [4, 5], epochs=epochs())
    with pytest.raises(InvalidEvidenceError, match="by epoch must have the shape"):
        observed([40, 25], [[4, 6], [4, 6]], epochs=epochs())


arms = st.lists(
    st.tuples(st.integers(2, 500), st.integers(2, 500), st.floats(0, 1), st.floats(0, 1)),
    min_size=1,
    max_size=8,
)


@given(arms)
def test_the_order_of_epochs_is_no_matter_and_estimates_stay_between_those_of_epochs(cells: Any) -> None:
    n = np.array([cell[:2] for cell in cells], float)
    hits = np.floor(n * np.array([cell[2:] for cell in cells]))
    both = Moments.of_shares(hits, n)
    found = stratify(both[:, 0], both[:, 1])
    turned = stratify(both[::-1, 0], both[::-1, 1])
    assert found.variant.value == pytest.approx(turned.variant.value)
    assert found.variant.variance == pytest.approx(turned.variant.variance)
    assert found.covered == 1
    rates = both.mean[:, 1]
    assert rates.min() - 1e-12 <= found.variant.value <= rates.max() + 1e-12


@given(st.integers(2, 400), st.integers(2, 400), st.integers(1, 6), st.floats(0, 1))
def test_epochs_that_are_all_alike_are_as_good_as_one(a: int, b: int, count: int, rate: float) -> None:
    n = np.array([[a, b]] * count, float)
    hits = np.floor(n * rate)
    both = Moments.of_shares(hits, n)
    found, whole = stratify(both[:, 0], both[:, 1]), both.sum_over(0)
    assert found.control.value == pytest.approx(float(whole.mean[0]))
    assert found.variant.value == pytest.approx(float(whole.mean[1]))
