"""One call over everything gives what each segment gives by itself, and calls as rarely as it says."""

import numpy as np
import pytest
from scipy import stats
from statsmodels.stats.contingency_tables import Table2x2
from statsmodels.stats.multitest import multipletests
from statsmodels.stats.proportion import proportions_ztest

from engine.analysis.comparison.plan import plan_analysis
from engine.analysis.evidence.segments import SegmentEvidence
from engine.analysis.segments.effects import SegmentEffects, segment_effects
from engine.design.experiment import Experiment
from engine.stats.bayesian.shrinkage import shrink
from engine.stats.contingency import Tables, lift_of_log_odds, log_odds_ratios
from tests.builders import a_goal, an_experiment
from tests.examples import trials
from tests.hall import hall_p
from tests.segment_counts import of_visitors, segmented

ALPHA = 0.05
REVENUE = a_goal(goal_type="revenue", config={})


def effects_of(experiment: Experiment, evidence: SegmentEvidence) -> SegmentEffects:
    return segment_effects(plan_analysis(experiment), evidence, 0)


def drawn(
    rng: np.random.Generator, *, values: int, odds: float = 1.0, weights: tuple[int, ...] = (1, 1)
) -> SegmentEvidence:
    """One dimension of unequal sizes and rates; in each segment the variants multiply the odds."""
    sizes = rng.integers(500, 6_000, values)
    n = np.stack([rng.multinomial(size, np.array(weights) / sum(weights)) for size in sizes])
    base = rng.uniform(0.02, 0.08, values)[:, None]
    ratio = np.array([1.0] + [odds] * (len(weights) - 1))
    rates = base * ratio / (1.0 - base + base * ratio)
    hits = rng.binomial(n, rates)
    return segmented({"country": {str(i): (n[i].tolist(), hits[i].tolist()) for i in range(values)}})


def test_p_of_effects_is_statsmodels_test_of_each_segment_adjusted_over_all() -> None:
    evidence = drawn(np.random.default_rng(1), values=8, odds=1.2, weights=(1, 1, 2))
    found = effects_of(an_experiment(weights=(1, 1, 2)), evidence)
    hits, n = evidence.counts.conversions[:, 0], evidence.counts.visitors
    p = [
        proportions_ztest([hits[row, arm], hits[row, 0]], [n[row, arm], n[row, 0]])[1]
        for row in range(8)
        for arm in (1, 2)
    ]
    adjusted = multipletests(p, method="fdr_bh")[1]
    np.testing.assert_allclose(np.exp(found.log_p).ravel(), adjusted, rtol=1e-9)


def test_difference_from_the_rest_is_that_of_statsmodels_log_odds_ratios() -> None:
    evidence = drawn(np.random.default_rng(2), values=5)
    hits, n = evidence.counts.conversions[:, 0], evidence.counts.visitors

    def log_odds(hit: np.ndarray, all_: np.ndarray) -> tuple[float, float]:
        table = Table2x2(np.array([[hit[1], all_[1] - hit[1]], [hit[0], all_[0] - hit[0]]]) + 0.5)
        return table.log_oddsratio, table.log_oddsratio_se

    p = []
    for row in range(5):
        here, rest = (
            log_odds(hits[row], n[row]),
            log_odds(hits.sum(axis=0) - hits[row], n.sum(axis=0) - n[row]),
        )
        p.append(2 * stats.norm.sf(abs(here[0] - rest[0]) / np.hypot(here[1], rest[1])))
    found = effects_of(an_experiment(), evidence)
    np.testing.assert_allclose(
        np.exp(found.log_p_differs).ravel(), multipletests(p, method="fdr_bh")[1], rtol=1e-9
    )


