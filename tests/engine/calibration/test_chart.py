"""The chart of error rates is valid Vega-Lite, and carries the simulated figures."""

from engine.calibration.chart import chart_error_rates
from engine.calibration.error_rates import calibrate
from engine.calibration.methods import METHODS
from engine.calibration.trials import Setting
from tests.engine.charts.test_report import rows_of


def test_error_rates_are_drawn_beside_their_promises() -> None:
    (scores,) = calibrate([Setting(rate=0.2, visitors=280)], METHODS, runs=100, seed=1)
    rows = rows_of(chart_error_rates(scores))
    assert [row["false_positives"] for row in rows] == [score.false_positives.value for score in scores]
    assert [row["promised"] for row in rows] == [score.method.error_rate for score in scores]
