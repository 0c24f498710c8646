"""Sums that no visitors can have are refused by name, one broken number at a time."""

from datetime import date
from typing import Any

import polars as pl
import pytest

from engine.design.analysis_settings import Statistics
from engine.errors import InvalidDesignError
from pipeline.results.outside.consistency import require_consistent
from pipeline.results.outside.needed_products import require_products
from pipeline.results.outside.outside_sums import OutsideSums
from tests.builders import NOW, a_goal, an_experiment

DAY, NEXT = date(2026, 3, 1), date(2026, 3, 2)
REVENUE = a_goal(goal_type="revenue", config={"event_name": "purchase"})
EXPERIMENT = an_experiment(goals=(REVENUE,))
CONTROL, TREATMENT = (one.id for one in EXPERIMENT.variants)
Row = dict[str, Any]


def of_visitors(number: int, variant: str = CONTROL, **key: Any) -> Row:
    return {"dimension": "", "value": "", "variant": variant, "day": DAY, "visitors": number, **key}


def of_orders(conversions: int, cents: int, squared: int, variant: str = CONTROL, **key: Any) -> Row:
    return {
        "dimension": "",
        "value": "",
        "variant": variant,
        "day": DAY,
        "goal": REVENUE.id,
        "sum": "money",
        "conversions": conversions,
        "cohort_conversions": conversions,
        "total": cents,
        "cohort_total": cents,
        "cohort_squared": squared,
        "cohort_cubed_low": cents**3,
        **key,
    }


# Two visitors of the control, one of whom bought for 3 cents, and one of the treatment, on a mobile.
RIGHT = [
    of_visitors(2),
    of_orders(1, 3, 9),
    of_visitors(1, TREATMENT),
    of_visitors(1, TREATMENT, dimension="device_type", value="mobile"),
]


def sums(*cells: Row, **tables: list[Row]) -> OutsideSums:
    frames: dict[str, Any] = {
        name: pl.DataFrame(rows, infer_schema_length=None) for name, rows in tables.items()
    }
    table = pl.DataFrame(cells, infer_schema_length=None)
    return OutsideSums(source="lake", fingerprint="f", watermark=NOW, cells=table, **frames)


def problems(*cells: Row) -> str:
    with pytest.raises(InvalidDesignError) as raised:
        require_consistent(EXPERIMENT, sums(*cells), NEXT)
    return str(raised.value)


def test_sums_of_visitors_are_taken() -> None:
    require_consistent(EXPERIMENT, sums(*RIGHT), NEXT)
    require_products(EXPERIMENT, sums(*RIGHT))


def changed(place: int, **values: Any) -> list[Row]:
    return [{**row, **values} if number == place else row for number, row in enumerate(RIGHT)]


@pytest.mark.parametrize(
    ("cells", "sentence"),
    [
        (changed(0, variant="var_x"), "variant: 'var_x' is not one of"),
        (changed(1, goal="goal_x"), "goal: 'goal_x' is not one of goal_1"),
        (changed(1, sum="median"), "sum: 'median' is not one of"),
        (changed(3, dimension="shoe_size"), "dimension: 'shoe_size' is none of"),
        (changed(3, value="fridge"), "value: 'fridge' is no device_type: "),
        (changed(1, sum="amount"), "sum: is no sum of its goal: "),
        (changed(1, sum=None), "cells: a row lacks its dimension"),
        (changed(0, day=None), "cells: a row lacks its dimension, value, variant or day"),
        (changed(1, bucket=3), "cells: a row lacks"),
        ([*RIGHT, RIGHT[1]], "cells: two rows are of one cell: variant 'var_0', goal 'goal_1', sum 'money'"),
        (changed(0, visitors=-1), "cells: a count or a sum of squares is negative"),
        (changed(1, visitors=1), "cells: rows of visitors have no goal"),
        (changed(0, total=1), "cells: rows of visitors have no goal"),
        (changed(0, visitors=0), "cohort_conversions: are more than the visitors of that day"),
        (changed(1, conversions=3, cohort_conversions=3), "cohort_conversions: are more than"),
        # (3 + 0)² is at most 2 · Σy², and Σy² is at least Σy of whole numbers.
        (changed(1, cohort_squared=4), "cohort_squared: is less than visitors with this total can have"),
        (changed(1, cohort_squared=2), "cohort_squared: is less than"),
        (changed(1, cohort_total=-10, total=-10), "cohort_squared: is less than"),
        (changed(1, cohort_cubed_low=28), "cohort_cubed_low: is more than visitors with these squares"),
        (changed(1, conversions=0), "total: days add up to another number"),
        (changed(1, total=2), "total: days add up to another number"),
        (changed(3, visitors=2), "dimension: its values add up to more than all visitors"),
        (changed(0, day=date(2026, 3, 3)), "day: is after 2026-03-02, the day of the watermark"),
        (
            [*RIGHT, of_orders(1, 0, 0, dimension="days_since_exposure", value="28", total=0)],
            "days from 0 to 27",
        ),
    ],
)
def test_what_no_visitors_can_have_is_refused(cells: list[Row], sentence: str) -> None:
    assert sentence in problems(*cells)


