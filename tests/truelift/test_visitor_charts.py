"""Charts of visitors have every visitor counted once, and the slope and correlation of NumPy."""

import numpy as np
import polars as pl
import pytest

import truelift
from engine.errors import InvalidEvidenceError
from engine.frames.analyze import analyze_frame
from tests.engine.charts.test_report import rows_of
from truelift.visitor_charts import chart_covariate, chart_distribution

VISITORS = truelift.simulate(4_000, seed=5, base_rate=0.3)
REPORT = analyze_frame(VISITORS, control="control", goals={"revenue": "revenue"})


def test_bins_and_zeros_add_up_to_all_visitors() -> None:
    rows = rows_of(chart_distribution(REPORT, VISITORS, "revenue"))
    assert {row["variant"] for row in rows} == {"control", "treatment"}
    for (variant,), frame in VISITORS.group_by("variant"):
        own = [row for row in rows if row["variant"] == variant]
        assert sum(row["visitors"] for row in own) == (frame["revenue"] > 0).sum()
        assert sum(row["share"] for row in own) == pytest.approx((frame["revenue"] > 0).mean())
        assert own[-1]["to"] is None
        for row in own[:-1]:
            inside = frame["revenue"].is_between(row["from"], row["to"], closed="left")
            assert row["visitors"] in {
                inside.sum() - (row["from"] == 0) * (frame["revenue"] == 0).sum(),
                # The last bin within has its upper edge.
                frame["revenue"].is_between(row["from"], row["to"]).sum(),
            }


def test_the_rows_of_a_visitor_are_added_up_and_unknown_values_left_out() -> None:
    frame = pl.DataFrame(
        {
            "variant": ["control"] * 4 + ["treatment"] * 3,
            "who": ["a", "a", "b", "c", "d", "e", "e"],
            "revenue": [1.0, 2.0, 0.0, None, 3.0, float("nan"), 5.0],
        }
    )
    rows = rows_of(chart_distribution(REPORT, frame, "revenue", visitor="who"))
    counted = {(row["variant"], row["label"]): 0 for row in rows}
    for row in rows:
        counted[row["variant"], row["label"]] += row["visitors"]
    assert counted == {("control", "control (50% at 0)"): 1, ("treatment", "treatment (0% at 0)"): 2}
    assert {row["share"] for row in rows if row["variant"] == "control"} == {0.0, 0.5}


def test_lines_have_the_common_slope_and_the_correlation_within_variants() -> None:
    chart = chart_covariate(REPORT, VISITORS, "revenue", "revenue_before")
    points, lines = (layer["data"]["values"] for layer in chart.to_dict()["layer"])
    assert 400 < len(points) <= 500
    drawn = set(VISITORS.select("revenue_before", "revenue").iter_rows())
    assert {(row["x"], row["y"]) for row in points} <= drawn
    names = VISITORS["variant"].to_numpy()
    dummies = np.column_stack([names == "control", names == "treatment"]).astype(float)
    design = np.column_stack([dummies, VISITORS["revenue_before"].to_numpy()])
    *levels, slope = np.linalg.lstsq(design, VISITORS["revenue"].to_numpy(), rcond=None)[0]
    assert len(lines) == 4
    for row in lines:
        level = levels[["control", "treatment"].index(row["variant"])]
        assert row["y"] == pytest.approx(level + slope * row["x"])
    centred = VISITORS.select(
        pl.col("revenue", "revenue_before") - pl.col("revenue", "revenue_before").mean().over("variant")
    )
    correlation = np.corrcoef(centred["revenue"], centred["revenue_before"])[0, 1]
    assert f"correlation {correlation:.2f}" in chart.to_dict()["title"]["subtitle"]


@pytest.mark.parametrize(
    ("frame", "said"),
    [
        (VISITORS.drop("revenue"), "revenue"),
        (VISITORS.with_columns(revenue=0.0), "other than 0"),
        (VISITORS.with_columns(variant=pl.lit("else")), "other than 0"),
    ],
)
def test_a_frame_without_values_is_refused(frame: pl.DataFrame, said: str) -> None:
    with pytest.raises(InvalidEvidenceError, match=said):
        chart_distribution(REPORT, frame, "revenue")


def test_a_covariate_that_nobody_has_is_refused() -> None:
    empty = VISITORS.with_columns(revenue_before=pl.lit(None, pl.Float64))
    with pytest.raises(InvalidEvidenceError, match="no visitor has both"):
        chart_covariate(REPORT, empty, "revenue", "revenue_before")
