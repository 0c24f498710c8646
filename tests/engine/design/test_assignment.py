"""The same visitor sees the same variant, everywhere and always."""

import math
from collections import Counter
from typing import Any

import mmh3
import pytest
from hypothesis import given
from hypothesis import strategies as st

from engine.design.assignment import (
    assign,
    bucket_variant,
    traffic_threshold,
    unit_hash,
    variant_thresholds,
)
from tests import contract
from tests.builders import an_experiment

# From the contract's assignment vectors, in this order:
# salt, bucketing version, visitor, allocation, weights, h(t), h(v), variant.
VECTORS = [
    ("101", 1, "v_1", 100, (1, 1), 2215196111, 1165259949, 0),
    ("101", 1, "v_2", 100, (1, 1), 3603848932, 3830263061, 1),
    ("101", 1, "v_4", 50, (1, 1), 4200832709, 1729224807, None),
    ("101", 1, "v_5", 50, (1, 1), 1751219567, 3471380428, 1),
    ("101", 2, "v_1", 100, (1, 1), 821992653, 4151365794, 1),
    ("102", 1, "0b7d1c7e-3a52-4d0e-9a51-5b5d6a0f7c11", 100, (0.2, 0.3, 0.5), 1639255021, 3787710017, 2),
    ("102", 1, "josé@例え.jp", 100, (1, 1, 1), 2204412312, 4126629954, 2),
    ("102", 1, "😀", 100, (1, 1), 3231916733, 951185023, 0),
    ("102", 1, "", 100, (1, 1), 2412990779, 4241931368, 1),
    ("102", 1, "v_1", 0, (1, 1), 1297870224, 237290747, None),
    ("102", 1, "v_1", 100, (0, 1), 1297870224, 237290747, 1),
]
weights_of_variants = st.lists(
    st.one_of(st.just(0.0), st.floats(1e-6, 1e9), st.integers(1, 100)), min_size=1, max_size=20
).filter(any)
visitors = st.text(max_size=40)


def expect(vector: tuple[Any, ...]) -> None:
    salt, version, visitor, allocation, weights, h_traffic, h_variant, index = vector
    experiment = an_experiment(
        salt=salt,
        bucketing_version=version,
        traffic_allocation=allocation,
        weights=weights,
    )
    assert unit_hash(experiment, "t", visitor) == h_traffic
    assert unit_hash(experiment, "v", visitor) == h_variant
    assert bucket_variant(experiment, visitor) == index


@pytest.mark.parametrize("vector", VECTORS)
def test_assignment_equals_the_contract(vector: tuple[Any, ...]) -> None:
    expect(vector)


def test_assignment_equals_every_vector_of_the_contract() -> None:
    vectors = contract.assignment_vectors()
    names = (
        "salt",
        "bucketing_version",
        "visitor_id",
        "traffic_allocation",
        "weights",
        "h_traffic",
        "h_variant",
    )
    assert len(vectors["murmur3_x86_32"]) >= 6
    assert len(vectors["assignments"]) >= 14
    for hashed in vectors["murmur3_x86_32"]:
        assert mmh3.hash(hashed["input"], hashed["seed"], signed=False) == hashed["expected"]
    for vector in vectors["assignments"]:
        expect((*(vector[name] for name in names), vector["variant_index"]))


@given(visitors, st.integers(0, 100), st.integers(0, 100), weights_of_variants)
def test_changing_the_allocation_moves_nobody_between_variants(
    visitor: str, before: int, after: int, weights: list[float]
) -> None:
    seen = {
        bucket_variant(an_experiment(weights=weights, traffic_allocation=allocation), visitor)
        for allocation in (before, after)
    }
    assert len(seen - {None}) <= 1


@given(visitors, st.integers(0, 99))
def test_raising_the_allocation_puts_nobody_out(visitor: str, allocation: int) -> None:
    less, more = (an_experiment(traffic_allocation=share) for share in (allocation, allocation + 1))
    assert bucket_variant(less, visitor) is None or bucket_variant(more, visitor) is not None