def test_the_largest_numbers_are_compared_in_whole_numbers() -> None:
    cents = 10**15 + 1
    one = of_orders(1, cents, cents**2, cohort_cubed_low=0)
    require_consistent(EXPERIMENT, sums(of_visitors(1), one), NEXT)
    assert "cohort_squared: is less" in problems(of_visitors(1), {**one, "cohort_squared": cents**2 - 1})


def product(name: str, number: int, **key: Any) -> Row:
    row = {"dimension": "", "value": "", "variant": CONTROL, "goal": REVENUE.id, "product": name}
    return {**row, "low": number, **key}


# Of 0 and 3 cents after, and 1 and 2 before the first exposure.
PRODUCTS = {"y": 3, "yy": 9, "yyy": 27, "z": 3, "zz": 5, "zy": 6, "zzz": 9, "zzy": 12, "zyy": 18}
CUPED = an_experiment(goals=(REVENUE,), statistics=Statistics(cuped=True))


def problems_of_products(products: list[Row], **tables: list[Row]) -> str:
    with pytest.raises(InvalidDesignError) as raised:
        require_products(CUPED, sums(of_visitors(2), of_orders(1, 3, 9), products=products, **tables))
    return str(raised.value)


def test_products_that_cuped_needs_are_complete_and_possible() -> None:
    rows = {name: product(name, number) for name, number in PRODUCTS.items()}
    require_products(CUPED, sums(of_visitors(2), of_orders(1, 3, 9), products=[*rows.values()]))
    for name in PRODUCTS:
        others = [row for each, row in rows.items() if each != name]
        assert (
            problems_of_products(others) == f"products: {name} of goal 'goal_1' is missing: variant 'var_0'"
        )
    # (Σzy)² is at most Σz² · Σy², here 45, and the total is that of the sums.
    assert "zy of goal 'goal_1' is too large" in problems_of_products(
        [*{**rows, "zy": product("zy", 7)}.values()]
    )
    assert "y of goal 'goal_1' is not its total" in problems_of_products(
        [*{**rows, "y": product("y", 2)}.values()]
    )
    assert "two rows are of one cell" in problems_of_products([*rows.values(), rows["y"]])
    with pytest.raises(InvalidDesignError, match="goal 'goal_1' needs none"):
        require_products(EXPERIMENT, sums(*RIGHT, products=[rows["y"]]))


def test_largest_visitors_are_of_every_mean_or_of_none() -> None:
    other = a_goal(id="goal_2", is_primary=False, goal_type="revenue", config={"event_name": "order"})
    two = an_experiment(goals=(REVENUE, other))
    highest = {"kind": "highest", "goal": "goal_1", "variant": CONTROL, "key": 1, "size": 3, "amount": 3}
    given = sums(of_visitors(2), of_orders(1, 3, 9), extremes=[{**highest, "is_all": True}])
    with pytest.raises(InvalidDesignError, match="'goal_2' has no highest visitors of variant 'var_0'"):
        require_products(two, given)
