"""Chart of error rates: false positives of every method in every setting, beside the promise."""

from collections.abc import Sequence
from typing import TYPE_CHECKING

from engine.calibration.error_rates import ErrorRates
from engine.charts.altair_module import load_altair

if TYPE_CHECKING:
    from altair import FacetChart

# Standard errors of a 95% interval.
_Z_95 = 1.96


def chart_error_rates(scores: Sequence[ErrorRates]) -> "FacetChart":
    """Chart a panel per setting and a row per method; bars are 95% Monte-Carlo intervals, ticks promises."""
    alt = load_altair()
    rows = [
        {
            "setting": score.setting.name,
            "method": score.method.name,
            "false_positives": score.false_positives.value,
            "low": max(score.false_positives.value - _Z_95 * score.false_positives.error, 0.0),
            "high": score.false_positives.value + _Z_95 * score.false_positives.error,
            "promised": score.method.error_rate,
            "coverage": score.coverage.value if score.coverage else None,
            "covers": score.method.promised_coverage(score.setting.arms - 1),
            "kept": score.keeps_promise,
        }
        for score in scores
    ]
    base = alt.Chart().encode(y=alt.Y("method:N", title=None, sort=None))
    colour = alt.Color(
        "kept:N", title="promise kept", scale=alt.Scale(domain=[True, False], range=["#2a9d5c", "#d1495b"])
    )
    bars = base.mark_rule(strokeWidth=3, opacity=0.6).encode(
        # On a square-root scale, so that small shares are legible beside large ones.
        x=alt.X("low:Q", title="false positives").axis(format=".0%").scale(type="sqrt"),
        x2="high:Q",
        color=colour,
    )
    dots = base.mark_point(filled=True, size=70, opacity=1).encode(
        x="false_positives:Q",
        color=colour,
        tooltip=["setting:N", "method:N", "false_positives:Q", "promised:Q", "coverage:Q", "covers:Q"],
    )
    ticks = base.mark_tick(color="black", thickness=2, size=16).encode(x="promised:Q")
    chart: FacetChart = (
        alt.layer(bars, dots, ticks, data=alt.Data(values=rows))
        .properties(width=360, height=alt.Step(22))
        .facet(facet=alt.Facet("setting:N", title=None, sort=None), columns=2, title="False positives")
        .resolve_scale(y="independent")
    )
    return chart
