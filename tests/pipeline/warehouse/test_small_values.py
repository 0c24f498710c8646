"""Segment values of few visitors: none leaves a warehouse, and all of them still add up."""

from collections import Counter

import duckdb
from hypothesis import given
from hypothesis import strategies as st
from sqlglot import exp

from pipeline.store.event_columns import OTHER
from pipeline.verification.merged_sums import merged_names
from pipeline.warehouse.expressions import col, relation_name, table
from pipeline.warehouse.small_values import LEAST_VISITORS, merged_values, with_merged_values
from tests.examples import examples

VARIANTS = 2
SEVERAL = 254
visitors_of_values = st.dictionaries(
    st.sampled_from(("a", "b", "c", "d", OTHER)),
    st.tuples(st.integers(0, 12), st.integers(0, 3)).filter(any),
    max_size=5,
)


def _merged(rows: list[tuple[str, int, str | None]]) -> list[tuple[str | None, str | None]]:
    """Return the value of each visitor, and as what it counts, by DuckDB."""
    tree = exp.select(col("d0"), col("visitor")).from_(table("visitors"))
    relations = [*merged_values(["d0"], VARIANTS, LEAST_VISITORS)]
    relations.append(("visitors", with_merged_values(["d0"], ("visitor", "variant"))))
    for name, relation in relations:
        tree = tree.with_(relation_name(name), as_=relation)
    with duckdb.connect() as connection:
        connection.execute("CREATE TABLE truelift_visitors_read (visitor TEXT, variant BIGINT, d0 TEXT)")
        connection.executemany("INSERT INTO truelift_visitors_read VALUES (?, ?, ?)", rows)
        names = {visitor: merged for merged, visitor in connection.execute(tree.sql("duckdb")).fetchall()}
    assert len(names) == len(rows)
    return [(value, names[visitor]) for visitor, _, value in rows]


@given(visitors_of_values)
@examples(6, 300)
def test_no_value_of_few_visitors_leaves_and_all_add_up(numbers: dict[str, tuple[int, int]]) -> None:
    variants = [
        (value, variant)
        for value, (own, several) in numbers.items()
        for variant in [*(place % VARIANTS for place in range(own)), *[SEVERAL] * several]
    ]
    rows: list[tuple[str, int, str | None]] = [
        (f"v{place}", variant, value) for place, (value, variant) in enumerate(variants)
    ]
    rows.append(("without a value", 0, None))
    found = _merged(rows)
    assert found[-1] == (None, None)
    own = Counter(name for (_, variant, _), (_, name) in zip(rows, found, strict=True) if variant < VARIANTS)
    counted = {name: number for name, number in own.items() if name is not None}
    total = sum(number for number, _ in numbers.values())
    assert all(number >= LEAST_VISITORS for number in counted.values())
    assert sum(counted.values()) == (total if total >= LEAST_VISITORS else 0)
    # One name for a value, whatever the variant, as the service merges its own sums.
    rarest = sorted((number, value) for value, (number, _) in numbers.items())
    expected = merged_names({value: number for number, value in rarest}, LEAST_VISITORS)
    assert {*found[:-1]} == {*expected.items()}


def test_few_others_join_the_next_smallest_value() -> None:
    assert merged_names({"AT": 2, "DE": 50, "US": 900}, 5) == {"AT": OTHER, "DE": OTHER, "US": "US"}
    assert merged_names({"AT": 2, "CH": 4, "DE": 50}, 5) == {"AT": OTHER, "CH": OTHER, "DE": "DE"}
    assert merged_names({"DE": 5, "US": 900}, 5) == {"DE": "DE", "US": "US"}
    assert merged_names({"DE": 4}, 5) == {"DE": None}
