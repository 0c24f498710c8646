"""Reports by cluster: what is left out, what is refused, and what they say."""

from datetime import UTC, datetime, timedelta
from typing import Any

import numpy as np
import polars as pl
import pytest
import scipy

from engine.design.analysis_settings import Statistics
from engine.errors import InvalidEvidenceError
from engine.frames.kinds import Converted, Quantile, Ratio, Revenue
from tests.engine.frames.clustered_visitors import accounts, judged, of_variant, sums_of


@pytest.mark.parametrize(("clusters", "reason"), [(18, "9 of the 10 clusters required"), (40, None)])
def test_a_comparison_needs_ten_clusters_in_each_variant(clusters: int, reason: str | None) -> None:
    found = of_variant(judged(accounts(clusters, 3)))
    assert (found.status == "insufficient_data") == (reason is not None)
    assert reason is None or (found.reason is not None and reason in found.reason)


def test_a_cluster_with_more_than_half_of_the_visitors_leaves_no_status() -> None:
    frame = accounts(40, 3)
    of_b = frame.filter(pl.col("variant") == "B")
    giant = of_b.head(1).select(pl.all().exclude("account"), account=pl.lit("giant"))
    most = pl.concat([frame, pl.concat([giant] * (of_b.height + 200)).select(frame.columns)])
    found = of_variant(judged(most))
    assert found.status == "insufficient_data"
    assert found.reason is not None
    assert found.reason.startswith("one cluster of 'B' has 5")
    assert found.reason.endswith("% of its visitors, and a comparison allows 50%")


def test_clusters_of_several_variants_are_left_out_and_reported() -> None:
    frame = accounts(40, 5)
    moved = frame.filter(pl.col("account") == "account 1").with_columns(variant=pl.lit("A"))
    other = moved.head(3).with_columns(variant=pl.lit("B"))
    rest = frame.filter(pl.col("account") != "account 1")
    report = judged(pl.concat([rest, moved, other]))
    assert of_variant(report) == of_variant(judged(rest))
    check = next(one for one in report.health if one.check == "several_variants")
    assert check.details["clusters"] == 1
    assert check.details["visitors"] == moved.height + 3
    assert "1 of 40 clusters (2.5%) saw several variants and are excluded" in check.message


def test_a_visitor_of_two_clusters_is_refused() -> None:
    frame = accounts(30, 5).with_row_index("visitor").with_columns(pl.col("visitor").cast(pl.String))
    again = frame.head(1).with_columns(account=pl.lit("another"))
    with pytest.raises(InvalidEvidenceError, match=r"1 visitors are in several clusters, such as '0'"):
        judged(pl.concat([frame, again]), visitor="visitor")


def test_reports_say_by_what_visitors_are_compared() -> None:
    report = judged(
        accounts(60, 2, lift=0.5),
        goals={"bought": "converted", "spent": "revenue", "r": Ratio("spent", "views")},
    )
    assert report.primary is not None
    text = report.to_markdown()
    assert "compared by account: 30 clusters against 30" in report.primary.decision.explanation
    assert text.count("Compared by account, not by visitor. Clusters: A 30, B 30.") == 3
    assert "visitors in 60 clusters" in str(report)
    assert report.to_polars()["clusters"].to_list() == [30] * 6
    assert (report.clustered_by, report.plan.counted, report.plan.unit) == ("account", 60, "clusters")
    plain = judged(accounts(60, 2), cluster=None)
    assert (plain.clustered_by, of_variant(plain).clusters) == (None, None)


def test_the_sample_ratio_is_that_of_clusters() -> None:
    frame = accounts(60, 2)
    check = next(one for one in judged(frame).health if one.check == "sample_ratio")
    assert check.status == "ok"
    assert check.details["clusters"] == {"A": 30, "B": 30}
    # Of visitors, sizes that differ would be a mismatch.
    visitors = next(one for one in judged(frame, cluster=None).health if one.check == "sample_ratio")
    assert visitors.status != "ok"


def test_a_running_test_counts_clusters_and_plans_by_their_variance() -> None:
    frame = accounts(60, 2)
    number = frame["account"].str.strip_prefix("account ").cast(pl.Int64)
    start = datetime(2026, 3, 2, tzinfo=UTC)
    days = frame.with_columns(at=pl.Series([start + timedelta(hours=4 * int(one)) for one in number]))
    report = judged(days, timestamp="at", running=True)
    plan = report.plan
    assert (plan.clusters, plan.counted, plan.unit) == (60, 60, "clusters")
    sums = sums_of(frame, "bought", pl.len())
    lines = [((y - y.sum() / x.sum() * x) / x.mean() + y.sum() / x.sum()) for x, y in sums.values()]
    pooled = np.concatenate(lines)
    effect = plan.minimum_effect
    drift = scipy.stats.norm.ppf(0.975) + scipy.stats.norm.ppf(0.8)
    needed = (drift * (1 + effect / 2)) ** 2 * 4 * pooled.var(ddof=1) / (effect * pooled.mean()) ** 2
    assert plan.required_visitors is not None
    assert plan.required_visitors == np.ceil(needed)
    assert report.primary is not None
    assert f"60 of {plan.required_visitors:,} clusters" in report.primary.decision.explanation


@pytest.mark.parametrize(
    ("asked", "reason"),
    [
        ({"goals": {"spent": Revenue(cap_percentile=99)}}, "no caps: leave cap_percentile out of 'spent'"),
        ({"goals": {"m": Quantile("spent", q=0.5)}}, "no quantiles: leave out 'm', or take its mean"),
        ({"goals": {"bought": Converted(covariates=["before", "views"])}}, "a covariate is one number"),
        ({"goals": {"bought": Converted(covariates="country")}}, "a covariate is one number"),
        (
            {"weight_epochs": [(datetime(2026, 1, 1, tzinfo=UTC), {"A": 1, "B": 1})]},
            "leave out weight_epochs",
        ),
        (
            {"analysis_method": "bayesian", "statistics": Statistics(prior="pre_period")},
            "take 'flat' or 'lift'",
        ),
        ({"cluster": "variant"}, "a column of its own"),
        ({"cluster": "store"}, "there is no column 'store'"),
        ({"cluster": "region"}, "'region' says nothing in 1 rows"),
    ],
)
def test_what_is_not_compared_by_cluster_is_refused(asked: dict[str, Any], reason: str) -> None:
    frame = (
        accounts(20, 1)
        .with_row_index("row")
        .with_columns(country=pl.lit("DE"), region=pl.when(pl.col("row") > 0).then(pl.lit("north")))
    )
    with pytest.raises(InvalidEvidenceError, match=reason):
        judged(frame, **asked)


def test_sums_tell_no_clusters_apart() -> None:
    sums = pl.DataFrame({"variant": ["A", "B"], "visitors": [100, 100], "bought": [10, 12]})
    with pytest.raises(InvalidEvidenceError, match="give rows, or leave out cluster"):
        judged(None, sums=sums)
