import numpy as np
import polars as pl
import pytest

from engine.frames.segments import analyze_frame_segments
from engine.stats.bayesian.pooling import Families, in_closed_form
from engine.stats.bayesian.sampling import Sampling
from engine.stats.bayesian.shrinkage import shrink
from engine.stats.contingency import Tables
from engine.stats.estimates import Estimate

COUNTRIES = [f"country {number}" for number in range(6)]


def shoppers(visitors: int = 30_000) -> pl.DataFrame:
    rng = np.random.default_rng(21)
    place, new = rng.integers(0, 6, visitors), rng.random(visitors) < 0.5
    bought = rng.random(visitors) < 0.08 * np.where(new, 1 + 0.1 * place, 1.0)
    return pl.DataFrame(
        {
            "variant": np.where(new, "new", "old"),
            "country": np.array(COUNTRIES)[place],
            "bought": bought.astype(int),
            "spent": np.where(bought, rng.gamma(4, 10, visitors).round(2), 0.0),
        }
    )


def test_closed_form_is_the_shrinkage_of_each_family_however_many_there_are() -> None:
    rng = np.random.default_rng(3)
    value, variance = rng.normal(0.1, 0.2, (5_000, 5)), rng.uniform(0.01, 0.1, (5_000, 5))
    effects = Estimate(value, variance, np.full(value.shape, 100.0))
    nobody = np.zeros(value.shape)
    found = in_closed_form(
        Families(effects, Tables(nobody, nobody, nobody, nobody), np.ones(5_000, bool)), 0.1
    )
    few = shrink(Estimate(value[4_990:], variance[4_990:], effects.n[4_990:]), alpha=0.1)
    np.testing.assert_array_equal(found.mean[4_990:], few.mean)
    np.testing.assert_array_equal(found.low[4_990:], few.low)


@pytest.mark.slow
@pytest.mark.long(seconds=90)
def test_a_frame_pooled_by_sampling_says_what_the_closed_form_says_where_counts_are_large() -> None:
    more = {
        "segments": ["country"],
        "control": "old",
        "goals": {"bought": "custom_event", "spent": "revenue"},
    }
    closed = analyze_frame_segments(shoppers(), **more)  # type: ignore[arg-type]
    sampled = analyze_frame_segments(shoppers(), sampling=Sampling(draws=1_000, seed=4), **more)  # type: ignore[arg-type]
    assert all(goal.segments for goal in closed.goals)
    for ours, theirs in zip(closed.goals, sampled.goals, strict=True):
        for one, other in zip(ours.segments, theirs.segments, strict=True):
            (mine,), (yours,) = one.variants, other.variants
            assert yours.shrunk_improvement == pytest.approx(mine.shrunk_improvement, abs=0.02)
            assert yours.chance_to_beat == pytest.approx(mine.chance_to_beat, abs=0.03)
            # What is tested does not depend on how it is pooled.
            assert yours.adjusted_p_value == pytest.approx(mine.adjusted_p_value, rel=1e-9)
            assert yours.improvement == pytest.approx(mine.improvement, rel=1e-9)