def test_revenue_is_halls_test_of_each_segment_and_its_lift_is_of_its_own_control() -> None:
    rng = np.random.default_rng(3)
    values, arms = rng.choice(["a", "b", "c"], 6_000), rng.integers(0, 2, 6_000)
    cents = np.where(rng.random(6_000) < 0.2, rng.lognormal(7, 1, 6_000).round(), 0.0)
    found = effects_of(an_experiment(goals=(REVENUE,)), of_visitors({"plan": values}, arms, cents))
    cells = [
        (cents[(values == one) & (arms == 1)], cents[(values == one) & (arms == 0)])
        for one in ("a", "b", "c")
    ]
    p = [hall_p(*cell) for cell in cells]
    np.testing.assert_allclose(np.exp(found.log_p).ravel(), multipletests(p, method="fdr_bh")[1], rtol=1e-9)
    lifts = [treated.mean() / control.mean() - 1.0 for treated, control in cells]
    np.testing.assert_allclose(found.improvement.ravel(), lifts, rtol=1e-9)


def test_shrinking_all_at_once_is_shrinking_each_dimension_of_each_goal_and_variant() -> None:
    rng = np.random.default_rng(4)
    n = rng.integers(800, 4_000, (5, 3))
    hits = rng.binomial(n[:, None], 0.1, (5, 2, 3))
    rows = [(n[i].tolist(), hits[i].tolist()) for i in range(5)]
    tree = {"os": {"a": rows[0], "b": rows[1], "c": rows[2]}, "plan": {"x": rows[3], "y": rows[4]}}
    evidence = segmented(tree, unknown=([20_000] * 3, [[2_000] * 3] * 2))
    goals = (a_goal(), a_goal(id="goal_2", name="Other", is_primary=False))
    found = effects_of(an_experiment(weights=(1, 1, 1), goals=goals), evidence)
    for family in (slice(0, 3), slice(3, 5)):
        for goal in (0, 1):
            for arm in (1, 2):
                tables = Tables.of(
                    hits[family, goal, 0], n[family, 0], hits[family, goal, arm], n[family, arm]
                )
                alone = shrink(log_odds_ratios(tables), alpha=ALPHA)
                cell = (family, goal, arm - 1)
                base = tables.control_share
                np.testing.assert_allclose(found.shrunk[cell], lift_of_log_odds(alone.mean, base), rtol=1e-9)
                np.testing.assert_allclose(found.low[cell], lift_of_log_odds(alone.low, base), rtol=1e-9)
                np.testing.assert_allclose(found.chance[cell], alone.chance, rtol=1e-9)


def found_in(control: np.ndarray, control_n: np.ndarray, hits: np.ndarray, n: np.ndarray) -> SegmentEffects:
    """The findings of one dimension, in the order of its values."""
    rows = zip(control_n.tolist(), n.tolist(), control.tolist(), hits.tolist(), strict=True)
    values = {f"{place:02}": ([a, b], [x, y]) for place, (a, b, x, y) in enumerate(rows)}
    return effects_of(an_experiment(), segmented({"country": values}))


@pytest.mark.many(seconds=6)
def test_segments_of_an_a_a_test_are_rarely_called() -> None:
    rng = np.random.default_rng(1)
    n = rng.integers(500, 20_000, 12)
    called, differing = [], []
    for _ in range(trials(100, 400)):
        found = found_in(rng.binomial(n, 0.05), n, rng.binomial(n, 0.05), n)
        called.append((found.log_p < np.log(ALPHA)).any())
        differing.append((found.log_p_differs < np.log(ALPHA)).any())
    assert np.mean(called) <= 0.07
    assert np.mean(differing) <= 0.07


def test_the_segment_that_differs_is_found_and_the_others_are_not() -> None:
    rng = np.random.default_rng(2)
    n = np.full(6, 20_000)
    rate = np.where(np.arange(6) == 3, 0.04, 0.06)
    found = found_in(rng.binomial(n, 0.05), n, rng.binomial(n, rate), n)
    assert found.log_p_differs[3, 0, 0] < np.log(1e-6)
    assert found.high[3, 0, 0] < 0 < found.low[[0, 1, 2, 4, 5], 0, 0].min()


def test_a_lone_lucky_segment_is_drawn_back() -> None:
    # Nine segments without effect and a small tenth that doubled by luck.
    n = np.array([10_000] * 9 + [100])
    control = n // 20
    hits = np.where(n == 100, 10, control)
    assert found_in(control, n, hits, n).shrunk[9, 0, 0] < 0.10


