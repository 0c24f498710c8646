"""Segments as a forest: by dimension, the largest values of each, on one axis and without a verdict."""

from api.dashboard.results_page.segment_forest import MOST_VALUES, OPEN_DIMENSIONS, segment_forest
from tests.engine.charts.test_segments import TREE, a_report


def test_dimensions_that_differ_the_most_are_first_and_their_values_by_change() -> None:
    report = a_report({**TREE, "country": {"DE": ([9_000] * 2, [900, 905]), "FR": ([9_000] * 2, [900, 910])}})
    forest = segment_forest(report, variant_id="var_1", margin=0.1)
    assert forest is not None
    assert [group.dimension for group in forest.groups] == ["os", "country"]
    values = [(row.value, row.bar is not None) for row in forest.groups[0].rows]
    # Too few visitors have no change, and stand last.
    assert values == [("Android", True), ("iOS", True), ("Windows", False)]
    p_values = [group.p_value for group in forest.groups]
    assert p_values == sorted(p_values, key=lambda one: one or 0.0)
    bars = [row.bar for group in forest.groups for row in group.rows if row.bar]
    assert {bar.tone for bar in bars} == {"neutral"}
    assert {bar.axis for bar in bars} == {forest.axis.limit}


def test_small_values_and_further_dimensions_are_left_out_or_folded() -> None:
    many = {str(number): ([1_000 + number] * 2, [100, 100]) for number in range(MOST_VALUES + 3)}
    tree = dict.fromkeys(("country", "os", "browser"), many)
    forest = segment_forest(a_report(tree), variant_id="var_1", margin=0.1)
    assert forest is not None
    assert [len(group.rows) for group in forest.groups] == [MOST_VALUES] * 3
    assert [group.left_out for group in forest.groups] == [3] * 3
    assert {row.value for row in forest.groups[0].rows} == {str(3 + number) for number in range(MOST_VALUES)}
    assert (len(forest.shown), len(forest.folded)) == (OPEN_DIMENSIONS, 1)
    assert segment_forest(a_report(), variant_id="none", margin=0.1) is None