@given(st.integers(0, 2**32 - 1), weights_of_variants)
def test_thresholds_give_the_variant_of_the_integer_formula(hashed: int, weights: list[float]) -> None:
    units = [round(weight * 10**6) for weight in weights]
    by_formula = next(k for k in range(len(units)) if hashed * sum(units) < sum(units[: k + 1]) * 2**32)
    by_threshold = next(k for k, end in enumerate(variant_thresholds(tuple(weights))) if hashed < end)
    assert by_threshold == by_formula
    assert weights[by_formula] > 0


@given(st.integers(0, 2**32 - 1), st.integers(0, 100))
def test_the_traffic_threshold_is_the_integer_formula(hashed: int, allocation: int) -> None:
    assert (hashed < traffic_threshold(allocation)) == (hashed * 100 < allocation * 2**32)


def test_weights_are_honoured() -> None:
    experiment = an_experiment(weights=(1, 2, 5), traffic_allocation=40)
    counts = Counter(bucket_variant(experiment, f"visitor-{i}") for i in range(200_000))
    # Five standard errors of a count: the visitors are fixed, so this is one draw, not a flaky one.
    for index, count in {None: 120_000, 0: 10_000, 1: 20_000, 2: 50_000}.items():
        assert abs(counts[index] - count) < 5 * math.sqrt(count * (1 - count / 200_000))


def test_two_experiments_split_independently() -> None:
    one, two = (an_experiment(salt=salt) for salt in ("exp_1", "exp_2"))
    visitor_ids = [f"visitor-{i}" for i in range(100_000)]
    cells = Counter((bucket_variant(one, visitor), bucket_variant(two, visitor)) for visitor in visitor_ids)
    # A quarter of the visitors in each of the four cells, within five standard errors.
    assert set(cells) == {(0, 0), (0, 1), (1, 0), (1, 1)}
    assert all(abs(count - 25_000) < 5 * math.sqrt(100_000 * 0.25 * 0.75) for count in cells.values())


def test_half_a_surrogate_pair_counts_as_the_browser_encodes_it() -> None:
    experiment = an_experiment()
    assert unit_hash(experiment, "v", "a\ud800b") == unit_hash(experiment, "v", "a\ufffdb")


def test_a_running_experiment_assigns_a_new_visitor() -> None:
    assignment = assign(an_experiment(status="running", salt="101"), "v_2")
    assert assignment.variant is not None
    assert (assignment.variant.id, assignment.status) == ("var_1", "new")


@pytest.mark.parametrize("status", ["draft", "scheduled", "paused", "completed", "archived"])
def test_only_a_running_experiment_assigns_anybody_new(status: str) -> None:
    assignment = assign(an_experiment(status=status), "v_1")
    assert (assignment.variant, assignment.status) == (None, "excluded")
    assert status in assignment.reason


@pytest.mark.parametrize("status", ["running", "paused"])
def test_the_first_assignment_wins_whatever_changed_since(status: str) -> None:
    changed = an_experiment(status=status, weights=(0, 1), traffic_allocation=0)
    assignment = assign(changed, "v_1", stored_variant_id="var_0")
    assert assignment.variant == changed.variants[0]
    assert assignment.status == "existing"


def test_a_completed_experiment_gives_nobody_a_variant() -> None:
    assert assign(an_experiment(status="completed"), "v_1", stored_variant_id="var_0").variant is None


def test_a_visitor_outside_the_traffic_takes_no_part() -> None:
    assignment = assign(an_experiment(status="running", traffic_allocation=0), "v_1")
    assert assignment.reason == "the visitor is outside the 0% of traffic that takes part"


def test_a_stored_variant_that_is_gone_counts_as_none() -> None:
    assert assign(an_experiment(status="running"), "v_1", stored_variant_id="var_gone").status == "new"
