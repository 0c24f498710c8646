"""Every engine has the moments of the frame for every adjustment, to the last digits before any rounding."""

from collections.abc import Iterator
from dataclasses import fields
from pathlib import Path
from typing import Any

import duckdb
import ibis
import numpy as np
import polars as pl
import pytest

from engine.analysis.evidence.visitor_values import VisitorValues
from engine.frames.frame_goal import FrameGoal
from engine.frames.kinds import Count, Ratio, Revenue
from engine.frames.observations import observe
from engine.frames.rows import Columns
from engine.stats.arrays import FloatArray
from engine.stats.moments import Moments
from engine.stats.paired_moments import PairedMoments

# Ibis 12 calls DuckDB 2 by an older name.
pytestmark = pytest.mark.filterwarnings("ignore:fetch_arrow_table:DeprecationWarning")

ONE: dict[str, Any] = {"covariates": "before"}
SEVERAL: dict[str, Any] = {"covariates": ["before", "visits"]}
GOALS: dict[str, FrameGoal] = {
    "clicks": Count(),
    "clicks capped": Count(cap_percentile=90),
    "clicks by one": Count(**ONE),
    "clicks by several": Count(**SEVERAL),
    "ratio": Ratio("clicks", "views"),
    "ratio by one": Ratio("clicks", "views", **ONE),
    "ratio by several": Ratio("clicks", "views", **SEVERAL),
    "money per order": Revenue(orders="orders"),
    "money per order capped": Revenue(orders="orders", cap_percentile=90),
    "money per order by one": Revenue(orders="orders", **ONE),
    "money per order by several": Revenue(orders="orders", **SEVERAL),
}
VISITORS = 600


@pytest.fixture(scope="module")
def rows() -> pl.DataFrame:
    """Whole numbers, so that every sum is exact; a fifth of the visitors are new."""
    rng = np.random.default_rng(11)
    before = rng.poisson(4, VISITORS)
    orders = rng.poisson(0.4, VISITORS)
    views = 1 + rng.poisson(3 + before)
    clicks = rng.binomial(views, 0.3)
    money = orders * rng.integers(1, 90, VISITORS)
    names = [name for name, goal in GOALS.items() if not isinstance(goal, Ratio)]
    return pl.DataFrame(
        {
            "variant": np.where(np.arange(VISITORS) % 3 == 0, "B", "A"),
            "before": pl.Series(before).set(pl.Series(np.arange(VISITORS) % 5 == 0), None),
            "visits": rng.poisson(before + 1),
            **{name: money if isinstance(GOALS[name], Revenue) else clicks for name in names},
            "clicks": clicks,
            "views": views,
            "orders": orders,
        }
    )


@pytest.fixture(scope="module")
def stored(rows: pl.DataFrame, tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("lazy") / "visitors.duckdb"
    with duckdb.connect(str(path)) as connection:
        visitors = rows.to_arrow()  # noqa: F841  # DuckDB finds it by its name
        connection.execute("CREATE TABLE visitors AS SELECT * FROM visitors")
    return path


@pytest.fixture(params=["DuckDB", pytest.param("Ibis", marks=pytest.mark.long(seconds=5))])
def table(request: pytest.FixtureRequest, stored: Path) -> Iterator[Any]:
    if request.param == "DuckDB":
        with duckdb.connect(str(stored)) as connection:
            yield connection.table("visitors")
    else:
        connection = ibis.duckdb.connect(stored, read_only=True)
        yield connection.table("visitors")
        connection.disconnect()


def values_of(frame: Any, goals: dict[str, FrameGoal]) -> VisitorValues:
    columns = Columns(variant="variant", goals=goals, visitor=None, timestamp=None)
    found = observe(frame, columns, timezone="UTC").count(["A", "B"])
    return VisitorValues.of(found.revenue) if found.values is None else found.values


def scale_of(moments: Moments | PairedMoments, name: str) -> FloatArray:
    """The size that a moment of this name can have at the most, of which the last digits are rounding."""
    if isinstance(moments, Moments):
        spread = {"x": np.sqrt(moments.m2), "y": np.sqrt(moments.m2)}
    else:
        spread = {"x": np.sqrt(moments.m2_x), "y": np.sqrt(moments.m2_y)}
    parts = {"m2": "yy", "m3": "yyy", "m2_x": "xx", "m2_y": "yy", "co": "xy", "m3_y": "yyy", "m3_x": "xxx"}
    letters = parts.get(name, name)
    return np.asarray(np.prod([spread[letter] for letter in letters], axis=0))


def assert_same_moments(found: Moments | PairedMoments, wanted: Moments | PairedMoments) -> None:
    for field in fields(found):
        ours, theirs = getattr(found, field.name), getattr(wanted, field.name)
        if field.name == "n" or field.name.startswith("mean"):
            np.testing.assert_allclose(ours, theirs, rtol=1e-12, err_msg=field.name)
        else:
            difference = np.abs(ours - theirs)
            assert (difference <= 1e-12 * scale_of(wanted, field.name)).all(), field.name


@pytest.mark.parametrize("name", GOALS)
def test_an_engine_has_the_moments_of_the_frame(name: str, rows: pl.DataFrame, table: Any) -> None:
    goals = {name: GOALS[name]}
    found, wanted = values_of(table, goals), values_of(rows, goals)
    for part in ("value", "orders", "before", "before_orders", "without_before"):
        assert_same_moments(getattr(found, part), getattr(wanted, part))
    for part in ("caps", "capped", "index_slopes", "triple", "nonzero", "largest_orders"):
        np.testing.assert_allclose(getattr(found, part), getattr(wanted, part), rtol=1e-12, err_msg=part)
    if name.startswith(("ratio", "money")):
        assert wanted.orders.are_thirds_known.all()
        assert (wanted.nonzero > 50).all()
    if "by" in name.split():
        assert (wanted.before.n > 0).all()
        assert wanted.before.are_thirds_known.all()
