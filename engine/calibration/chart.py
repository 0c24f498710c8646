"""Scores as a picture: false positives of every method in every setting, beside what was promised."""

from collections.abc import Sequence
from typing import TYPE_CHECKING

from engine.calibration.error_rates import Score
from engine.charts.report import load_altair

if TYPE_CHECKING:
    from altair import FacetChart

# Of a normal count, 19 in 20 lie within so many standard errors.
_NINETEEN_IN_TWENTY = 1.96


def chart_scores(scores: Sequence[Score]) -> "FacetChart":
    """A panel a setting, a row a method; bars are 95% intervals of the simulation itself, ticks promises."""
    alt = load_altair()
    rows = [
        {
            "setting": score.setting.name,
            "method": score.method.name,
            "false_positives": score.false_positives.value,
            "low": max(score.false_positives.value - _NINETEEN_IN_TWENTY * score.false_positives.error, 0.0),
            "high": score.false_positives.value + _NINETEEN_IN_TWENTY * score.false_positives.error,
            "promised": score.method.errs,
            "coverage": score.coverage.value if score.coverage else None,
            "covers": score.method.covers(score.setting.arms - 1),
            "kept": score.keeps_its_promise,
        }
        for score in scores
    ]
    base = alt.Chart().encode(y=alt.Y("method:N", title=None, sort=None))
    colour = alt.Color(
        "kept:N", title="promise kept", scale=alt.Scale(domain=[True, False], range=["#2a9d5c", "#d1495b"])
    )
    bars = base.mark_rule(strokeWidth=3, opacity=0.6).encode(
        # By its root, so that a few percent are told apart beside half of all.
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
