import pytest

from engine.analysis.comparison.significance_level import effective_alpha


# The contract's formula: 1 - (1 - level)/(k - 1) with k variants, the level itself while k < 3.
@pytest.mark.parametrize(
    ("level", "variants", "threshold"),
    [(95, 0, 0.95), (95, 1, 0.95), (95, 2, 0.95), (95, 3, 0.975), (90, 5, 0.975), (99, 11, 0.999)],
)
def test_threshold_is_shared_by_the_comparisons_with_the_control(
    level: int, variants: int, threshold: float
) -> None:
    assert effective_alpha(level, variants) == pytest.approx(1 - threshold, rel=1e-9)
