"""Parity of hashes and assignments: the browser gives a visitor the variant that the server gives."""

from collections.abc import Iterator
from typing import Any

import mmh3
import pytest
from hypothesis import given
from hypothesis import strategies as st

from engine.design.assignment import assign, unit_hash
from engine.design.experiment import Experiment
from pipeline.assignment.browser_config import browser_config
from tests import contract
from tests.api.sdk.browser.javascript import JavaScript, javascript
from tests.builders import a_project, an_experiment

# Characters of one to four bytes, and halves of surrogate pairs.
LETTERS = st.sampled_from([*"az:0\x00é\u2028\uffff😀", "\ud83d", "\ude00", "\udfff"]) | st.characters()
VISITOR_IDS = st.lists(st.lists(LETTERS, max_size=9).map("".join), min_size=1, max_size=40)
WEIGHTS = st.lists(st.integers(0, 10**6).map(lambda units: units / 1000), min_size=2, max_size=6)


@pytest.fixture(scope="module")
def script() -> Iterator[JavaScript]:
    with javascript() as running:
        yield running


def described(experiment: Experiment) -> dict[str, Any]:
    (found,) = browser_config(a_project(), [experiment], sdk_key="pk")["experiments"]
    return dict(found)


def joined(text: str) -> str:
    """Read two halves of a surrogate pair as the character that they are in a browser."""
    return text.encode("utf-16", "surrogatepass").decode("utf-16", "surrogatepass")


def test_hashes_equal_those_of_the_contract(script: JavaScript) -> None:
    vectors = [one for one in contract.assignment_vectors()["murmur3_x86_32"] if one["seed"] == 0]
    assert vectors
    for vector in vectors:
        assert script.call("murmur3", vector["input"]) == vector["expected"]


def test_assignments_equal_those_of_the_contract(script: JavaScript) -> None:
    vectors = contract.assignment_vectors()["assignments"]
    assert vectors
    for vector in vectors:
        experiment = an_experiment(
            status="running",
            salt=vector["salt"],
            bucketing_version=vector["bucketing_version"],
            traffic_allocation=vector["traffic_allocation"],
            weights=vector["weights"],
        )
        assigned = script.call("assign", described(experiment), [vector["visitor_id"]])
        assert assigned == [vector["variant_index"]]


@given(texts=VISITOR_IDS)
def test_any_text_has_one_hash_on_both_sides(script: JavaScript, texts: list[str]) -> None:
    experiment = an_experiment()
    prefix = f"t:{experiment.salt}:{experiment.bucketing_version}:"
    ids = [joined(text) for text in texts]
    assert ids
    for text in ids:
        assert script.call("murmur3", prefix + text) == unit_hash(experiment, "t", text)
        if text.isascii():
            assert script.call("murmur3", text) == mmh3.hash(text, 0, signed=False)


@given(
    visitor_ids=VISITOR_IDS,
    weights=WEIGHTS.filter(any),
    allocation=st.integers(0, 100),
    status=st.sampled_from(["running", "running", "paused"]),
    version=st.integers(1, 9),
)
def test_any_visitor_has_one_variant_on_both_sides(  # noqa: PLR0917 - drawn by name
    script: JavaScript,
    visitor_ids: list[str],
    weights: list[float],
    allocation: int,
    status: str,
    version: int,
) -> None:
    experiment = an_experiment(
        status=status, weights=weights, traffic_allocation=allocation, bucketing_version=version
    )
    ids = list(map(joined, visitor_ids))
    assigned = [assign(experiment, visitor_id).variant for visitor_id in ids]
    expected = [None if variant is None else experiment.variants.index(variant) for variant in assigned]
    assert script.call("assign", described(experiment), ids) == expected