@pytest.mark.many(seconds=5)
@pytest.mark.parametrize(
    ("odds", "weights"), [(1.0, (1, 1)), (1.0, (9, 1)), (1.5, (1, 1))], ids=["none", "uneven", "alike"]
)
def test_effects_that_are_alike_are_hardly_ever_called_different(
    odds: float, weights: tuple[int, ...]
) -> None:
    # Of 400 tests with nothing to find, 5% call something; three Monte-Carlo errors are 3.3%.
    # Fewer keep to it.
    rng, experiment = np.random.default_rng(5), an_experiment(weights=weights)
    found = [
        effects_of(experiment, drawn(rng, values=10, odds=odds, weights=weights))
        for _ in range(trials(120, 400))
    ]
    assert np.mean([(one.log_p_differs <= np.log(ALPHA)).any() for one in found]) <= 0.083
    if odds == 1.0:
        assert np.mean([(one.log_p <= np.log(ALPHA)).any() for one in found]) <= 0.083


@pytest.mark.many(seconds=5)
def test_heavy_tailed_revenue_without_effect_is_hardly_ever_called() -> None:
    # As above, of 200 tests: three errors are 4.6%. Fewer keep to it.
    rng, experiment = np.random.default_rng(6), an_experiment(goals=(REVENUE,))
    called = []
    for _ in range(trials(80, 200)):
        plans, arms = rng.choice(["a", "b", "c", ""], 8_000), rng.integers(0, 2, 8_000)
        worth = np.where(plans == "a", 4.0, 1.0)
        cents = np.where(rng.random(8_000) < 0.08, (rng.lognormal(7, 1.2, 8_000) * worth).round(), 0.0)
        found = effects_of(experiment, of_visitors({"plan": plans}, arms, cents))
        called.append([(log_p <= np.log(ALPHA)).any() for log_p in (found.log_p, found.log_p_differs)])
    assert (np.mean(called, axis=0) <= 0.096).all()


@pytest.mark.long(seconds=3)
def test_of_what_is_called_among_real_effects_few_are_false() -> None:
    # Four of twenty segments have an effect; of those called, at most 5% are others on average.
    rng, experiment = np.random.default_rng(7), an_experiment()
    real = np.arange(20) < 4
    shares, power = [], []
    for _ in range(200):
        n = rng.integers(3_000, 6_000, (20, 2))
        hits = rng.binomial(n, np.stack([np.full(20, 0.1), np.where(real, 0.13, 0.1)], axis=1))
        tree = {"country": {str(i): (n[i].tolist(), hits[i].tolist()) for i in range(20)}}
        called = (effects_of(experiment, segmented(tree)).log_p <= np.log(ALPHA))[:, 0, 0]
        shares.append((called & ~real).sum() / max(called.sum(), 1))
        power.append((called & real).sum() / 4)
    assert np.mean(shares) <= 0.05 + 3 * np.std(shares) / np.sqrt(200)
    assert np.mean(power) > 0.8


def test_a_goal_that_wants_less_turns_the_chance_and_not_the_lift() -> None:
    evidence = segmented({"os": {"a": ([2_000] * 2, [200, 260]), "b": ([2_000] * 2, [200, 250])}})
    less = a_goal(config={"event_name": "refund", "direction": "decrease"})
    more = effects_of(an_experiment(), evidence)
    fewer = effects_of(an_experiment(goals=(less,)), evidence)
    np.testing.assert_allclose(fewer.chance, 1.0 - more.chance)
    np.testing.assert_array_equal(fewer.shrunk, more.shrunk)
    assert more.is_gain.all()
    assert not fewer.is_gain.any()


def test_everybody_or_nobody_converting_is_still_an_answer() -> None:
    found = effects_of(
        an_experiment(),
        segmented({"os": {"all": ([500, 500], [500, 480]), "none": ([500, 500], [0, 40])}}),
    )
    assert np.isfinite(found.log_p).all()
    assert np.isnan(found.improvement[1]).all()
    assert np.isfinite(found.chance).all()
