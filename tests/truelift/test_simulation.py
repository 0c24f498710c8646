"""Simulated visitors have the effect that they were drawn with."""

from datetime import UTC, date, datetime

import polars as pl
import pytest

import truelift

LIFTS = {"control": 0.0, "treatment": 0.1}


def means(frame: pl.DataFrame) -> dict[str, tuple[float, float]]:
    """Conversion rate and mean order of each variant."""
    orders = pl.col("revenue").filter(pl.col("converted"))
    found = frame.group_by("variant").agg(pl.col("converted").mean().alias("rate"), orders.mean())
    return {variant: (rate, order) for variant, rate, order in found.iter_rows()}


def test_the_same_seed_draws_the_same_visitors() -> None:
    assert truelift.simulate(500, seed=1).equals(truelift.simulate(500, seed=1))
    assert not truelift.simulate(500, seed=1).equals(truelift.simulate(500, seed=2))


def test_effects_change_neither_the_visitors_nor_their_split() -> None:
    drawn = [truelift.simulate(500, seed=1, lifts={"a": 0.0, "b": lift}) for lift in (0.0, 0.5)]
    unaffected = [name for name in drawn[0].columns if not name.startswith(("converted", "revenue"))]
    assert drawn[0].select(unaffected).equals(drawn[1].select(unaffected))
    assert drawn[0]["revenue_before"].equals(drawn[1]["revenue_before"])


def test_rates_and_orders_have_the_lifts_that_were_given() -> None:
    frame = truelift.simulate(
        400_000, seed=3, lifts={"a": 0.0, "b": 0.1, "c": -0.1}, order_value_lifts={"b": 0.2}, base_rate=0.1
    )
    found = means(frame)
    # Five standard errors of a rate of 10% among 133,000, and of lognormal orders among 13,000.
    assert found["a"][0] == pytest.approx(0.1, abs=0.0042)
    assert found["b"][0] == pytest.approx(0.11, abs=0.0044)
    assert found["c"][0] == pytest.approx(0.09, abs=0.0040)
    assert found["a"][1] == pytest.approx(65, abs=3.5)
    assert found["b"][1] == pytest.approx(78, abs=4)


def test_rows_are_visitors_in_order_of_arrival() -> None:
    frame = truelift.simulate(2_000, seed=4, days=14, start=date(2026, 5, 4))
    assert frame["visitor_id"].n_unique() == frame.height == 2_000
    assert frame["first_seen"].is_sorted()
    assert frame["first_seen"].min() >= datetime(2026, 5, 4, tzinfo=UTC)  # type: ignore[operator]  # a time
    assert frame["first_seen"].max() < datetime(2026, 5, 18, tzinfo=UTC)  # type: ignore[operator]  # a time
    assert frame["converted_at"].is_not_null().equals(frame["converted"], check_names=False)
    assert (frame["revenue"] > 0).equals(frame["converted"], check_names=False)
    assert set(frame["variant"]) == {"control", "treatment"}


def test_the_report_finds_the_effect() -> None:
    frame = truelift.simulate(60_000, seed=5, lifts={"control": 0.0, "treatment": 0.3})
    report = truelift.analyze(
        frame, control="control", goals={"converted": "custom_event"}, timestamp="first_seen"
    )
    assert report.primary is not None
    assert report.primary.decision.recommendation == "ship"


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"lifts": {"control": 0.0}}, "at least one more variant"),
        ({"lifts": {"control": 0.1, "treatment": 0.2}}, "with a lift of 0"),
        ({"order_value_lifts": {"other": 0.1}}, "names no variants: 'other'"),
        ({"base_rate": 2.0}, "base_rate"),
    ],
)
def test_impossible_experiments_are_refused(arguments: dict[str, object], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        truelift.simulate(10, seed=1, **arguments)  # type: ignore[arg-type]  # what the test is about


def test_a_lift_in_percent_instead_of_a_share_is_refused() -> None:
    with pytest.raises(ValueError, match="lifts are shares"):
        truelift.simulate(100, seed=1, lifts={"control": 0.0, "treatment": 20.0})
